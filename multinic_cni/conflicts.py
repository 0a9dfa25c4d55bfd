"""What keeps a delegate from a NIC, seen before it runs: its kind, and what others do. Pure.

The kernel would say "device or resource busy" or "invalid argument", and nothing of whom or why;
and an ipvlan's mode it would change for every pod on the NIC, and say nothing at all.
"""

from __future__ import annotations

from multinic_cni.delegate_types import TAKE_THE_NIC
from multinic_cni.values import Value
from multinic_selectors.nics import ETHERNET, INFINIBAND, LEAST_MTUS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    from multinic_cni.conf.netconf import NetConf
    from multinic_selectors.nics import Nic, Upper

    Conf = Mapping[str, Any]

    class Surroundings(Protocol):
        """What else has to be known of the node, asked where it matters."""

        def kind_of(self, link: str) -> str:
            """Return a link's kind, empty for a device."""

        def rdma_is_exclusive(self) -> bool | None:
            """Tell whether each netns has RDMA devices of its own; None without RDMA."""

        def rdma_devices(self, nic: Nic) -> Sequence[str]: ...

        def scalable_function(self, nic: Nic) -> str:
            """Return the auxiliary device of a NIC that is one, empty for any other."""


# Types whose links stand on the NIC, and the family that their links belong to for the kernel.
FAMILIES = {"macvlan": "macvlan", "ipvlan": "ipvlan", "aws-ipvlan": "ipvlan", "vlan": "vlan"}
TAPS = {"macvtap": "macvlan", "ipvtap": "ipvlan"}  # kinds of links that share a NIC as these do
# They take every frame that the NIC receives: the kernel lets one family do so. A VLAN takes its
# own frames before, so it may stand on any NIC, a port too.
RECEIVERS = frozenset({"macvlan", "ipvlan", "macsec"})
# These have ports, but do not take their frames.
LEAVE_FRAMES_ALONE = frozenset({"vrf", "batadv"})
PASSTHRU = "macvlan passthru"
IPV6 = 6


class Size(Value):
    """What frames a pod's interfaces are to carry: `mtu` of the net conf, 0 for what the NICs do.

    `least` is what the addresses need.
    """

    mtu: int = 0
    least: int = 0


ANY_SIZE = Size()


def conflict_on(
    nic: Nic, chain: Sequence[Conf], node: Surroundings, *, rdma: bool, size: Size = ANY_SIZE
) -> str:
    """Return what is in the way of a chain on a NIC, both sides named; empty if nothing is seen.

    `rdma` says that the pod is to have the NIC's RDMA device, too.
    """
    return (
        _medium_conflict(nic, chain[0])
        or _port_conflict(nic, chain[0], node)
        or _upper_conflict(nic, chain[0])
        or _mtu_conflict(nic, chain, size)
        or _rdma_conflict(nic, chain, node, rdma=rdma)
    )


def conflict_below(
    nic: Nic,
    vlan: Nic | None,
    chain: Sequence[Conf],
    node: Surroundings,
    *,
    rdma: bool,
    size: Size = ANY_SIZE,
) -> str:
    """Return what `conflict_on` does for a chain that gets a VLAN on the NIC instead of it.

    `vlan` is that link, where it is there already: what others do with it counts, and not what they
    do with the NIC, which may be a port, too.
    """
    on_nic = (
        _medium_conflict(nic, {"type": "vlan"})
        or _mtu_conflict(nic, chain, size)
        or _rdma_conflict(nic, chain, node, rdma=rdma)
    )
    if on_nic or vlan is None:
        return on_nic
    on_vlan = (
        _port_conflict(vlan, chain[0], node)
        or _upper_conflict(vlan, chain[0])
        or ("" if vlan.is_vlan_of_pods else _mtu_conflict(vlan, chain, size))
    )
    return on_vlan and f"its VLAN {vlan.name}: {on_vlan}"


def use_of(template: Conf) -> str:
    """Return what a chain's first delegate does with its NIC, in words by which uses compare.

    Empty for types that are no concern of others, and where the delegate looks for its master in
    the pod. macvlan's modes go together, all but one; ipvlan's do not.
    """
    kind = template["type"]
    if kind in TAKE_THE_NIC:
        return str(kind)
    if template.get("linkInContainer"):
        return ""
    return _in_words(FAMILIES.get(kind, ""), template.get("mode") or "l2")


def family_of(use: str) -> str:
    """Return a use without its mode."""
    return use.partition(" ")[0]


def clash(wanted: str, present: str) -> str:
    """Return why a NIC cannot have two uses at once; empty if it can."""
    family, other = family_of(wanted), family_of(present)
    if not wanted or not present or other in TAKE_THE_NIC:
        return ""  # a NIC that is here was given back
    if family in TAKE_THE_NIC:
        return "they would lose the NIC"
    if family != other:
        both = family in RECEIVERS and other in RECEIVERS
        return f"a NIC carries {family} or {other} links, never both" if both else ""
    if PASSTHRU in (wanted, present):
        return "mode passthru wants a NIC for itself"
    return "all ipvlan links of a NIC share one mode" if wanted != present else ""


def _in_words(family: str, mode: object) -> str:
    if family == "ipvlan":
        return f"ipvlan {mode}" if mode else family
    return PASSTHRU if family == "macvlan" and mode == "passthru" else family


def _use_of_link(upper: Upper) -> str:
    return _in_words(TAPS.get(upper.kind, upper.kind), upper.mode)


def _medium_conflict(nic: Nic, template: Conf) -> str:
    family = family_of(use_of(template))
    if family in TAKE_THE_NIC or not family or nic.medium == ETHERNET:
        return ""
    if nic.medium == INFINIBAND:
        return f"it is InfiniBand, which carries no {family} links: use the ipoib plugin"
    if family in RECEIVERS:
        return f"it is no Ethernet (ARP hardware type {nic.medium}): it carries no {family} links"
    return ""


