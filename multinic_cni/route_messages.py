"""rtnetlink's messages about routes of all tables, rules and neighbours (rtnetlink(7)).

Names are the kernel's (linux/rtnetlink.h, linux/fib_rules.h, linux/neighbour.h). Addresses are
integers, links are indexes.
"""

from __future__ import annotations

from _socket import AF_INET, AF_INET6
from _struct import Struct

from multinic_cni.messages import (
    NLATTR,
    RTA_DST,
    RTA_GATEWAY,
    RTA_MULTIPATH,
    RTA_OIF,
    RTA_PRIORITY,
    RTMSG,
    RTN_UNICAST,
    RTNEXTHOP,
    U32,
    attributes_within,
)
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FAMILIES = {4: AF_INET, 6: AF_INET6}
VERSIONS = {AF_INET: 4, AF_INET6: 6}
ADDRESS_BYTES = {4: 4, 6: 16}
WHOLE = {4: 32, 6: 128}

RTA_PREFSRC, RTA_METRICS, RTA_TABLE = 7, 8, 15
RTAX_MTU = 2
RTN_UNREACHABLE = 7
RTPROT_KERNEL, RTPROT_BOOT, RTPROT_STATIC = 2, 3, 4
RT_SCOPE_UNIVERSE, RT_SCOPE_LINK = 0, 253
RT_TABLE_COMPAT, RT_TABLE_UNSPEC = 252, 0
RTNH_F_ONLINK = 4
LARGEST_OCTET = 0xFF

FRA_DST, FRA_SRC, FRA_IIFNAME, FRA_PRIORITY = 1, 2, 3, 6
FRA_TABLE, FRA_OIFNAME, FRA_PROTOCOL = 15, 17, 21
FR_ACT_TO_TBL = 1

NDA_DST, NDA_LLADDR = 1, 2
NUD_PERMANENT = 0x80
NDMSG = Struct("=BxxxiHBB")

IFA_BROADCAST, IFA_FLAGS = 4, 8


class Hop(Value):
    """A next hop; `gateway` is 0 for what is on the link. `onlink`: no network need hold it."""

    link: int
    gateway: int = 0
    weight: int = 1
    onlink: bool = False


class KernelRoute(Value):
    """A route of any table. `source` is the address that the pod prefers by it, 0 for none.

    A route of another kind than RTN_UNICAST has no hops, or the loopback's.
    """

    version: int
    table: int
    destination: int
    prefix_length: int
    hops: tuple[Hop, ...] = ()
    kind: int = RTN_UNICAST
    protocol: int = RTPROT_STATIC
    scope: int = RT_SCOPE_UNIVERSE
    metric: int = 0
    mtu: int = 0
    source: int = 0


class Rule(Value):
    """A rule that leads to a table; `source` and `destination` are (address, length) or None."""

    version: int
    priority: int
    table: int
    source: tuple[int, int] | None = None
    destination: tuple[int, int] | None = None
    oif: str = ""
    iif: str = ""
    protocol: int = RTPROT_STATIC
    action: int = FR_ACT_TO_TBL


class KernelNeighbor(Value):
    """A permanent neighbour of a link."""

    version: int
    link: int
    number: int
    mac: str


def attribute(kind: int, value: bytes) -> bytes:
    length = NLATTR.size + len(value)
    return NLATTR.pack(length, kind) + value + bytes(-length % 4)


def packed(version: int, number: int) -> bytes:
    return number.to_bytes(ADDRESS_BYTES[version], "big")


def encode_route(route: KernelRoute) -> bytes:
    table = route.table if route.table <= LARGEST_OCTET else RT_TABLE_COMPAT
    alone = route.hops[0] if len(route.hops) == 1 else None
    flags = RTNH_F_ONLINK if alone and alone.onlink else 0
    body = RTMSG.pack(
        FAMILIES[route.version],
        route.prefix_length,
        0,
        0,
        table,
        route.protocol,
        route.scope,
        route.kind,
        flags,
    )
    body += attribute(RTA_TABLE, U32.pack(route.table))
    if route.prefix_length:
        body += attribute(RTA_DST, packed(route.version, route.destination))
    if route.metric:
        body += attribute(RTA_PRIORITY, U32.pack(route.metric))
    if route.source:
        body += attribute(RTA_PREFSRC, packed(route.version, route.source))
    if route.mtu:
        body += attribute(RTA_METRICS, attribute(RTAX_MTU, U32.pack(route.mtu)))
    if alone:
        body += attribute(RTA_OIF, U32.pack(alone.link)) + _gateway(route.version, alone)
    elif route.hops:
        body += attribute(
            RTA_MULTIPATH, b"".join(_next_hop(route.version, each) for each in route.hops)
        )
    return body


def _gateway(version: int, hop: Hop) -> bytes:
    return attribute(RTA_GATEWAY, packed(version, hop.gateway)) if hop.gateway else b""


def _next_hop(version: int, hop: Hop) -> bytes:
    gateway = _gateway(version, hop)
    flags = RTNH_F_ONLINK if hop.onlink else 0
    head = RTNEXTHOP.pack(RTNEXTHOP.size + len(gateway), flags, hop.weight - 1, hop.link)
    return head + gateway


