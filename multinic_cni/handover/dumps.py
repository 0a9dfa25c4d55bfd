"""What the kernel says of a NIC's addresses, routes and rules: those that would be missed.

What the kernel makes by itself comes by itself again. What has an attribute that is not understood
here is left out, with a warning: a rule without its mark, or a route without its encapsulation,
would be another one.
"""

from __future__ import annotations

from multinic_cni.handover.former import FormerAddress, FormerHop, FormerRoute
from multinic_cni.log import log
from multinic_cni.messages import (
    IFA_ADDRESS,
    IFA_LOCAL,
    IFADDRMSG,
    RTA_DST,
    RTA_GATEWAY,
    RTA_MULTIPATH,
    RTA_OIF,
    RTA_PRIORITY,
    RTMSG,
    RTNEXTHOP,
    U32,
    attributes_within,
)
from multinic_cni.netlink import RTM_GETADDR, RTM_GETROUTE, RTM_NEWADDR, RTM_NEWROUTE
from multinic_cni.route_messages import (
    FAMILIES,
    FR_ACT_TO_TBL,
    FRA_DST,
    FRA_IIFNAME,
    FRA_OIFNAME,
    FRA_PRIORITY,
    FRA_PROTOCOL,
    FRA_SRC,
    FRA_TABLE,
    IFA_BROADCAST,
    IFA_FLAGS,
    RTA_METRICS,
    RTA_PREFSRC,
    RTA_TABLE,
    RTAX_MTU,
    RTPROT_KERNEL,
    VERSIONS,
    read_route,
    read_rule,
)
from multinic_cni.route_netlink import RTM_F_CLONED, RTM_GETRULE, RTM_NEWRULE, dump_if_any
from multinic_ipam.networks import Network, is_link_local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from multinic_cni.netlink import Netlink
    from multinic_cni.route_messages import KernelRoute, Rule
    from multinic_selectors.nics import Nic

MOST_ROUTES = 1000  # of a NIC; a routing daemon, which may have more, sets its own again

# linux/if_addr.h
IFA_LABEL, IFA_RT_PRIORITY, IFA_PROTO = 3, 9, 11
IFA_F_NODAD, IFA_F_HOMEADDRESS, IFA_F_PERMANENT = 0x02, 0x10, 0x80
IFA_F_MANAGETEMPADDR, IFA_F_NOPREFIXROUTE, IFA_F_MCAUTOJOIN = 0x100, 0x200, 0x400
IFA_F_STABLE_PRIVACY = 0x800
SET_BY_SOMEBODY = (
    IFA_F_NODAD | IFA_F_HOMEADDRESS | IFA_F_MANAGETEMPADDR | IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN
)
MADE_BY_THE_KERNEL = frozenset({1, 2, 3})  # IFAPROT_KERNEL_LO, _RA, _LL, Linux 5.18

# linux/rtnetlink.h
RTPROT_REDIRECT, RTPROT_RA = 1, 9
RTA_CACHEINFO, RTA_PREF = 12, 20
EXPIRES = 8  # where rta_expires stands in an rta_cacheinfo
ROUTE_ATTRIBUTES = frozenset(
    {
        RTA_CACHEINFO,
        RTA_DST,
        RTA_GATEWAY,
        RTA_METRICS,
        RTA_MULTIPATH,
        RTA_OIF,
        RTA_PREF,
        RTA_PREFSRC,
        RTA_PRIORITY,
        RTA_TABLE,
    }
)
# linux/fib_rules.h
FRA_SUPPRESS_PREFIXLEN, FRA_PAD, FIB_RULE_INVERT = 14, 18, 2
NOT_SUPPRESSED = 0xFFFF_FFFF
RULE_ATTRIBUTES = frozenset(
    {
        FRA_DST,
        FRA_IIFNAME,
        FRA_OIFNAME,
        FRA_PAD,
        FRA_PRIORITY,
        FRA_PROTOCOL,
        FRA_SRC,
        FRA_SUPPRESS_PREFIXLEN,
        FRA_TABLE,
    }
)


def addresses_of(netlink: Netlink, nic: Nic) -> list[FormerAddress]:
    """Return the addresses that stay with a NIC, in the kernel's order."""
    bodies = netlink.dump(RTM_GETADDR, RTM_NEWADDR, IFADDRMSG.pack(0, 0, 0, 0, 0))
    own = (body for body in bodies if IFADDRMSG.unpack_from(body)[4] == nic.index)
    return [each for each in (_address(body, nic) for body in own) if each is not None]


def _address(body: memoryview, nic: Nic) -> FormerAddress | None:
    """Read an address; None for one that the kernel has made, or that has an end."""
    family, length, short_flags, scope, _ = IFADDRMSG.unpack_from(body)
    values = attributes_within(body, IFADDRMSG.size)
    flags = U32.unpack(values[IFA_FLAGS])[0] if IFA_FLAGS in values else short_flags
    version = VERSIONS[family]
    number = _big(values, IFA_LOCAL) or _big(values, IFA_ADDRESS)
    if not flags & IFA_F_PERMANENT or _made_by_the_kernel(values, flags, version, number, nic):
        return None
    other_end = _big(values, IFA_ADDRESS)
    label = bytes(values.get(IFA_LABEL, b"")).rstrip(b"\0").decode("utf-8", "surrogateescape")
    return FormerAddress(
        version=version,
        number=number,
        length=length,
        peer=other_end if other_end != number else 0,
        broadcast=_big(values, IFA_BROADCAST),
        scope=scope,
        flags=flags & SET_BY_SOMEBODY,
        metric=U32.unpack(values[IFA_RT_PRIORITY])[0] if IFA_RT_PRIORITY in values else 0,
        label=label,
    )


