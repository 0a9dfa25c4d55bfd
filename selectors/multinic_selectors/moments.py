"""Moments as RFC 3339 writes them, read without `datetime`, which costs a call 2 ms."""

from __future__ import annotations

DATE_AND_TIME = "0000-00-00T00:00:00"
EAST, WEST = "+00:00", "-00:00"
MARCH, MONTHS = 3, 12
# The last number of each; a leap second has the number 60.
LAST_HOUR, LAST_MINUTE, LAST_SECOND = 23, 59, 60
DAYS_UNTIL_1970 = 719468  # from 1 March of the year 0


def seconds_since_1970(text: str) -> int | None:
    """Read a moment, its fraction of a second left out; None for anything else.

    "2026-12-01T12:00:00Z" and "2026-12-01 13:00:00.5+01:00" are the same.
    """
    if not text.isascii():
        return None
    moment, rest = text[:19].upper().replace(" ", "T"), text[19:].upper()
    if rest.startswith("."):
        fraction, rest = rest, rest[1:].lstrip("0123456789")
        if len(fraction) == len(rest) + 1:
            return None
    east = _seconds_east(rest)
    if east is None or not _is_like(moment, DATE_AND_TIME):
        return None
    year, month, day = int(moment[:4]), int(moment[5:7]), int(moment[8:10])
    hour, minute, second = int(moment[11:13]), int(moment[14:16]), int(moment[17:])
    if not 1 <= month <= MONTHS or not 1 <= day <= _days_of(year, month):
        return None
    if hour > LAST_HOUR or minute > LAST_MINUTE or second > LAST_SECOND:
        return None
    return ((_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - east


def _seconds_east(zone: str) -> int | None:
    if zone == "Z":
        return 0
    if not (_is_like(zone, EAST) or _is_like(zone, WEST)):
        return None
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if hours > LAST_HOUR or minutes > LAST_MINUTE:
        return None
    return (hours * 60 + minutes) * (60 if zone[0] == "+" else -60)


def _is_like(text: str, shape: str) -> bool:
    """Tell whether a text has digits where the shape has zeros, and elsewhere what that has."""
    return len(text) == len(shape) and all(
        "0" <= own <= "9" if expected == "0" else own == expected
        for own, expected in zip(text, shape, strict=True)
    )


def _days_of(year: int, month: int) -> int:
    """Return how many days a month has."""
    following = _days(year + month // MONTHS, month % MONTHS + 1, 1)
    return following - _days(year, month, 1)


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970 in the Gregorian calendar.

    Years begin with March here, so that a leap day is the last of its year; the months then have
    153 days in each five.
    """
    years, months = (year, month - MARCH) if month >= MARCH else (year - 1, month + MONTHS - MARCH)
    leap_days = years // 4 - years // 100 + years // 400
    return years * 365 + leap_days + (months * 153 + 2) // 5 + day - 1 - DAYS_UNTIL_1970
