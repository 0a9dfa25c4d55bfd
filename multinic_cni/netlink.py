"""rtnetlink (rtnetlink(7)): the few requests that the plugin needs, in the kernel's names.

A whole library for it costs 200 ms of CPU at start-up; the tests use one as the oracle.
"""

from __future__ import annotations

import errno
import time
from _socket import AF_INET, AF_NETLINK, SOCK_CLOEXEC, SOCK_RAW, socket
from _struct import Struct

from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NETLINK_ROUTE = 0
SOL_NETLINK = 270
NETLINK_GET_STRICT_CHK = 12
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP_INTR, NLM_F_DUMP = 0x1, 0x4, 0x10, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK = 16, 17, 18
RTM_NEWADDR, RTM_GETADDR = 20, 22
RTM_NEWROUTE, RTM_GETROUTE = 24, 26
NLA_TYPE_MASK = 0x3FFF

IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_LINK, IFLA_MASTER = 1, 3, 4, 5, 10
IFLA_LINKINFO, IFLA_INFO_KIND = 18, 1
IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS = 29, 8
IFLA_NET_NS_FD, IFLA_LINK_NETNSID = 28, 37
IFLA_PROP_LIST, IFLA_ALT_IFNAME = 52, 53
IFF_UP, IFF_LOOPBACK, IFF_LOWER_UP = 0x1, 0x8, 0x10000

IFA_ADDRESS, IFA_LOCAL = 1, 2
IFA_F_SECONDARY, IFA_F_DADFAILED, IFA_F_DEPRECATED, IFA_F_TENTATIVE = 0x01, 0x08, 0x20, 0x40
# Added later in the same network, or temporary; going; not known to be the only one.
PASSING = IFA_F_SECONDARY | IFA_F_DADFAILED | IFA_F_DEPRECATED | IFA_F_TENTATIVE
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PRIORITY, RTA_MULTIPATH = 1, 4, 5, 6, 9
RT_TABLE_MAIN, RTN_UNICAST = 254, 1

NLMSGHDR = Struct("=IHHII")
NLATTR = Struct("=HH")
IFINFOMSG = Struct("=BxHiII")
IFADDRMSG = Struct("=BBBBI")
RTMSG = Struct("=BBBBBBBBI")
RTM_DST_LEN = 1  # its place in the header
RTNEXTHOP = Struct("=HBBi")
U32, S32 = Struct("=I"), Struct("=i")

RECEIVE_BYTES = 1 << 16  # the kernel fills dumps up to the size that the reader offers
# A node with thousands of addresses that change hundreds of times a second needs some luck.
PATIENCE_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.05


class NetlinkError(OSError):
    """The kernel refused a request; errno is its reason."""


class Link(Value):
    """A link. `master`, `lower` and `lower_elsewhere` are indexes, 0 for none.

    The lower link, a macvlan's NIC say, is in the same netns or elsewhere.
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


class Netlink:
    """A route socket. It belongs to the netns in which it was made, wherever the process goes."""

    def __init__(self) -> None:
        self.socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)
        try:
            self.socket.setsockopt(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1)
        except OSError:
            pass  # before Linux 4.20 the kernel ignores filters: what comes is filtered here too
        self._sequence = 0

    def close(self) -> None:
        self.socket.close()

    def links(self) -> list[Link]:
        mask = NLATTR.pack(8, IFLA_EXT_MASK) + U32.pack(RTEXT_FILTER_SKIP_STATS)
        payload = IFINFOMSG.pack(0, 0, 0, 0, 0) + mask
        return [_link(body) for body in self._dump(RTM_GETLINK, RTM_NEWLINK, payload)]

    def addresses(self) -> list[Address]:
        payload = IFADDRMSG.pack(0, 0, 0, 0, 0)
        return [_address(body) for body in self._dump(RTM_GETADDR, RTM_NEWADDR, payload)]

    def routes(self, family: int) -> list[Route]:
        """Dump the unicast routes of the main table, one entry a next hop."""
        return [route for body in self._route_dump(family) for route in _routes(body)]

    def default_routes(self, family: int) -> list[Route]:
        """Dump the default routes alone: of thousands of routes, the others are not decoded."""
        defaults = (body for body in self._route_dump(family) if body[RTM_DST_LEN] == 0)
        return [route for body in defaults for route in _routes(body)]

    def _route_dump(self, family: int) -> list[memoryview]:
        payload = RTMSG.pack(family, 0, 0, 0, RT_TABLE_MAIN, 0, 0, 0, 0)
        try:
            return self._dump(RTM_GETROUTE, RTM_NEWROUTE, payload)
        except NetlinkError as error:
            if error.errno != errno.ENOENT:
                raise
            return []  # the table comes with its first route

    def delete_link(self, index: int) -> None:
        """Delete a link; raises NetlinkError."""
        self._change(RTM_DELLINK, IFINFOMSG.pack(0, 0, index, 0, 0))

    def move_link(self, index: int, netns: int, name: str) -> None:
        """Move a link to the netns of a descriptor, under a name; raises NetlinkError."""
        text = name.encode() + b"\0"
        attributes = NLATTR.pack(8, IFLA_NET_NS_FD) + U32.pack(netns)
        attributes += NLATTR.pack(NLATTR.size + len(text), IFLA_IFNAME) + text
        self._change(RTM_NEWLINK, IFINFOMSG.pack(0, 0, index, 0, 0) + attributes)

    def _change(self, request: int, payload: bytes) -> None:
        self._sequence += 1
        self._send(request, NLM_F_REQUEST | NLM_F_ACK, payload)
        self._receive(request)

    def _send(self, request: int, flags: int, payload: bytes) -> None:
        length = NLMSGHDR.size + len(payload)
        self.socket.send(NLMSGHDR.pack(length, request, flags, self._sequence, 0) + payload)

    def _dump(self, request: int, answer: int, payload: bytes) -> list[memoryview]:
        """Return the messages' bodies; a dump that a change interrupted is asked for again."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        pause = FIRST_PAUSE
        while True:
            self._sequence += 1
            self._send(request, NLM_F_REQUEST | NLM_F_DUMP, payload)
            bodies, interrupted = self._receive(answer)
            if not interrupted:
                return bodies
            if time.monotonic() > deadline:
                raise NetlinkError(errno.EINTR, "the kernel's lists changed all the time")
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _receive(self, answer: int) -> tuple[list[memoryview], bool]:
        bodies: list[memoryview] = []
        interrupted = False
        while True:
            packet = memoryview(self.socket.recv(RECEIVE_BYTES))
            for kind, flags, sequence, body in _messages(packet):
                if sequence != self._sequence:
                    continue  # the rest of a dump that was given up
                interrupted = interrupted or bool(flags & NLM_F_DUMP_INTR)
                if kind in {NLMSG_DONE, NLMSG_ERROR}:
                    # A dump that ends early says so in its last message, an acknowledgement says 0.
                    number = -S32.unpack_from(body)[0] if len(body) >= S32.size else 0
                    if number:
                        raise NetlinkError(number, _reason(number))
                    return bodies, interrupted
                if kind == answer:
                    bodies.append(body)


