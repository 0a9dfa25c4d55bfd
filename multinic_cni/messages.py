"""rtnetlink's messages about links, addresses and routes, decoded (rtnetlink(7))."""

from __future__ import annotations

from _socket import AF_INET
from _struct import Struct

from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

NLA_TYPE_MASK = 0x3FFF
IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_LINK, IFLA_MASTER = 1, 3, 4, 5, 10
IFLA_OPERSTATE, IFLA_LINKINFO, IFLA_IFALIAS = 16, 18, 20
IFLA_GROUP, IFLA_LINK_NETNSID = 27, 37
IFLA_PROP_LIST, IFLA_ALT_IFNAME, IFLA_PERM_ADDRESS = 52, 53, 54
IFLA_PARENT_DEV_NAME, IFLA_PARENT_DEV_BUS_NAME = 56, 57  # Linux 5.14
IFLA_INFO_KIND, IFLA_INFO_DATA, IFLA_IPVLAN_MODE, IFLA_MACVLAN_MODE = 1, 2, 1, 1
IFF_UP, IFF_LOOPBACK, IFF_NOARP, IFF_LOWER_UP = 0x1, 0x8, 0x80, 0x10000
IFF_PROMISC, IFF_ALLMULTI = 0x100, 0x200
IFF_MODES = IFF_NOARP | IFF_PROMISC | IFF_ALLMULTI  # what somebody has set
# RFC 2863's states in the order of linux/if.h; the modes are those of linux/if_link.h.
OPERSTATES = ("unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up")
IPVLAN_MODES = ("l2", "l3", "l3s")
HAVE_MODES = frozenset({"ipvlan", "ipvtap", "macvlan", "macvtap"})
MACVLAN_MODES = {1: "private", 2: "vepa", 4: "bridge", 8: "passthru", 16: "source"}

IFA_ADDRESS, IFA_LOCAL = 1, 2
IFA_F_SECONDARY, IFA_F_DADFAILED, IFA_F_DEPRECATED, IFA_F_TENTATIVE = 0x01, 0x08, 0x20, 0x40
# Added later in the same network, or temporary; going; not known to be the only one.
PASSING = IFA_F_SECONDARY | IFA_F_DADFAILED | IFA_F_DEPRECATED | IFA_F_TENTATIVE
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PRIORITY, RTA_MULTIPATH = 1, 4, 5, 6, 9
RT_TABLE_MAIN, RTN_UNICAST = 254, 1

# What is read of each message.
LINK_ATTRIBUTES = frozenset(
    {
        IFLA_ADDRESS,
        IFLA_GROUP,
        IFLA_IFALIAS,
        IFLA_IFNAME,
        IFLA_LINK,
        IFLA_LINKINFO,
        IFLA_LINK_NETNSID,
        IFLA_MASTER,
        IFLA_MTU,
        IFLA_OPERSTATE,
        IFLA_PARENT_DEV_BUS_NAME,
        IFLA_PARENT_DEV_NAME,
        IFLA_PERM_ADDRESS,
        IFLA_PROP_LIST,
    }
)
ADDRESS_ATTRIBUTES = frozenset({IFA_ADDRESS, IFA_LOCAL})
ROUTE_ATTRIBUTES = frozenset({RTA_DST, RTA_GATEWAY, RTA_MULTIPATH, RTA_OIF, RTA_PRIORITY})

NLATTR = Struct("=HH")
IFINFOMSG = Struct("=BxHiII")  # its second field is the ARP hardware type
IFADDRMSG = Struct("=BBBBI")
RTMSG = Struct("=BBBBBBBBI")
RTM_DST_LEN = 1  # its place in the header
RTNEXTHOP = Struct("=HBBi")
U16, U32 = Struct("=H"), Struct("=I")
NOTHING, UNKNOWN = memoryview(b""), memoryview(b"\0")


class Link(Value):
    """A link. `master`, `lower` and `lower_elsewhere` are indexes, 0 for none.

    The lower link, a macvlan's NIC say, is in the same netns or elsewhere. `medium` is the ARP
    hardware type, `mode` an ipvlan's or a macvlan's. A link of layer 3 alone does not ask for MACs.
    `device` is "pci/0000:3b:00.2" or the like, in whatever netns the link is. `modes` are those of
    its flags that somebody has set (IFF_MODES).
    """

    index: int
    name: str
    altnames: tuple[str, ...]
    mac: str
    mtu: int
    kind: str
    loopback: bool
    up: bool
    carrier: bool
    master: int
    lower: int
    lower_elsewhere: int = 0
    permanent_mac: str = ""
    medium: int = 1
    operstate: str = "unknown"
    mode: str = ""
    group: int = 0
    asks_for_macs: bool = True
    modes: int = 0
    device: str = ""
    alias: str = ""


class Address(Value):
    """An address of a link; the number is its integer. `primary` is none of those of PASSING."""

    link: int
    version: int
    number: int
    prefix_length: int
    primary: bool = True


class Route(Value):
    """One next hop of a unicast route of the main table; gateway 0 where it is on the link."""

    version: int
    destination: int
    prefix_length: int
    gateway: int
    metric: int
    link: int


