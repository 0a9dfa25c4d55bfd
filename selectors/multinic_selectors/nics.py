"""A NIC of the node as the policies see it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


HOST_LENGTHS = {4: 32, 6: 128}


def least_movable(addresses: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Leave out a single host's addresses where others are: such move between nodes.

    Alone they count: DHCPv6 gives them, and some clouds.
    """
    in_networks = [each for each in addresses if each[2] < HOST_LENGTHS[each[0]]]
    return in_networks or list(addresses)


class Nic:
    """A network interface of the node.

    `kind` is the kernel's link kind ("bond", "vlan", "veth" …), empty for a device. `addresses` are
    (4 or 6, address, prefix length), `passing` those of them that are not the NIC's own for good:
    added later in the same network, temporary, or in doubt. `enslaved_to` names the bridge or bond
    whose port it is. `uplink` says how a default route leaves by it, empty if none does.
    """

    __slots__ = (
        "addresses",
        "altnames",
        "carrier",
        "enslaved_to",
        "index",
        "kind",
        "loopback",
        "mac",
        "mtu",
        "name",
        "passing",
        "up",
        "uplink",
    )

    def __init__(  # a plain record: one argument a field
        self,
        *,
        index: int,
        name: str,
        altnames: Sequence[str] = (),
        mac: str = "",
        mtu: int = 0,
        kind: str = "",
        loopback: bool = False,
        up: bool = True,
        carrier: bool = True,
        addresses: Sequence[tuple[int, int, int]] = (),
        passing: Sequence[tuple[int, int, int]] = (),
        enslaved_to: str = "",
        uplink: str = "",
    ) -> None:
        self.index = index
        self.name = name
        self.altnames = altnames
        self.mac = mac
        self.mtu = mtu
        self.kind = kind
        self.loopback = loopback
        self.up = up
        self.carrier = carrier
        self.addresses = addresses
        self.passing = passing
        self.enslaved_to = enslaved_to
        self.uplink = uplink

    @property
    def own_addresses(self) -> list[tuple[int, int, int]]:
        """The addresses by which the NIC may be known: those that stay."""
        return [each for each in self.addresses if each not in self.passing]

    @property
    def trouble(self) -> str:
        """Why the NIC cannot carry traffic now; empty when it can."""
        if not self.up:
            return "it is down"
        if not self.carrier:
            return "it has no carrier"
        return ""

    def __repr__(self) -> str:
        return f"Nic({self.name!r})"


def natural_order(name: str) -> list[tuple[str, int, str]]:
    """Sort key that puts eth before eth2 and eth2 before eth10."""
    parts: list[tuple[str, int, str]] = []
    text = digits = ""
    for character in name:
        if "0" <= character <= "9":
            digits += character
            continue
        if digits:
            parts.append((text, int(digits), digits))
            text = digits = ""
        text += character
    return [*parts, (text, int(digits) if digits else -1, digits)]
