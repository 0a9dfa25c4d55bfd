"""Three nodes with two rails and a pod each, in ipvlan's modes: who reaches whom, by which wire.

The nodes are namespaces; the machine's own namespace has the wires, one bridge a rail. Host j has
10.k.0.j and fd99:k::j on rail k, and its pods 172.(15+k).j.0/24. With both families, fd00::/48 has
one bit for the rail and eight for the host.
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import struct
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import pytest

from tests.vm.guest.node import DELEGATES, EXECUTABLE, Pod, execute, ip, ip_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.vm.guest.node import Document

RAILS = {1: "net1", 2: "net1-1"}
HOSTS = (1, 2, 3)
ETH_P_ALL, ETH_P_IP, ETH_P_IPV6 = 3, 0x0800, 0x86DD
ECHOES = {(1, 8): "request", (1, 0): "reply", (58, 128): "request", (58, 129): "reply"}
BOTH = {
    "subnet": ["172.16.0.0/15", "fd00::/48"],
    "routing": {"nodeRoutes": True},
}


@dataclass(frozen=True)
class Host:
    """A node, its number, and its one pod."""

    number: int
    node: Pod
    pod: Pod
    folder: Path

    def conf(self, mode: str, **keys: object) -> Document:
        """Return the net conf; all nodes of this machine have one name, so each lists the others.

        Its own number follows from its NICs' addresses.
        """
        return {
            "cniVersion": "1.0.0",
            "name": "rails",
            "type": "multinic-cni",
            "plugin": {"type": "ipvlan", "mode": mode},
            "masterNets": [f"10.{rail}.0.0/24" for rail in RAILS],
            "subnet": "172.16.0.0/15",
            "ipam": {"type": "multi-nic-ipam", "interfaceBlock": 1, "hostBlock": 8},
            "hosts": {f"node-{other}": other for other in HOSTS if other != self.number},
            "dataDir": str(self.folder / "state"),
        } | keys

    def call(self, command: str, conf: Document) -> Document:
        environment = {
            "PATH": os.environ["PATH"],
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": self.pod.name,
            "CNI_NETNS": self.pod.netns,
            "CNI_IFNAME": "net1",
            "CNI_PATH": DELEGATES,
        }
        done = subprocess.run(
            [*self.inside, EXECUTABLE],
            env=environment,
            input=json.dumps(conf),
            check=False,
            text=True,
            capture_output=True,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        answer: Document = json.loads(done.stdout or "{}")
        return answer

    def routes(self, command: str, conf: Document) -> str:
        file = self.folder / "rails.conf"
        file.write_text(json.dumps(conf))
        return execute(*self.inside, EXECUTABLE, "routes", command, file)

    @property
    def inside(self) -> tuple[str, ...]:
        return ("nsenter", f"--net={self.node.netns}")

    def own_routes(self) -> set[str]:
        shown = (
            execute("ip", "-n", self.node.name, "-j", family, "route", "show", "table", "all")
            for family in ("-4", "-6")
        )
        return {
            f"{route['dst']} via {route['gateway']} dev {route['dev']}"
            for text in shown
            for route in json.loads(text)
            if route.get("protocol") == "113"
        }


def expected_routes(host: Host, mode: str) -> set[str]:
    others = [(rail, other) for rail in RAILS for other in HOSTS if other != host.number]
    routes = {
        f"172.{15 + rail}.{other}.0/24 via 10.{rail}.0.{other} dev rail{rail}"
        for rail, other in others
    }
    if mode == "l3s":
        routes |= {
            f"{block_of_ipv6(rail, other)}::/57 via fd99:{rail}::{other} dev rail{rail}"
            for rail, other in others
        }
    return routes if mode != "l2" else set()


def block_of_ipv6(rail: int, host: int) -> str:
    return f"fd00:0:0:{(rail - 1) * 0x8000 + host * 0x80:x}"


def of_pod(rail: int, host: Host, mode: str = "") -> list[str]:
    """Return what the first pod of a host has on a rail."""
    ipv6 = [f"{block_of_ipv6(rail, host.number)}::1"] if mode == "l3s" else []
    return [f"172.{15 + rail}.{host.number}.1", *ipv6]


@pytest.fixture
def hosts(make_pod: Callable[[str], Pod], tmp_path: Path) -> Iterator[list[Host]]:
    ip_batch(f"link add br{rail} type bridge\nlink set br{rail} up" for rail in RAILS)
    made = []
    for number in HOSTS:
        node, pod = make_pod(f"node-{number}"), make_pod(f"pod-{number}")
        ip_batch(
            f"link add port{rail}-{number} type veth peer name rail{rail} netns {node.name}\n"
            f"link set port{rail}-{number} master br{rail} up"
            for rail in RAILS
        )
        commands = "\n".join(
            f"address add 10.{rail}.0.{number}/24 dev rail{rail}\n"
            f"address add fd99:{rail}::{number}/64 dev rail{rail} nodad\n"
            f"link set rail{rail} up"
            for rail in RAILS
        )
        execute("ip", "-n", node.name, "-batch", "-", stdin=commands)
        folder = tmp_path / node.name
        folder.mkdir()
        host = Host(number, node, pod, folder)
        # The strictest node: what comes in must be on its way back.
        execute(*host.inside, "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=1")
        made.append(host)
    yield made
    for rail in RAILS:
        ip("link", "delete", f"br{rail}")
        for number in HOSTS:
            ip("link", "delete", f"port{rail}-{number}")


@pytest.fixture
def peers(node_file: Callable[..., None]) -> None:
    """List all nodes in the one file that the nodes of this machine share."""
    node_file(
        peers={
            f"node-{number}": {
                "hostIndex": number,
                "addresses": {
                    f"10.{rail}.0.0/24": [f"10.{rail}.0.{number}", f"fd99:{rail}::{number}"]
                    for rail in RAILS
                },
            }
            for number in HOSTS
        }
    )


@pytest.mark.parametrize("mode", ["l2", "l3"])
def test_pods_of_three_nodes(mode: str, hosts: list[Host]) -> None:
    """In l2 the pods are on the wires themselves; l3 goes by the nodes' routes."""
    confs = {host.number: host.conf(mode) for host in hosts}
    add_pods(hosts, confs)
    if mode == "l3":
        assert_no_way(hosts)
        for host in hosts:
            host.routes("apply", confs[host.number])
    assert_connected(hosts, mode)
    delete_pods(hosts, confs)