def _made_by_the_kernel(
    values: Mapping[int, memoryview], flags: int, version: int, number: int, nic: Nic
) -> bool:
    if IFA_PROTO in values:
        return values[IFA_PROTO][0] in MADE_BY_THE_KERNEL
    if version == 4 or not is_link_local(version, number):  # noqa: PLR2004 - IPv4 has no kernel's
        return False
    # Before Linux 5.18, and for addresses that somebody has set: by how the kernel makes them.
    return bool(flags & IFA_F_STABLE_PRIVACY) or number & (1 << 64) - 1 == _eui64(nic.mac)


def _eui64(mac: str) -> int:
    octets = bytes.fromhex(mac.replace(":", ""))
    if len(octets) != 6:  # noqa: PLR2004 - of Ethernet
        return 0
    return int.from_bytes(bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:], "big")


def routes_over(
    netlink: Netlink, links: Sequence[int], names: Mapping[int, str]
) -> dict[int, list[FormerRoute]]:
    """Return the routes of all tables over each of the links, other links' hops among theirs."""
    found: dict[int, list[FormerRoute]] = {link: [] for link in links}
    for family in FAMILIES.values():
        for route, is_whole in _routes(netlink, family):
            over = {hop.link for hop in route.hops}.intersection(found)
            if not over:
                continue
            network = Network(route.version, route.destination, route.prefix_length)
            text = f"route {network} table {route.table}"
            if not is_whole or not names.keys() >= {hop.link for hop in route.hops}:
                log.warning(f"{text} is not kept: it has more than can be noted")
                continue
            for link in over:
                found[link].append(_by_name(route, names))
    for link in links:
        if len(found[link]) > MOST_ROUTES:
            log.warning("too many routes to keep them all", nic=names.get(link), most=MOST_ROUTES)
            del found[link][MOST_ROUTES:]
    return found


def _routes(netlink: Netlink, family: int) -> Iterator[tuple[KernelRoute, bool]]:
    """Yield the routes that the kernel would not make again, and whether each is understood."""
    payload = RTMSG.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
    for body in dump_if_any(netlink, RTM_GETROUTE, RTM_NEWROUTE, payload):
        _, _, source_length, tos, _, _, _, _, flags = RTMSG.unpack_from(body)
        values = attributes_within(body, RTMSG.size)
        route = read_route(body)
        passing = flags & RTM_F_CLONED or any(values.get(RTA_CACHEINFO, b"")[EXPIRES : EXPIRES + 4])
        if not passing and route.protocol not in {RTPROT_KERNEL, RTPROT_REDIRECT, RTPROT_RA}:
            yield route, not (source_length or tos) and _is_understood(values)


def _is_understood(values: Mapping[int, memoryview]) -> bool:
    metrics = attributes_within(values.get(RTA_METRICS, memoryview(b"")), 0)
    multipath, at = values.get(RTA_MULTIPATH, memoryview(b"")), 0
    of_hops: set[int] = set()
    while at + RTNEXTHOP.size <= len(multipath):
        length = RTNEXTHOP.unpack_from(multipath, at)[0]
        of_hops.update(attributes_within(multipath[at : at + length], RTNEXTHOP.size))
        at += max(RTNEXTHOP.size, (length + 3) & ~3)
    return (
        values.keys() <= ROUTE_ATTRIBUTES
        and not any(values.get(RTA_PREF, b""))
        and {RTAX_MTU} >= metrics.keys()
        and {RTA_GATEWAY} >= of_hops
    )


def _by_name(route: KernelRoute, names: Mapping[int, str]) -> FormerRoute:
    hops = tuple(
        FormerHop(dev=names[hop.link], gateway=hop.gateway, weight=hop.weight, onlink=hop.onlink)
        for hop in route.hops
    )
    return FormerRoute(route=route.but(hops=()), hops=hops)


def rules_leading_by(netlink: Netlink, nic: Nic, addresses: Sequence[FormerAddress]) -> list[Rule]:
    """Return the rules for what comes from a NIC's addresses, or that name the NIC."""
    found = []
    for family in FAMILIES.values():
        payload = RTMSG.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
        for body in dump_if_any(netlink, RTM_GETRULE, RTM_NEWRULE, payload):
            rule = read_rule(body)
            named = nic.name in {rule.oif, rule.iif}
            if named or any(_comes_from(rule, address) for address in addresses):
                if _is_plain(body, rule):
                    found.append(rule)
                else:
                    log.warning("rule is not kept: it has more than can be noted", nic=nic.name)
    return found


def _comes_from(rule: Rule, address: FormerAddress) -> bool:
    """Tell whether a rule's source is an address of the NIC, or its network or a part of it."""
    if rule.source is None or rule.version != address.version:
        return False
    first, length = rule.source
    source = Network(rule.version, first, length)
    return length >= address.length and source.holds(address.version, address.number)


def _is_plain(body: memoryview, rule: Rule) -> bool:
    _, _, _, tos, _, _, _, _, flags = RTMSG.unpack_from(body)
    values = attributes_within(body, RTMSG.size)
    suppressed = values.get(FRA_SUPPRESS_PREFIXLEN)
    return (
        rule.action == FR_ACT_TO_TBL
        and not tos
        and not flags & FIB_RULE_INVERT
        and values.keys() <= RULE_ATTRIBUTES
        and (suppressed is None or U32.unpack(suppressed)[0] == NOT_SUPPRESSED)
    )


def _big(values: Mapping[int, memoryview], kind: int) -> int:
    return int.from_bytes(values.get(kind, b""), "big")
