"""Before a NIC goes into a pod: what it is, what it has on the node, and whether it can go."""

from __future__ import annotations

from multinic_cni.errors import NAME_TAKEN, CniError, io_failure
from multinic_cni.handover.dumps import addresses_of, routes_over, rules_leading_by
from multinic_cni.handover.former import Former
from multinic_cni.netlink import Netlink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.messages import Link
    from multinic_selectors.nics import Nic

# It moves the NIC under its own name, and renames it in the pod. Others go by a temporary one.
MOVES_UNDER_ITS_NAME = "host-device"


def note(nics: Sequence[Nic]) -> list[Former]:
    """Say what NICs are: that costs nothing, and by it they are found wherever they are."""
    return [
        Former(
            mtu=nic.mtu,
            up=nic.up,
            permanent_mac=nic.permanent_mac,
            device=nic.device,
            altnames=tuple(nic.altnames),
        )
        for nic in nics
    ]


def note_in_whole(nics: Sequence[Nic]) -> list[Former]:
    """Note what NICs have, too: addresses, routes and rules; CniError 5 if they cannot be read."""
    try:
        netlink = Netlink()
        try:
            links = {link.index: link for link in netlink.links()}
            names = {index: link.name for index, link in links.items()}
            addresses = {nic.index: addresses_of(netlink, nic) for nic in nics}
            routes = routes_over(netlink, [nic.index for nic in nics], names)
            rules = {
                nic.index: rules_leading_by(netlink, nic, addresses[nic.index]) for nic in nics
            }
        finally:
            netlink.close()
    except OSError as error:
        raise io_failure("note what the NICs have on the node", error) from error
    return [
        former.but(
            alias=_in_utf8(links[nic.index].alias) if nic.index in links else "",
            modes=links[nic.index].modes if nic.index in links else 0,
            addresses=tuple(addresses[nic.index]),
            routes=tuple(routes[nic.index]),
            rules=tuple(rules[nic.index]),
        )
        for nic, former in zip(nics, note(nics), strict=True)
    ]


def _in_utf8(text: str) -> str:
    return text.encode(errors="replace").decode()


def refuse_clashes(
    kind: str, nics: Sequence[Nic], ifnames: Sequence[str], in_pod: Sequence[Link]
) -> None:
    """Refuse names that the kernel would; CniError 102 before anything has moved.

    It wants each name and altname once in a netns, at every moment of a delegate's work: "file
    exists" is all that the delegate says then, and it leaves the NIC where it stopped.
    """
    used = {name: link.name for link in in_pod for name in (link.name, *link.altnames)}
    for nic, ifname in zip(nics, ifnames, strict=True):
        if ifname in nic.altnames:
            message = f"NIC {nic.name} cannot be called {ifname} in the pod: that is its altname"
            raise CniError(NAME_TAKEN, message, "choose another CNI_IFNAME, or drop the altname")
        coming = {
            name: f"NIC {each.name}"
            for each, name in zip(nics, ifnames, strict=True)
            if each is not nic
        }
        own = (nic.name,) if kind == MOVES_UNDER_ITS_NAME else ()
        for name in (*own, *nic.altnames):
            owner = {**used, **coming}.get(name)
            if owner is not None:
                message = (
                    f"NIC {nic.name} cannot go into the pod: its name {name} is that of {owner}"
                    " there, and the kernel allows each name once"
                )
                details = "rename the NIC or drop its altname, or choose another CNI_IFNAME"
                raise CniError(NAME_TAKEN, message, details)
