"""Routes, rules and neighbours of a netns, and what is set on its links: by route socket."""

from __future__ import annotations

import errno
from _socket import AF_INET, AF_INET6

from multinic_cni.messages import (
    IFINFOMSG,
    IFLA_ALT_IFNAME,
    IFLA_PROP_LIST,
    NLATTR,
    RTMSG,
    U32,
)
from multinic_cni.netlink import NetlinkError
from multinic_cni.route_messages import (
    FAMILIES,
    NDMSG,
    VERSIONS,
    attribute,
    encode_neighbor,
    encode_route,
    encode_rule,
    read_neighbor,
    read_route,
    read_rule,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_cni.netlink import Netlink
    from multinic_cni.route_messages import KernelNeighbor, KernelRoute, Rule

RTM_NEWLINK = 16
RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE = 24, 25, 26
RTM_NEWNEIGH, RTM_DELNEIGH, RTM_GETNEIGH = 28, 29, 30
RTM_NEWRULE, RTM_DELRULE, RTM_GETRULE = 32, 33, 34
RTM_DELLINKPROP = 109
NLA_F_NESTED = 0x8000
NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE = 0x100, 0x200, 0x400
RTM_F_CLONED = 0x200
IFF_UP = 1
IFLA_IFNAME, IFLA_MTU = 3, 4
# The table does not exist, or the kernel was booted without IPv6.
NO_SUCH = frozenset({errno.EAFNOSUPPORT, errno.ENOENT, errno.EOPNOTSUPP})


def dump_if_any(netlink: Netlink, request: int, answer: int, payload: bytes) -> list[memoryview]:
    """Dump routes or rules; none where there is no such family or table."""
    try:
        return netlink.dump(request, answer, payload)
    except NetlinkError as error:
        if error.errno not in NO_SUCH:
            raise
        return []


def routes_of(netlink: Netlink, version: int, table: int = 0) -> list[KernelRoute]:
    """Dump the routes of one family, of all tables or of one; none where there is no such family.

    Older kernels do not filter, so that is done here, too.
    """
    payload = RTMSG.pack(FAMILIES[version], 0, 0, 0, 0, 0, 0, 0, 0)
    if table:
        payload += NLATTR.pack(8, 15) + U32.pack(table)
    bodies = dump_if_any(netlink, RTM_GETROUTE, RTM_NEWROUTE, payload)
    listed = (read_route(body) for body in bodies if not RTMSG.unpack_from(body)[8] & RTM_F_CLONED)
    return [route for route in listed if table in (0, route.table)]


def rules_of(netlink: Netlink) -> list[Rule]:
    """Dump the rules of both families."""
    return [rule for family in (AF_INET, AF_INET6) for rule in _rules(netlink, family)]


def _rules(netlink: Netlink, family: int) -> Iterator[Rule]:
    payload = RTMSG.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
    for body in dump_if_any(netlink, RTM_GETRULE, RTM_NEWRULE, payload):
        rule = read_rule(body)
        if rule.version in VERSIONS.values():
            yield rule


def neighbors_of(netlink: Netlink) -> list[KernelNeighbor]:
    """Dump the permanent neighbours of both families."""
    bodies = netlink.dump(RTM_GETNEIGH, RTM_NEWNEIGH, NDMSG.pack(0, 0, 0, 0, 0))
    return [each for each in map(read_neighbor, bodies) if each is not None]


def add_route(netlink: Netlink, route: KernelRoute) -> None:
    """Add a route; NetlinkError EEXIST where one of the same destination and metric stands."""
    netlink.change(RTM_NEWROUTE, encode_route(route), NLM_F_CREATE | NLM_F_EXCL)


def delete_route(netlink: Netlink, route: KernelRoute) -> None:
    """Delete a route; NetlinkError ESRCH where it is not there."""
    netlink.change(RTM_DELROUTE, encode_route(route))


def add_rule(netlink: Netlink, rule: Rule) -> None:
    """Add a rule; NetlinkError EEXIST where the same one stands."""
    netlink.change(RTM_NEWRULE, encode_rule(rule), NLM_F_CREATE | NLM_F_EXCL)


def delete_rule(netlink: Netlink, rule: Rule) -> None:
    """Delete a rule; NetlinkError ENOENT where it is not there."""
    netlink.change(RTM_DELRULE, encode_rule(rule))


def set_neighbor(netlink: Netlink, neighbor: KernelNeighbor) -> None:
    netlink.change(RTM_NEWNEIGH, encode_neighbor(neighbor), NLM_F_CREATE | NLM_F_REPLACE)


def delete_neighbor(netlink: Netlink, neighbor: KernelNeighbor) -> None:
    """Delete a neighbour; NetlinkError ENOENT where it is not there."""
    netlink.change(RTM_DELNEIGH, encode_neighbor(neighbor))


def set_up(netlink: Netlink, link: int) -> None:
    netlink.change(RTM_NEWLINK, IFINFOMSG.pack(0, 0, link, IFF_UP, IFF_UP))


def set_down(netlink: Netlink, link: int) -> None:
    netlink.change(RTM_NEWLINK, IFINFOMSG.pack(0, 0, link, 0, IFF_UP))


def set_mtu(netlink: Netlink, link: int, mtu: int) -> None:
    netlink.change(
        RTM_NEWLINK, IFINFOMSG.pack(0, 0, link, 0, 0) + NLATTR.pack(8, IFLA_MTU) + U32.pack(mtu)
    )


def rename(netlink: Netlink, link: int, name: str) -> None:
    """Rename a link; before Linux 6.2 it must be down (EBUSY)."""
    text = name.encode() + b"\0"
    padding = bytes(-len(text) % 4)
    body = NLATTR.pack(NLATTR.size + len(text), IFLA_IFNAME) + text + padding
    netlink.change(RTM_NEWLINK, IFINFOMSG.pack(0, 0, link, 0, 0) + body)


def remove_altname(netlink: Netlink, link: int, altname: str) -> None:
    name = attribute(IFLA_ALT_IFNAME, altname.encode("utf-8", "surrogateescape") + b"\0")
    names = attribute(IFLA_PROP_LIST | NLA_F_NESTED, name)
    netlink.change(RTM_DELLINKPROP, IFINFOMSG.pack(0, 0, link, 0, 0) + names)
