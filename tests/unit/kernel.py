"""A kernel for multinic_cni.netlink: pyroute2 reads its requests and writes the answers."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.marshal import MarshalRtnl
from pyroute2.netlink.rtnl.rtmsg import rtmsg

from multinic_cni import netlink
from multinic_cni.netlink import Netlink

NLMSG_ERROR, NLMSG_DONE = 2, 3
NEW_LINK, NEW_ADDRESS, NEW_ROUTE = 16, 20, 24
DUMP_INTERRUPTED = 0x10

Attributes = list[tuple[str, Any]]


def message(kind: type[Any], number: int, attributes: Attributes, **fields: object) -> bytes:
    """Encode one message; the kernel answers with the request's sequence, so it is filled later."""
    encoded = kind()
    encoded["header"]["type"] = number
    for name, value in fields.items():
        encoded[name] = value
    encoded["attrs"] = attributes
    encoded.encode()
    return bytes(encoded.data)


def link(*attributes: tuple[str, Any], **fields: object) -> bytes:
    return message(ifinfmsg, NEW_LINK, list(attributes), **{"ifi_type": 1, **fields})


def address(*attributes: tuple[str, Any], **fields: object) -> bytes:
    return message(ifaddrmsg, NEW_ADDRESS, list(attributes), **fields)


def route(*attributes: tuple[str, Any], **fields: object) -> bytes:
    main: dict[str, object] = {"table": 254, "type": 1}
    return message(rtmsg, NEW_ROUTE, list(attributes), **{**main, **fields})


def done(flags: int = 0, *, error: int = 0) -> bytes:
    return raw(NLMSG_DONE, (-error).to_bytes(4, "little", signed=True), flags)


def error(number: int) -> bytes:
    return raw(NLMSG_ERROR, (-number).to_bytes(4, "little", signed=True) + bytes(16))


def raw(number: int, body: bytes, flags: int = 0) -> bytes:
    parts = [(16 + len(body), 4), (number, 2), (flags, 2), (0, 4), (0, 4)]
    return b"".join(value.to_bytes(size, "little") for value, size in parts) + body


class Kernel:
    """Stands in for the socket: each request gets the next answer, a list of packets."""

    def __init__(self, *answers: list[bytes]) -> None:
        self.requests: list[Any] = []
        self.closed = False
        self._answers = deque(answers)
        self._packets: deque[bytes] = deque()

    def __call__(self, family: int, kind: int, protocol: int) -> Kernel:
        assert (16, 3, 0) == (family, kind & 0xF, protocol)  # AF_NETLINK, SOCK_RAW, NETLINK_ROUTE
        return self

    def setsockopt(self, *_options: int) -> None:
        return

    def send(self, request: bytes) -> int:
        (parsed,) = MarshalRtnl().parse(request)
        self.requests.append(parsed)
        sequence = parsed["header"]["sequence_number"]
        self._packets.extend(_numbered(each, sequence) for each in self._answers.popleft())
        return len(request)

    def recv(self, _size: int) -> bytes:
        return self._packets.popleft()

    def close(self) -> None:
        self.closed = True


def _numbered(packet: bytes, sequence: int) -> bytes:
    """Put the request's sequence number into the messages of a packet that have none."""
    numbered, at = bytearray(packet), 0
    while at < len(numbered):
        if not any(numbered[at + 8 : at + 12]):
            numbered[at + 8 : at + 12] = sequence.to_bytes(4, "little")
        at += (int.from_bytes(numbered[at : at + 4], "little") + 3) & ~3
    return bytes(numbered)


def talk(*answers: list[bytes]) -> tuple[Netlink, Kernel]:
    """Return a netlink socket and the kernel that it talks to."""
    kernel = Kernel(*answers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(netlink, "socket", kernel)
        return Netlink(), kernel
