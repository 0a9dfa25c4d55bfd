"""A network for multinic_cni.wires: packet sockets, and hosts that answer what is asked."""

from __future__ import annotations

import ctypes
import os
import struct
import time
from socket import (
    AF_PACKET,
    AF_UNIX,
    SOCK_CLOEXEC,
    SOCK_NONBLOCK,
    SOCK_RAW,
    SOCK_SEQPACKET,
    socketpair,
)
from typing import TYPE_CHECKING

from multinic_cni import probing, wires
from multinic_cni.frames import FILTER
from multinic_cni.probing import Conflict, Target
from tests.packets import HIS, OURS, advertisement, arp_reply, number, octets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    import pytest

    Host: TypeAlias = Callable[[str, bytes], Sequence[bytes]]

INTERVAL = 0.02
SOL_SOCKET, SO_ATTACH_FILTER = 1, 26
EVERY_FRAME = 0x0003
ETHERNET, INFINIBAND, LOOPBACK = 1, 32, 772


def target(nic: str, address: str) -> Target:
    return Target(nic=nic, version=6 if ":" in address else 4, number=number(address))


def conflict(nic: str, address: str, mac: str = HIS) -> Conflict:
    return Conflict(target=target(nic, address), mac=mac)


FIRST, SECOND = target("rail1", "10.1.0.100"), target("rail2", "10.2.0.100")


def asked_address(frame: bytes) -> str:
    """Return what a question asks for, in hexadecimal digits."""
    return frame[38:42].hex() if frame[12:14] == octets("0806") else frame[62:78].hex()


def silence(_nic: str, _frame: bytes) -> Sequence[bytes]:
    return ()


def owner(*addresses: str, mac: str = HIS) -> Host:
    """Return a host that answers for its addresses on every NIC."""
    answers = {
        f"{number(each):0{32 if ':' in each else 8}x}": (
            advertisement(mac, each) if ":" in each else arp_reply(mac, each)
        )
        for each in addresses
    }

    def answer(_nic: str, frame: bytes) -> Sequence[bytes]:
        asked = asked_address(frame)
        return [answers[asked]] if asked in answers else []

    return answer


def speaker(*frames: bytes) -> Host:
    """Return a host that says the same to every question."""
    return lambda _nic, _frame: frames


class Network:
    """Stands in for packet sockets: each question gets the host's answers at once.

    What arrives goes through a real socket, so that poll() works on it.
    """

    def __init__(self, host: Host = silence) -> None:
        self.host = host
        self.hardware = {"lo": LOOPBACK}
        self.macs: dict[str, bytes] = {}
        self.refusals: dict[str, int] = {}
        self.refused: list[str] = []
        self.sockets: list[PacketSocket] = []

    def socket(self, family: int, kind: int, protocol: int) -> PacketSocket:
        # Nothing is heard before the filter, and delegates do not inherit it.
        assert (AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) == (family, kind, protocol)
        self.refuse("socket")
        self.sockets.append(PacketSocket(self))
        return self.sockets[-1]

    def refuse(self, deed: str) -> None:
        if deed in self.refusals:
            self.refused.append(deed)
            raise OSError(self.refusals[deed], os.strerror(self.refusals[deed]))

    def sent(self, nic: str) -> list[bytes]:
        return [frame for each in self.sockets if each.nic == nic for frame in each.sent]


class PacketSocket:
    """One of them."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.nic = ""
        self.sent: list[bytes] = []
        self.sent_at: list[float] = []
        self.filter = b""
        self.options: dict[tuple[int, int], list[int | bytes]] = {}
        self._own, self.far = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK)

    def setsockopt(self, level: int, option: int, value: int | bytes) -> None:
        self.network.refuse(f"option {option}")
        self.options.setdefault((level, option), []).append(value)
        if (level, option) == (SOL_SOCKET, SO_ATTACH_FILTER):
            assert isinstance(value, bytes)
            length, pointer = struct.unpack("@HP", value)
            self.filter = ctypes.string_at(pointer, length * 8)

    def bind(self, address: tuple[str, int]) -> None:
        assert self.filter == FILTER, "a busy NIC floods a socket that is bound without a filter"
        self.nic, protocol = address
        assert protocol == EVERY_FRAME
        self.network.refuse(f"bind {self.nic}")

    def getsockname(self) -> tuple[str, int, int, int, bytes]:
        hardware = self.network.hardware.get(self.nic, ETHERNET)
        mac = self.network.macs.get(self.nic, octets(OURS.replace(":", "")))
        return self.nic, EVERY_FRAME, 0, hardware, mac

    def send(self, frame: bytes) -> int:
        self.network.refuse(f"send {self.nic}")
        self.sent.append(frame)
        self.sent_at.append(time.monotonic())
        for answer in self.network.host(self.nic, frame):
            self.far.send(answer)
        return len(frame)

    def recv(self, size: int) -> bytes:
        self.network.refuse(f"recv {self.nic}")
        return self._own.recv(size)

    def fileno(self) -> int:
        return self._own.fileno()

    def close(self) -> None:
        self._own.close()
        self.far.close()


def network_for(patch: pytest.MonkeyPatch, host: Host = silence) -> Network:
    """Let the probe run on a network, faster than on a real one."""
    network = Network(host)
    patch.setattr(wires, "socket", network.socket)
    patch.setattr(wires, "if_nametoindex", lambda nic: int(nic[-1]))
    patch.setattr(probing, "INTERVAL_SECONDS", INTERVAL)
    return network


def warnings(log: pytest.CaptureFixture[str]) -> list[str]:
    return log.readouterr().err.splitlines()