def _reason(number: int) -> str:
    import os  # noqa: PLC0415 - only to word an error

    return os.strerror(number)


def _messages(packet: memoryview) -> Iterator[tuple[int, int, int, memoryview]]:
    at = 0
    while at + NLMSGHDR.size <= len(packet):
        length, kind, flags, sequence, _ = NLMSGHDR.unpack_from(packet, at)
        yield kind, flags, sequence, packet[at + NLMSGHDR.size : at + length]
        at += max(NLMSGHDR.size, (length + 3) & ~3)


def _attributes(body: memoryview, at: int) -> Iterator[tuple[int, memoryview]]:
    while at + NLATTR.size <= len(body):
        length, kind = NLATTR.unpack_from(body, at)
        yield kind & NLA_TYPE_MASK, body[at + NLATTR.size : at + length]
        at += max(NLATTR.size, (length + 3) & ~3)


def _text(value: memoryview) -> str:
    return bytes(value).rstrip(b"\0").decode("utf-8", "surrogateescape")


def _link(body: memoryview) -> Link:
    _, _, index, flags, _ = IFINFOMSG.unpack_from(body)
    name = mac = kind = ""
    altnames: list[str] = []
    mtu = master = lower = 0
    elsewhere = False
    for attribute, value in _attributes(body, IFINFOMSG.size):
        if attribute == IFLA_IFNAME:
            name = _text(value)
        elif attribute == IFLA_ADDRESS:
            mac = value.hex(":")
        elif attribute == IFLA_MTU:
            (mtu,) = U32.unpack(value)
        elif attribute == IFLA_MASTER:
            (master,) = U32.unpack(value)
        elif attribute == IFLA_LINK:
            (lower,) = U32.unpack(value)
        elif attribute == IFLA_LINK_NETNSID:
            elsewhere = True
        elif attribute == IFLA_LINKINFO:
            kind = next((_text(v) for k, v in _attributes(value, 0) if k == IFLA_INFO_KIND), "")
        elif attribute == IFLA_PROP_LIST:
            altnames += [_text(v) for k, v in _attributes(value, 0) if k == IFLA_ALT_IFNAME]
    return Link(
        index=index,
        name=name,
        altnames=tuple(altnames),
        mac=mac,
        mtu=mtu,
        kind=kind,
        loopback=bool(flags & IFF_LOOPBACK),
        up=bool(flags & IFF_UP),
        carrier=bool(flags & IFF_LOWER_UP),
        master=master,
        lower=0 if elsewhere or kind == "veth" else lower,  # a veth's "link" is its peer
        lower_elsewhere=lower if elsewhere and kind != "veth" else 0,
    )


def _version(family: int) -> int:
    return 4 if family == AF_INET else 6


def _address(body: memoryview) -> Address:
    family, prefix_length, flags, _, index = IFADDRMSG.unpack_from(body)
    values = dict(_attributes(body, IFADDRMSG.size))
    # On a point-to-point link IFA_ADDRESS is the peer's.
    packed = values.get(IFA_LOCAL) or values[IFA_ADDRESS]
    return Address(
        link=index,
        version=_version(family),
        number=int.from_bytes(packed, "big"),
        prefix_length=prefix_length,
        primary=not flags & PASSING,
    )


def _routes(body: memoryview) -> Iterator[Route]:
    family, prefix_length, _, _, table, _, _, kind, _ = RTMSG.unpack_from(body)
    if table != RT_TABLE_MAIN or kind != RTN_UNICAST:
        return
    values = dict(_attributes(body, RTMSG.size))
    hops = [(U32.unpack(values[RTA_OIF])[0], values.get(RTA_GATEWAY))] if RTA_OIF in values else []
    multipath, at = values.get(RTA_MULTIPATH, memoryview(b"")), 0
    while at + RTNEXTHOP.size <= len(multipath):
        length, _, _, index = RTNEXTHOP.unpack_from(multipath, at)
        within = dict(_attributes(multipath[: at + length], at + RTNEXTHOP.size))
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