def read_link(body: memoryview) -> Link:
    _, medium, index, flags, _ = IFINFOMSG.unpack_from(body)
    values = _attributes(body, IFINFOMSG.size, LINK_ATTRIBUTES)
    kind, mode = _kind_and_mode(values[IFLA_LINKINFO]) if IFLA_LINKINFO in values else ("", "")
    operstate = values.get(IFLA_OPERSTATE, UNKNOWN)[0]
    lower = _number(values, IFLA_LINK)
    elsewhere = IFLA_LINK_NETNSID in values
    return Link(
        index=index,
        name=_text(values.get(IFLA_IFNAME, NOTHING)),
        altnames=_altnames(values[IFLA_PROP_LIST]) if IFLA_PROP_LIST in values else (),
        mac=values.get(IFLA_ADDRESS, NOTHING).hex(":"),
        permanent_mac=values.get(IFLA_PERM_ADDRESS, NOTHING).hex(":"),
        alias=_text(values.get(IFLA_IFALIAS, NOTHING)),
        device=_device(values) if IFLA_PARENT_DEV_NAME in values else "",
        mtu=_number(values, IFLA_MTU),
        kind=kind,
        mode=mode,
        group=_number(values, IFLA_GROUP),
        medium=medium,
        loopback=bool(flags & IFF_LOOPBACK),
        asks_for_macs=not flags & IFF_NOARP,
        modes=flags & IFF_MODES,
        up=bool(flags & IFF_UP),
        carrier=bool(flags & IFF_LOWER_UP),
        operstate=OPERSTATES[operstate] if operstate < len(OPERSTATES) else str(operstate),
        master=_number(values, IFLA_MASTER),
        lower=0 if elsewhere or kind == "veth" else lower,  # a veth's "link" is its peer
        lower_elsewhere=lower if elsewhere and kind != "veth" else 0,
    )


def _number(values: Mapping[int, memoryview], attribute: int) -> int:
    value = values.get(attribute)
    return U32.unpack(value)[0] if value is not None else 0


def _device(values: Mapping[int, memoryview]) -> str:
    bus = _text(values.get(IFLA_PARENT_DEV_BUS_NAME, NOTHING))
    return f"{bus}/{_text(values[IFLA_PARENT_DEV_NAME])}"


def _altnames(properties: memoryview) -> tuple[str, ...]:
    return tuple(_text(value) for key, value in _each(properties) if key == IFLA_ALT_IFNAME)


def _kind_and_mode(info: memoryview) -> tuple[str, str]:
    values = dict(_each(info))
    kind = _text(values[IFLA_INFO_KIND]) if IFLA_INFO_KIND in values else ""
    if kind not in HAVE_MODES:
        return kind, ""
    data = dict(_each(values.get(IFLA_INFO_DATA, NOTHING)))
    match kind:
        case "ipvlan" | "ipvtap" if IFLA_IPVLAN_MODE in data:
            number = U16.unpack(data[IFLA_IPVLAN_MODE])[0]
            return kind, IPVLAN_MODES[number] if number < len(IPVLAN_MODES) else str(number)
        case "macvlan" | "macvtap" if IFLA_MACVLAN_MODE in data:
            number = U32.unpack(data[IFLA_MACVLAN_MODE])[0]
            return kind, MACVLAN_MODES.get(number, str(number))
        case _:
            return kind, ""


def _version(family: int) -> int:
    return 4 if family == AF_INET else 6


def read_address(body: memoryview) -> Address:
    family, prefix_length, flags, _, index = IFADDRMSG.unpack_from(body)
    values = _attributes(body, IFADDRMSG.size, ADDRESS_ATTRIBUTES)
    # On a point-to-point link IFA_ADDRESS is the peer's.
    packed = values.get(IFA_LOCAL) or values[IFA_ADDRESS]
    return Address(
        link=index,
        version=_version(family),
        number=int.from_bytes(packed, "big"),
        prefix_length=prefix_length,
        primary=not flags & PASSING,
    )


def read_routes(body: memoryview) -> Iterator[Route]:
    family, prefix_length, _, _, table, _, _, kind, _ = RTMSG.unpack_from(body)
    if table != RT_TABLE_MAIN or kind != RTN_UNICAST:
        return
    values = _attributes(body, RTMSG.size, ROUTE_ATTRIBUTES)
    hops = [(U32.unpack(values[RTA_OIF])[0], values.get(RTA_GATEWAY))] if RTA_OIF in values else []
    multipath, at = values.get(RTA_MULTIPATH, memoryview(b"")), 0
    while at + RTNEXTHOP.size <= len(multipath):
        length, _, _, index = RTNEXTHOP.unpack_from(multipath, at)
        within = dict(_each(multipath[at + RTNEXTHOP.size : at + length]))
        hops.append((index, within.get(RTA_GATEWAY)))
        at += max(RTNEXTHOP.size, (length + 3) & ~3)
    for index, gateway in hops:
        yield Route(
            version=_version(family),
            destination=int.from_bytes(values.get(RTA_DST, b""), "big"),
            prefix_length=prefix_length,
            gateway=int.from_bytes(gateway or b"", "big"),
            metric=U32.unpack(values[RTA_PRIORITY])[0] if RTA_PRIORITY in values else 0,
            link=index,
        )


def _attributes(body: memoryview, at: int, wanted: Container[int]) -> dict[int, memoryview]:
    """Return some of the attributes: a link has thirty, and there may be hundreds of links."""
    found = {}
    last = len(body) - NLATTR.size
    unpack = NLATTR.unpack_from
    while at <= last:
        length, kind = unpack(body, at)
        kind &= NLA_TYPE_MASK
        if kind in wanted:
            found[kind] = body[at + NLATTR.size : at + length]
        at += (length + 3) & ~3 or NLATTR.size
    return found


def attributes_within(body: memoryview, at: int) -> dict[int, memoryview]:
    """Return all attributes of a message from some place on."""
    return dict(_each(body[at:]))


def _each(body: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Walk all attributes within one."""
    at = 0
    while at + NLATTR.size <= len(body):
        length, kind = NLATTR.unpack_from(body, at)
        yield kind & NLA_TYPE_MASK, body[at + NLATTR.size : at + length]
        at += max(NLATTR.size, (length + 3) & ~3)


def _text(value: memoryview) -> str:
    return bytes(value).rstrip(b"\0").decode("utf-8", "surrogateescape")