@pytest.mark.usefixtures("peers")
def test_both_families_by_routes_that_add_makes_sure_of(hosts: list[Host]) -> None:
    """In l3s, and with peers that the nodes' file lists."""
    confs = {host.number: host.conf("l3s", **BOTH) for host in hosts}
    add_pods(hosts, confs, "l3s")
    assert_connected(hosts, "l3s")
    delete_pods(hosts, confs)


def add_pods(hosts: list[Host], confs: dict[int, Document], mode: str = "") -> None:
    for host in hosts:
        result = host.call("ADD", confs[host.number])
        assert [each["address"].partition("/")[0] for each in result["ips"]] == [
            address for rail in RAILS for address in of_pod(rail, host, mode)
        ]


def assert_connected(hosts: list[Host], mode: str) -> None:
    """Assert that each pod reaches each other one on each rail, and that all stays on the rail."""
    for host in hosts:
        assert host.own_routes() == expected_routes(host, mode)
    ways = [
        (rail, *pair)
        for one, other in itertools.permutations(hosts, 2)
        for rail in RAILS
        for pair in zip(of_pod(rail, one, mode), of_pod(rail, other, mode), strict=True)
    ]
    pods = {
        address: host.pod
        for host in hosts
        for rail in RAILS
        for address in of_pod(rail, host, mode)
    }
    with Wires() as wires:
        for rail, source, destination in ways:
            pods[source].ping(RAILS[rail], destination)
        seen = wires.echoes()
    for rail, source, destination in ways:
        assert seen["request", source, destination] == {rail}
        assert seen["reply", destination, source] == {rail}


def delete_pods(hosts: list[Host], confs: dict[int, Document]) -> None:
    for host in hosts:
        host.call("DEL", confs[host.number])
        assert host.pod.links() == {}
        host.routes("remove", confs[host.number])
        assert host.own_routes() == set()


def assert_no_way(hosts: list[Host]) -> None:
    one, other, _ = hosts
    ping = ("ip", "netns", "exec", one.pod.name, "ping", "-q", "-c1", "-w2")
    for rail, interface in RAILS.items():
        command = (*ping, "-I", interface, *of_pod(rail, other))
        assert subprocess.run(command, check=False, capture_output=True).returncode == 1


class Wires:
    """Hears what goes through the bridges' ports."""

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setblocking(False)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def echoes(self) -> dict[tuple[str, str, str], set[int]]:
        """Return the rails on which each was heard: request or reply, from where, to where."""
        found: dict[tuple[str, str, str], set[int]] = {}
        while True:
            try:
                frame, (port, *_) = self._socket.recvfrom(2048)
            except BlockingIOError:
                return found
            echo = echo_in(frame) if port.startswith("port") else None
            if echo is not None:
                rail = int(port.removeprefix("port").partition("-")[0])
                found.setdefault(echo, set()).add(rail)


def echo_in(frame: bytes) -> tuple[str, str, str] | None:
    """Return the kind, source and destination of an echo's packet; None for any other."""
    (protocol,) = struct.unpack_from("!H", frame, 12)
    if protocol == ETH_P_IP:
        header, kind, family, addresses = 4 * (frame[14] & 15), frame[23], socket.AF_INET, (26, 30)
    elif protocol == ETH_P_IPV6:
        header, kind, family, addresses = 40, frame[20], socket.AF_INET6, (22, 38)
    else:
        return None
    word = ECHOES.get((kind, frame[14 + header]))
    length = addresses[1] - addresses[0]
    source, destination = (socket.inet_ntop(family, frame[at : at + length]) for at in addresses)
    return (word, source, destination) if word else None
