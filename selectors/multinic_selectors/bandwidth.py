"""Bandwidths as people write them: "100Gbps", "25G", "400Mbit/s". Inside they are Mbit/s."""

from __future__ import annotations

from multinic_selectors.nics import MOST_MEGABITS

UNITS = {"m": 1, "g": 1000, "t": 1000_000}
ENDINGS = ("", "b", "bps", "bit", "bits", "bit/s", "bits/s", "b/s")
MOST_DIGITS = 9
LONGEST_SHOWN = 40  # a pod may write anything
TEN_TO = [int("1" + "0" * digits) for digits in range(MOST_DIGITS)]


class BandwidthError(ValueError):
    """A text that is no bandwidth; the message says what one looks like."""


def parse_bandwidth(text: str) -> int:
    """Return Mbit/s, at least 1; raises BandwidthError.

    Units are decimal, as those of links are. Bytes are refused: "10GB" is eight times "10Gb", and
    one of the two is a mistake.
    """
    compact = text.replace(" ", "")
    number = compact.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/")
    unit, ending = compact[len(number) :][:1], compact[len(number) :][1:]
    factor = UNITS.get(unit.lower())
    bytes_meant = ending.startswith("B") and ending[1:3].lower() != "it"
    if factor is None or ending.lower() not in ENDINGS or bytes_meant:
        raise _no_bandwidth(text)
    whole, point, fraction = number.partition(".")
    digits = whole + fraction
    if not (digits.isascii() and digits.isdecimal() and whole and len(digits) <= MOST_DIGITS):
        raise _no_bandwidth(text)
    if point and not fraction:
        raise _no_bandwidth(text)
    megabits, rest = divmod(int(digits) * factor, TEN_TO[len(fraction)])
    if rest or not megabits:
        raise BandwidthError(f"{text!r} must be a whole number of Mbit/s, from 1")
    if megabits > MOST_MEGABITS:
        raise BandwidthError(f"{text!r} is more than {format_bandwidth(MOST_MEGABITS)}")
    return megabits


def _no_bandwidth(text: str) -> BandwidthError:
    shown = repr(text[:LONGEST_SHOWN]) + ("…" if len(text) > LONGEST_SHOWN else "")
    return BandwidthError(f"{shown} is no bandwidth such as 100Gbps, 25G or 400Mbit/s")


def format_bandwidth(megabits: int) -> str:
    """Return the shortest usual form: 400 Mbit/s, 2.5 Gbit/s, 100 Gbit/s."""
    if megabits < UNITS["g"]:
        return f"{megabits} Mbit/s"
    whole, rest = divmod(megabits, UNITS["g"])
    return f"{whole}.{rest:03}".rstrip("0").rstrip(".") + " Gbit/s"