def read_route(body: memoryview) -> KernelRoute:
    family, length, _, _, table, protocol, scope, kind, flags = RTMSG.unpack_from(body)
    values = attributes_within(body, RTMSG.size)
    hops = _hops(values, flags)
    return KernelRoute(
        version=VERSIONS[family],
        table=_u32(values, RTA_TABLE) or table,
        destination=_big(values, RTA_DST),
        prefix_length=length,
        hops=hops,
        kind=kind,
        protocol=protocol,
        scope=scope,
        metric=_u32(values, RTA_PRIORITY),
        mtu=_u32(attributes_within(values.get(RTA_METRICS, memoryview(b"")), 0), RTAX_MTU),
        source=_big(values, RTA_PREFSRC),
    )


def _hops(values: Mapping[int, memoryview], flags: int) -> tuple[Hop, ...]:
    if RTA_MULTIPATH not in values:
        link = _u32(values, RTA_OIF)
        onlink = bool(flags & RTNH_F_ONLINK)
        return (Hop(link=link, gateway=_big(values, RTA_GATEWAY), onlink=onlink),) if link else ()
    multipath, at, hops = values[RTA_MULTIPATH], 0, []
    while at + RTNEXTHOP.size <= len(multipath):
        length, flags, weight, link = RTNEXTHOP.unpack_from(multipath, at)
        within = attributes_within(multipath[at : at + length], RTNEXTHOP.size)
        hops.append(
            Hop(
                link=link,
                gateway=_big(within, RTA_GATEWAY),
                weight=weight + 1,
                onlink=bool(flags & RTNH_F_ONLINK),
            )
        )
        at += max(RTNEXTHOP.size, (length + 3) & ~3)
    return tuple(hops)


def encode_rule(rule: Rule) -> bytes:
    table = rule.table if rule.table <= LARGEST_OCTET else RT_TABLE_UNSPEC
    source_length = rule.source[1] if rule.source else 0
    destination_length = rule.destination[1] if rule.destination else 0
    body = RTMSG.pack(
        FAMILIES[rule.version],
        destination_length,
        source_length,
        0,
        table,
        0,
        0,
        rule.action,
        0,
    )
    body += attribute(FRA_TABLE, U32.pack(rule.table))
    body += attribute(FRA_PRIORITY, U32.pack(rule.priority))
    body += attribute(FRA_PROTOCOL, bytes([rule.protocol]))
    if rule.source:
        body += attribute(FRA_SRC, packed(rule.version, rule.source[0]))
    if rule.destination:
        body += attribute(FRA_DST, packed(rule.version, rule.destination[0]))
    for kind, name in ((FRA_OIFNAME, rule.oif), (FRA_IIFNAME, rule.iif)):
        if name:
            body += attribute(kind, name.encode() + b"\0")
    return body


def read_rule(body: memoryview) -> Rule:
    family, destination, source, _, table, _, _, action, _ = RTMSG.unpack_from(body)
    values = attributes_within(body, RTMSG.size)
    protocol = values.get(FRA_PROTOCOL)
    return Rule(
        version=VERSIONS.get(family, 0),
        priority=_u32(values, FRA_PRIORITY),
        table=_u32(values, FRA_TABLE) or table,
        source=(_big(values, FRA_SRC), source) if FRA_SRC in values else None,
        destination=(_big(values, FRA_DST), destination) if FRA_DST in values else None,
        oif=_name(values, FRA_OIFNAME),
        iif=_name(values, FRA_IIFNAME),
        protocol=protocol[0] if protocol else 0,
        action=action,
    )


def encode_neighbor(neighbor: KernelNeighbor) -> bytes:
    body = NDMSG.pack(FAMILIES[neighbor.version], neighbor.link, NUD_PERMANENT, 0, 0)
    body += attribute(NDA_DST, packed(neighbor.version, neighbor.number))
    return body + attribute(NDA_LLADDR, bytes.fromhex(neighbor.mac.replace(":", "")))


def read_neighbor(body: memoryview) -> KernelNeighbor | None:
    """Return a permanent neighbour; None for one that the kernel has learnt."""
    family, link, state, _, _ = NDMSG.unpack_from(body)
    values = attributes_within(body, NDMSG.size)
    if not state & NUD_PERMANENT or family not in VERSIONS or NDA_LLADDR not in values:
        return None
    return KernelNeighbor(
        version=VERSIONS[family],
        link=link,
        number=_big(values, NDA_DST),
        mac=values[NDA_LLADDR].hex(":"),
    )


def _u32(values: Mapping[int, memoryview], kind: int) -> int:
    return int(U32.unpack(values[kind][: U32.size])[0]) if kind in values else 0


def _big(values: Mapping[int, memoryview], kind: int) -> int:
    return int.from_bytes(values.get(kind, b""), "big")


def _name(values: Mapping[int, memoryview], kind: int) -> str:
    return bytes(values.get(kind, b"")).rstrip(b"\0").decode("utf-8", "surrogateescape")