def _port_conflict(nic: Nic, template: Conf, node: Surroundings) -> str:
    family, owner = family_of(use_of(template)), nic.enslaved_to
    kind = node.kind_of(owner) if owner and family else ""
    if not owner or not family or kind in LEAVE_FRAMES_ALONE:
        return ""
    port = f"it is a port of {kind} {owner}" if kind else f"it is a port of {owner}"
    if family in TAKE_THE_NIC:
        return f"{port}, which would lose it"
    if family in RECEIVERS:
        return f"{port}, which takes its frames: {family} can have {owner} as its master instead"
    return ""


def _upper_conflict(nic: Nic, template: Conf) -> str:
    wanted = use_of(template)
    for upper in nic.uppers if wanted else ():
        present = _use_of_link(upper)
        if present == family_of(wanted) == "ipvlan":
            continue  # in a mode that the kernel did not tell
        why = clash(wanted, present)
        if why:
            return f"{wanted} is wanted, but {upper.name} on it is {present}: {why}"
    return ""


def _mtu_conflict(nic: Nic, chain: Sequence[Conf], size: Size) -> str:
    """Find a size that the NIC cannot send; a NIC that goes into the pod may be given another."""
    wanted = use_of(chain[0])
    if not wanted or wanted in TAKE_THE_NIC or not nic.mtu:
        return ""
    sizes = _sizes(chain, size.mtu)
    for mtu, whose in sizes:
        if mtu > nic.mtu:
            return f"mtu {mtu} of {whose} is more than the NIC's own, {nic.mtu}"
    if not sizes and nic.mtu < size.least:
        return f"the NIC's mtu, {nic.mtu}, is less than IPv6 needs, {size.least}"
    return ""


def _sizes(chain: Sequence[Conf], mtu: int) -> list[tuple[int, str]]:
    """Return each size that somebody sets, and who; 0 is what the NIC has."""
    setters = (chain[0], *(each for each in chain[1:] if each["type"] == "tuning"))
    set_by = [(each.get("mtu"), str(each["type"])) for each in setters]
    own = [(mtu, "the net conf")] if mtu else []
    return [*own, *((each, whose) for each, whose in set_by if type(each) is int and each)]


def wanted_size(conf: NetConf) -> Size:
    listed = conf.ipam.get("ranges")  # a list in some other plugin's block
    own = listed.items() if isinstance(listed, dict) else ()
    ranges = (each for ranges_of_one in own for each in _nets(*ranges_of_one))
    ipv6 = any(net.version == IPV6 for net in conf.subnets) or any(":" in each for each in ranges)
    return Size(mtu=conf.mtu, least=LEAST_MTUS[IPV6] if ipv6 else 0)


def _nets(master: str, ranges: Sequence[Conf]) -> list[str]:
    """Return the networks of one entry of ipam.ranges: its own is the masterNet."""
    return [each.get("subnet") or master for each in ranges]


def uneven_mtus(conf: NetConf, nics: Sequence[Nic]) -> str:
    """Say which NICs differ in what they carry, where pods have just that; empty if none do.

    A program of several rails takes the path of one for that of all.
    """
    if not use_of(conf.chain[0]) or _sizes(conf.chain, conf.mtu):
        return ""
    if len({nic.mtu for nic in nics}) <= 1:
        return ""
    each = ", ".join(f"{nic.name} {nic.mtu}" for nic in nics)
    return f"the NICs differ in MTU: {each}; mtu in the net conf makes one of all"


def _rdma_conflict(nic: Nic, chain: Sequence[Conf], node: Surroundings, *, rdma: bool) -> str:
    isolating = _isolates_rdma(chain)
    if not isolating and not rdma:
        return ""
    exclusive = node.rdma_is_exclusive()
    if isolating and exclusive is False:
        return (
            f"{isolating} gives the pod an RDMA device of its own, but all netns of this node share"
            " the devices: `rdma system set netns exclusive`"
        )
    if isolating:
        return _mistaken_device(nic, chain, node)
    if not exclusive:
        return ""
    family = family_of(use_of(chain[0]))
    if not family:
        return ""
    devices = ", ".join(node.rdma_devices(nic)) or "device"
    stays = (
        f"attachPolicy.rdma is set, but its RDMA {devices} would stay in the node's netns, since"
        " each netns has devices of its own here"
    )
    if family in TAKE_THE_NIC:
        return f"{stays}: chain the rdma plugin, or `rdma system set netns shared`"
    return f"{stays}, and {family} moves none: `rdma system set netns shared`"


def _mistaken_device(nic: Nic, chain: Sequence[Conf], node: Surroundings) -> str:
    """Say whose RDMA device rdma would take for that of a scalable function: its PCI function's."""
    if all(conf["type"] != "rdma" or conf.get("deviceID") for conf in chain):
        return ""
    device = node.scalable_function(nic)
    if not device:
        return ""
    return (
        f"it is the scalable function {device}, and the delegate rdma would take the RDMA device of"
        f' the PCI function below it: say "deviceID": "{device}" to rdma, for that NIC alone'
    )


def _isolates_rdma(chain: Sequence[Conf]) -> str:
    """Name the delegate that moves an RDMA device into the pod; empty if none does."""
    if any(conf["type"] == "rdma" for conf in chain):
        return "the delegate rdma"
    head = chain[0]
    isolates = head["type"] in TAKE_THE_NIC and head.get("rdmaIsolation") is True
    return "rdmaIsolation" if isolates else ""
