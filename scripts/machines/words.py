"""Which lines a description may have where, and which words: no mistake must go unseen."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from scripts.machines.description import DescriptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.machines.description import Line

FUNCTION = frozenset({"id", "class", "driver", "numa"})
GPU = FUNCTION | {"uuid", "model"}
RDMA = frozenset({"rdma", "rdma-state", "ndev"})
LINK = RDMA | {
    *("name", "altnames", "mac", "permaddr", "mtu", "speed", "duplex", "state", "operstate"),
    *("addr", "master", "over", "peer", "mode", "medium", "virtio", "dev-port"),
}
NOTHING: frozenset[str] = frozenset()
WORDS = {
    "node": NOTHING,
    "root": frozenset({"numa", "at"}),
    "bridge": FUNCTION,
    "gpu": GPU,
    "function": GPU,
    "nic": FUNCTION | LINK | {"at", "bus"},
    "vf": FUNCTION | LINK,
    "port": LINK,
    "sf": LINK,
    "link": LINK | {"kind"},
    "default": frozenset({"dev", "metric"}),
    "rdma-netns": NOTHING,
    "file": NOTHING,
}
ON_A_BUS = ("bridge", "gpu", "function", "nic")
BELOW = {"root": ON_A_BUS, "bridge": ON_A_BUS, "nic": ("vf", "port", "sf")}
ON_TOP = ("node", "root", "nic", "link", "default", "rdma-netns", "file")
NUMBERS = ("mtu", "speed", "metric", "peer", "dev-port")
STATES = ("up", "down", "no-carrier")


def check(lines: Sequence[Line]) -> None:
    """Raise DescriptionError for a line that would be passed over, or not understood."""
    for line in lines:
        _check_kind(line, ON_TOP, "a line of kind {} stands in no place of its own")
        _check_words(line)
        if line.kind != "nic":
            _check_below(line)
        elif line.children:
            message = f"nic {line.subject}: below a nic that is not on PCI nothing can stand"
            raise DescriptionError(message)


def _check_below(above: Line) -> None:
    for line in above.children:
        wrong = f"a line of kind {{}} cannot stand below a {above.kind}"
        _check_kind(line, BELOW.get(above.kind, ()), wrong)
        _check_words(line)
        _check_below(line)


def _check_kind(line: Line, possible: Sequence[str], wrong: str) -> None:
    if line.kind not in WORDS:
        message = f"{line.kind} {line.subject}: there are no lines of kind {line.kind}"
        raise DescriptionError(message)
    if line.kind not in possible:
        raise DescriptionError(wrong.format(line.kind))


def _check_words(line: Line) -> None:
    for key, text in line.words.items():
        if key not in WORDS[line.kind]:
            message = f"{line.kind} {line.subject}: {key} is no word of such a line"
            raise DescriptionError(message)
        if key in NUMBERS and not text.isdecimal():
            message = f"{line.kind} {line.subject}: {key}={text} is no number"
            raise DescriptionError(message)
    if line.word("state", "up") not in STATES:
        message = f"{line.kind} {line.subject}: state is one of {', '.join(STATES)}"
        raise DescriptionError(message)
    for address in line.listed("addr"):
        try:
            ipaddress.ip_interface(address.removesuffix("*"))
        except ValueError as error:
            message = f"{line.kind} {line.subject}: {error}"
            raise DescriptionError(message) from None
