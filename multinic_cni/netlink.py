"""rtnetlink (rtnetlink(7)): the few requests that the plugin needs, in the kernel's names.

A whole library for it costs 200 ms of CPU at start-up; the tests use one as the oracle.
"""

from __future__ import annotations

import errno
import time
from _socket import AF_NETLINK, SOCK_CLOEXEC, SOCK_RAW, socket
from _struct import Struct

from multinic_cni.messages import (
    IFADDRMSG,
    IFINFOMSG,
    IFLA_IFNAME,
    NLATTR,
    RT_TABLE_MAIN,
    RTM_DST_LEN,
    RTMSG,
    U32,
    read_address,
    read_link,
    read_routes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_cni.messages import Address, Link, Route

NETLINK_ROUTE = 0
SOL_NETLINK = 270
NETLINK_GET_STRICT_CHK = 12
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP_INTR, NLM_F_DUMP = 0x1, 0x4, 0x10, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK = 16, 17, 18
RTM_NEWADDR, RTM_GETADDR = 20, 22
RTM_NEWROUTE, RTM_GETROUTE = 24, 26
IFLA_NET_NS_FD, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS = 28, 29, 8

NLMSGHDR = Struct("=IHHII")
S32 = Struct("=i")

RECEIVE_BYTES = 1 << 16  # the kernel fills dumps up to the size that the reader offers
# A node with thousands of addresses that change hundreds of times a second needs some luck.
PATIENCE_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.05


class NetlinkError(OSError):
    """The kernel refused a request; errno is its reason."""


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
        return [read_link(body) for body in self.dump(RTM_GETLINK, RTM_NEWLINK, payload)]

    def addresses(self) -> list[Address]:
        payload = IFADDRMSG.pack(0, 0, 0, 0, 0)
        return [read_address(body) for body in self.dump(RTM_GETADDR, RTM_NEWADDR, payload)]

    def routes(self, family: int) -> list[Route]:
        """Dump the unicast routes of the main table, one entry a next hop."""
        return [route for body in self._route_dump(family) for route in read_routes(body)]

    def default_routes(self, family: int) -> list[Route]:
        """Dump the default routes alone: of thousands of routes, the others are not decoded."""
        defaults = (body for body in self._route_dump(family) if body[RTM_DST_LEN] == 0)
        return [route for body in defaults for route in read_routes(body)]

    def _route_dump(self, family: int) -> list[memoryview]:
        payload = RTMSG.pack(family, 0, 0, 0, RT_TABLE_MAIN, 0, 0, 0, 0)
        try:
            return self.dump(RTM_GETROUTE, RTM_NEWROUTE, payload)
        except NetlinkError as error:
            if error.errno != errno.ENOENT:
                raise
            return []  # the table comes with its first route

    def delete_link(self, index: int) -> None:
        """Delete a link; raises NetlinkError."""
        self.change(RTM_DELLINK, IFINFOMSG.pack(0, 0, index, 0, 0))

    def move_link(self, index: int, netns: int, name: str) -> None:
        """Move a link to the netns of a descriptor, under a name; raises NetlinkError."""
        text = name.encode() + b"\0"
        attributes = NLATTR.pack(8, IFLA_NET_NS_FD) + U32.pack(netns)
        attributes += NLATTR.pack(NLATTR.size + len(text), IFLA_IFNAME) + text
        self.change(RTM_NEWLINK, IFINFOMSG.pack(0, 0, index, 0, 0) + attributes)

    def change(self, request: int, payload: bytes, flags: int = 0) -> None:
        """Send one request that changes something; raises NetlinkError where it is refused.

        `flags` are further ones, such as NLM_F_CREATE.
        """
        self._sequence += 1
        self._send(request, NLM_F_REQUEST | NLM_F_ACK | flags, payload)
        self._receive(request)

    def get(self, request: int, answer: int, payload: bytes) -> memoryview:
        """Ask for one object; raises NetlinkError where it is not there, ENODEV for a link."""
        self._sequence += 1
        self._send(request, NLM_F_REQUEST | NLM_F_ACK, payload)
        (body,), _ = self._receive(answer)
        return body

    def _send(self, request: int, flags: int, payload: bytes) -> None:
        length = NLMSGHDR.size + len(payload)
        self.socket.send(NLMSGHDR.pack(length, request, flags, self._sequence, 0) + payload)

    def dump(self, request: int, answer: int, payload: bytes) -> list[memoryview]:
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
