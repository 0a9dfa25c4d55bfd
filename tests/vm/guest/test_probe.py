"""The conflict probe on NICs of every kind, with another node on the same wire."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.packets import rival_arp_probe
from tests.vm.guest.node import execute, ip, on_rail, rail, ranges, ranges_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.vm.guest.node import Document, Network, Pod

ETH_P_ARP = 0x0806
FRAMES, PROBE_SECONDS = 3, 0.24  # of a probe that nobody answers
MOST_ROUNDS = 8
VLAN_NET = "10.21.0.0/24"
SAY_AGAIN_AND_AGAIN = """
import socket, sys, time
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
    wire.bind((sys.argv[1], 0))
    print(flush=True)
    while True:
        wire.send(bytes.fromhex(sys.argv[2]))
        time.sleep(0.02)
"""


@pytest.fixture
def other_node(make_pod: Callable[[str], Pod]) -> Iterator[Pod]:
    """Make a node whose one NIC is eth7, on the same wire as all of ours."""
    other = make_pod("other-node")
    ip("link", "set", "eth7", "netns", other.name)
    other.ip("link set eth7 up")
    yield other
    other.ip("link set eth7 netns 1")  # that of the process


def addresses_in(result: Document) -> list[str]:
    return [each["address"] for each in result["ips"]]


def test_address_of_an_ipvlan_pod_on_another_node(
    other_node: Pod, pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    """It has its node's MAC, as every other pod there has."""
    theirs, ours = pods
    other_node.ip("link add link eth7 name net1 type ipvlan mode l2")
    other_node.ip(f"link set net1 netns {theirs.name}")
    theirs.ip(f"address add {on_rail(0, 100)}/24 dev net1")
    theirs.ip("link set net1 up")
    network = make_network(
        plugin={"type": "ipvlan", "mode": "l2"},
        masterNets=[rail(0)],
        ipam=ranges(0) | {"probe": "next"},
    )

    assert addresses_in(network.add(ours)) == [f"{on_rail(0, 101)}/24"]

    ours.ping("net1", on_rail(0, 100))
    network.delete(ours)
    assert network.state() == set()


@contextmanager
def listening() -> Iterator[socket.socket]:
    """Hear the ARP of the wire at eth7."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ARP)) as wire:
        wire.bind(("eth7", ETH_P_ARP))
        wire.setblocking(False)
        yield wire


def probes_for(address: str, wire: socket.socket) -> int:
    """Count the questions for an address that were asked in the name of nobody (RFC 5227)."""
    frames = []
    while True:
        try:
            frames.append(wire.recv(2048))
        except BlockingIOError:
            break
    nobody, wanted = bytes(4), socket.inet_aton(address)
    return sum((frame[28:32], frame[38:42]) == (nobody, wanted) for frame in frames)


@pytest.mark.parametrize(("mode", "count"), [("l2", FRAMES), ("l3", 0), ("l3s", 0)])
def test_frames_that_a_probe_sends(
    mode: str, count: int, make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    pod = make_pod("pod")
    network = make_network(
        plugin={"type": "ipvlan", "mode": mode},
        masterNets=[rail(0)],
        ipam=ranges(0) | {"probe": "next"},
    )
    with listening() as wire:
        network.add(pod)
        assert probes_for(on_rail(0, 100), wire) == count
    network.delete(pod)


@pytest.mark.parametrize("mode", ["l3", "l3s"])
def test_routed_pod_does_not_wait_for_a_probe(
    mode: str, make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    """The quickest of some ADDs with a probe and without."""
    pod = make_pod("pod")
    seconds: dict[str, list[float]] = {"next": [], "off": []}

    def difference() -> float:
        return min(seconds["next"]) - min(seconds["off"])

    for _ in range(MOST_ROUNDS):
        for policy, measured in seconds.items():
            network = make_network(
                plugin={"type": "ipvlan", "mode": mode},
                masterNets=[rail(0)],
                ipam=ranges(0) | {"probe": policy},
            )
            began = time.monotonic()
            network.add(pod)
            measured.append(time.monotonic() - began)
            network.delete(pod)
        if len(seconds["off"]) > 1 and difference() < PROBE_SECONDS / 2:
            break
    assert difference() < PROBE_SECONDS / 2, seconds


@contextmanager
def saying(host: Pod, link: str, frame: bytes) -> Iterator[None]:
    """Let a host send a frame fifty times a second."""
    command = ["ip", "netns", "exec", host.name, sys.executable, "-c", SAY_AGAIN_AND_AGAIN]
    with subprocess.Popen([*command, link, frame.hex()], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def vlan_nic() -> Iterator[str]:
    ip("link", "add", "link", "eth0", "name", "eth0.100", "type", "vlan", "id", "100")
    ip("link", "set", "eth0.100", "up")
    yield "eth0.100"
    ip("link", "delete", "eth0.100")


@pytest.mark.parametrize(
    ("master", "rival", "given"),
    [
        pytest.param("eth0.100", "eth7.100", "10.21.0.2/24", id="same VLAN"),
        pytest.param("eth0.100", "eth7.200", "10.21.0.1/24", id="another VLAN"),
        pytest.param("eth0.100", "eth7", "10.21.0.1/24", id="none, our NIC is a VLAN's"),
        pytest.param("eth0", "eth7.100", "10.21.0.1/24", id="a VLAN, our NIC is of none"),
        pytest.param("eth0", "eth7", "10.21.0.2/24", id="none"),
    ],
)
@pytest.mark.usefixtures("vlan_nic")
def test_rival_in_a_vlan(
    *,
    master: str,
    rival: str,
    given: str,
    other_node: Pod,
    make_pod: Callable[[str], Pod],
    make_network: Callable[..., Network],
) -> None:
    """It has the address, and says so all the time: each network hears only its own."""
    pod = make_pod("pod")
    if "." in rival:
        vlan_id = rival.removeprefix("eth7.")
        other_node.ip(f"link add link eth7 name {rival} type vlan id {vlan_id}")
        other_node.ip(f"link set {rival} up")
    other_node.ip(f"address add 10.21.0.1/24 dev {rival}")
    # Else a host answers on each link for the addresses of all.
    answering = "net.ipv4.conf.all.arp_ignore=1"
    execute("ip", "netns", "exec", other_node.name, "sysctl", "-qw", answering)
    mac = other_node.links()[rival]["address"]
    network = make_network(
        plugin={"type": "macvlan", "mode": "bridge"},
        masters=[master],
        ipam=ranges_by({master: VLAN_NET}) | {"probe": "next"},
    )

    with saying(other_node, rival, rival_arp_probe(mac, "10.21.0.1")):
        result = network.add(pod)

    assert addresses_in(result) == [given]
    network.delete(pod)
    assert network.state() == set()
