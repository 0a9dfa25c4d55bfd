"""What tests of traffic share: fabrics of several nodes, and what is seen on each rail.

A pod on node j has on rail k, by `flat`, 192.168.0.0 + (k-1) * 64.0 + j.1 and the like in
fd01::/48, where rail k of all nodes is one link; by `leaves`, 172.(19+k).j.1 in a network that no
other node is on, behind its gateway, host 254. The wire is the router.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from tests.pytest_netns import Node, rail_net, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.pytest_netns import Attachment, Namespace, Namespaces, Runtime

RAILS = (1, 2, 3, 4)
ALL_LEAVES = ["172.16.0.0/12", "fd02::/16"]
GATEWAY = 254
READY = "ready\n"
ETHERNET, IPV4_HEADER, IPV6_HEADER = 14, 20, 40
ICMP, ICMPV6, ARP_REQUEST, ARP_REPLY = 1, 58, 1, 2
ECHO = {8: "request", 0: "reply"}
ECHO_OF_IPV6 = {128: "request", 129: "reply"}

# Prints what comes in by the ports, until its stdin is closed and nothing more is waiting.
WATCH = """
import select, socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    print("ready", flush=True)
    while wire in (ready := select.select([wire, sys.stdin], [], [])[0]):
        frame, (port, _, kind, *_) = wire.recvfrom(200)
        if port.startswith("port") and kind != socket.PACKET_OUTGOING:
            print(port, frame.hex(), flush=True)
"""


@dataclass(frozen=True)
class Frame:
    """A frame that a node's NIC sent to its rail."""

    rail: int
    host: int
    octets: bytes

    @property
    def sender(self) -> str:
        return self.octets[6:12].hex(":")

    def echo(self) -> tuple[str, str, str] | None:
        """Return (request or reply, source, destination) of a ping, else None."""
        kind, packet = self.octets[12:14], self.octets[ETHERNET:]
        if kind == b"\x08\x00" and packet[9] == ICMP and packet[IPV4_HEADER] in ECHO:
            source, destination = packet[12:16], packet[16:20]
            what = ECHO[packet[IPV4_HEADER]]
        elif kind == b"\x86\xdd" and packet[6] == ICMPV6 and packet[IPV6_HEADER] in ECHO_OF_IPV6:
            source, destination = packet[8:24], packet[24:40]
            what = ECHO_OF_IPV6[packet[IPV6_HEADER]]
        else:
            return None
        return what, str(ip_address(source)), str(ip_address(destination))

    def arp(self) -> tuple[int, str, str] | None:
        """Return (operation, the sender's MAC, his address) of an ARP frame, else None."""
        if self.octets[12:14] != b"\x08\x06":
            return None
        said = self.octets[ETHERNET:]
        return int.from_bytes(said[6:8]), said[8:14].hex(":"), str(ip_address(said[14:18]))


@dataclass(frozen=True)
class Capture:
    """What has been seen so far; complete once the watching has ended."""

    file: Path

    def frames(self) -> list[Frame]:
        lines = self.file.read_text().splitlines(keepends=True)
        return [_frame(line) for line in lines if line.endswith("\n") and line != READY]

    def echoes(self) -> set[tuple[str, str, str, int, int]]:
        """Return (request or reply, source, destination, the sender's host, rail)."""
        return {(*echo, each.host, each.rail) for each in self.frames() if (echo := each.echo())}

    def arp(self, operation: int) -> set[tuple[str, str]]:
        """Return (MAC, address) of all who asked, or of all who answered."""
        said = [frame.arp() for frame in self.frames()]
        return {(each[1], each[2]) for each in said if each and each[0] == operation}


def _frame(line: str) -> Frame:
    port, octets = line.split()
    rail, _, host = port.removeprefix("port").partition("-")
    return Frame(int(rail), int(host), bytes.fromhex(octets))


@contextmanager
def watching(wire: Namespace, file: Path) -> Iterator[Capture]:
    """Keep each frame that nodes send meanwhile; what was answered has been seen at the end."""
    command = wire.command(sys.executable, "-c", WATCH)
    with (
        file.open("w") as kept,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=kept) as process,
    ):
        try:
            wait_until(lambda: file.read_text().startswith(READY), "somebody watches the wire")
            yield Capture(file)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(10) == 0
        finally:
            process.kill()


def flat(host: int) -> dict[str, Any]:
    """Return a node's conf where each rail is one link of all nodes."""
    return _rails(host) | {
        "subnet": ["192.168.0.0/16", "fd01::/48"],
        "ipam": {"type": "multi-nic-ipam", "interfaceBlock": 2, "hostBlock": 6},
    }


def flat_address(rail: int, host: int, family: str) -> str:
    block = 64 * (rail - 1) + host
    return f"192.168.{block}.1" if family == "IPv4" else f"fd01:0:0:{block:x}00::1"


def leaves(host: int) -> dict[str, Any]:
    """Return a node's conf where it has a network of its own on each rail, and a gateway there."""
    ranges = {
        rail_net(rail): [
            {"subnet": f"172.{19 + rail}.0.0/16", "perNodeNetworkPrefix": 24},
            {"subnet": f"fd02:{rail}::/48", "perNodeNetworkPrefix": 64},
        ]
        for rail in RAILS
    }
    return _rails(host) | {
        "ipam": {"type": "multi-nic-ipam", "gatewayIndex": GATEWAY, "ranges": ranges}
    }


def leaf_address(rail: int, host: int, family: str, at: int = 1) -> str:
    return f"172.{19 + rail}.{host}.{at}" if family == "IPv4" else f"fd02:{rail}:0:{host}::{at:x}"


def _rails(host: int) -> dict[str, Any]:
    masters = [rail_net(rail) for rail in RAILS]
    return {"masterNets": masters, "hosts": {os.uname().nodename: host}}


def one_rail_for_all(**routing: object) -> dict[str, Any]:
    """Return a block by which all leaves are behind the first rail's gateway."""
    return {"routing": {"crossRail": {"supernet": ALL_LEAVES, "via": "10.1.0.0/24"}} | routing}


def make_router(wire: Namespace, hosts: int) -> None:
    """Give the wire the gateways of the leaves of so many nodes; it forwards between all."""
    for setting in ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"):
        wire.execute("sysctl", "-qw", setting)
    for rail in RAILS:
        for host in range(1, hosts + 1):
            wire.ip(
                f"address add {leaf_address(rail, host, 'IPv4', GATEWAY)}/24 dev br{rail}",
                f"address add {leaf_address(rail, host, 'IPv6', GATEWAY)}/64 dev br{rail} nodad",
            )


def attach_pods(
    namespaces: Namespaces, runtime: Runtime, *confs: dict[str, Any]
) -> list[Attachment]:
    """Attach a pod on each of so many nodes, the runtime's own and others on its rails."""
    attachments = []
    for host, conf in enumerate(confs, start=1):
        node = (
            runtime.node if host == 1 else namespaces.make_node(wire_of(runtime), RAILS[-1], host)
        )
        there = runtime.but(node=node, data_dir=runtime.data_dir / f"node{host}")
        attachment = there.attachment(namespaces.make("pod"), there.conf(**conf))
        attachment.add()
        wait_until(partial(_is_settled, attachment.pod), "IPv6 has made sure of its addresses")
        attachments.append(attachment)
    return attachments


def _is_settled(pod: Namespace) -> bool:
    return not pod.show("-6", "address", "show", "tentative")


def wire_of(runtime: Runtime) -> Namespace:
    node = runtime.node
    assert isinstance(node, Node)
    return node.wire
