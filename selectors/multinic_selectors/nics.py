"""A NIC of the node as the policies see it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


HOST_LENGTHS = {4: 32, 6: 128}
LEAST_MTUS = {
    4: 68,
    6: 1280,
}  # RFC 791, RFC 8200: with less, the kernel takes the family off a link
MOST_MEGABITS = 1_000_000_000  # beyond what any link will have for long
ETHERNET, INFINIBAND = 1, 32  # ARP hardware types (linux/if_arp.h)
# The upper half of the link group of VLANs that the plugin has made for pods.
PODS_VLANS = 0x6D6E
# With a carrier, these alone forbid traffic (RFC 2863): "down" and "lowerlayerdown" may stand there
# for a second after the carrier has come, until the kernel's link watch has been round.
NOT_READY = frozenset({"notpresent", "testing", "dormant"})


def least_movable(addresses: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Leave out a single host's addresses where others are: such move between nodes.

    Alone they count: DHCPv6 gives them, and some clouds.
    """
    in_networks = [each for each in addresses if each[2] < HOST_LENGTHS[each[0]]]
    return in_networks or list(addresses)


class Upper:
    """A link that stands on a NIC in the same netns; `mode` is an ipvlan's or a macvlan's."""

    __slots__ = ("kind", "mode", "name")

    def __init__(self, name: str, kind: str, mode: str = "") -> None:
        self.name = name
        self.kind = kind
        self.mode = mode


class Nic:
    """A network interface of the node.

    `kind` is the kernel's link kind ("bond", "vlan", "veth" …), empty for a device. `medium` is the
    ARP hardware type (ETHERNET, INFINIBAND or another number of linux/if_arp.h). `operstate` is the
    kernel's word. `addresses` are (4 or 6, address, prefix length), `passing` those of them that
    are not the NIC's own for good: added later in the same network, temporary, or in doubt.
    `enslaved_to` names the bridge, bond or team whose port it is, `stands_on` the link below it (a
    VLAN's NIC), `uppers` are the links above it. `uplink` says how a default route leaves by it,
    empty if none does. `device` is what the kernel calls the hardware, "pci/0000:3b:00.2" say.
    `group` is the number of a group of links.
    """

    __slots__ = (
        "addresses",
        "altnames",
        "carrier",
        "device",
        "enslaved_to",
        "group",
        "index",
        "kind",
        "loopback",
        "mac",
        "medium",
        "mtu",
        "name",
        "operstate",
        "passing",
        "permanent_mac",
        "stands_on",
        "up",
        "uplink",
        "uppers",
    )

    def __init__(  # a plain record: one argument a field
        self,
        *,
        index: int,
        name: str,
        altnames: Sequence[str] = (),
        mac: str = "",
        permanent_mac: str = "",
        mtu: int = 0,
        kind: str = "",
        medium: int = ETHERNET,
        loopback: bool = False,
        up: bool = True,
        carrier: bool = True,
        operstate: str = "unknown",
        addresses: Sequence[tuple[int, int, int]] = (),
        passing: Sequence[tuple[int, int, int]] = (),
        enslaved_to: str = "",
        stands_on: str = "",
        uppers: Sequence[Upper] = (),
        uplink: str = "",
        group: int = 0,
        device: str = "",
    ) -> None:
        self.index = index
        self.name = name
        self.altnames = altnames
        self.mac = mac
        self.permanent_mac = permanent_mac
        self.mtu = mtu
        self.kind = kind
        self.medium = medium
        self.loopback = loopback
        self.up = up
        self.carrier = carrier
        self.operstate = operstate
        self.addresses = addresses
        self.passing = passing
        self.enslaved_to = enslaved_to
        self.stands_on = stands_on
        self.uppers = uppers
        self.uplink = uplink
        self.group = group
        self.device = device

    @property
    def is_vlan_of_pods(self) -> bool:
        """Tell whether the plugin has made it, for pods, and deletes it with the last of them."""
        return self.kind == "vlan" and self.group >> 16 == PODS_VLANS

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
        if self.operstate in NOT_READY:
            return f"its operational state is {self.operstate}"
        return ""

    def __repr__(self) -> str:
        return f"Nic({self.name!r})"


def natural_order(name: str) -> list[tuple[str, int, str, str]]:
    """Sort key that puts eth before eth2 and eth2 before eth10.

    Numbers compare by length, then as text: in another node's tree a name may be of any length.
    """
    parts: list[tuple[str, int, str, str]] = []
    text = digits = ""
    for character in name:
        if "0" <= character <= "9":
            digits += character
            continue
        if digits:
            parts.append((text, *_by_size(digits)))
            text = digits = ""
        text += character
    return [*parts, (text, *_by_size(digits))]


def _by_size(digits: str) -> tuple[int, str, str]:
    significant = digits.lstrip("0")
    return (len(significant) if digits else -1, significant, digits)
