"""A VLAN of each NIC below the delegates: made, shared by pods, and gone with the last of them."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import AF_INET6, SOCK_DGRAM, socket
from typing import TYPE_CHECKING, Any

import pytest

from tests.vm.guest.node import Pod, execute, ip, links, on_rail, rail, ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.vm.guest.node import Document, Network

ID = 100
VLANS = [f"eth0.{ID}", f"eth1.{ID}"]
MACVLAN = {"type": "macvlan", "mode": "bridge"}
KEYS: dict[str, Any] = {
    "masterNets": [rail(0), rail(1)],
    "ipam": ranges(0, 1),
    "vlan": {"id": ID},
}


@pytest.fixture
def peer(make_pod: Callable[[str], Pod]) -> Pod:
    """Somebody else's host in the same VLAN, reached through eth7; host 200 of both rails."""
    peer = make_pod("peer")
    ip("link", "add", "link", "eth7", "name", "tagged", "type", "vlan", "id", str(ID))
    ip("link", "set", "tagged", "netns", peer.name)
    for index in (0, 1):
        peer.ip(f"address add {on_rail(index, 200)}/24 dev tagged")
    peer.ip("link set tagged up")
    return peer


def vlans() -> dict[str, Document]:
    """Return the node's VLANs by name."""
    kinds = {name: link.get("linkinfo", {}).get("info_kind") for name, link in links().items()}
    return {name: link for name, link in links().items() if kinds[name] == "vlan"}


def notes(network: Network) -> set[str]:
    root = Path(network.conf["dataDir"]) / "vlans"
    return {str(each.relative_to(root)) for each in root.rglob("*") if each.is_file()}


def neighbour(pod: Pod, address: str) -> str:
    return execute("ip", "-n", pod.name, "neighbour", "show", "to", address)


def setting(vlan: str, family: str, key: str) -> str:
    return Path(f"/proc/sys/net/{family}/conf/{vlan}/{key}").read_text().strip()


@pytest.mark.parametrize(
    "plugin",
    [
        MACVLAN,
        {"type": "ipvlan"},
        {"type": "ipvlan", "mode": "l3"},
        {"type": "ipvlan", "mode": "l3s"},
    ],
    ids=lambda plugin: "-".join(map(str, plugin.values())),
)
def test_two_pods_of_a_tenant(
    plugin: Document, pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    network = make_network(plugin=plugin, **KEYS)
    for pod in pods:
        network.add(pod)

    made, node = vlans(), links()
    assert list(made) == VLANS
    for index, vlan in enumerate(VLANS):
        link = made[vlan]
        assert link["linkinfo"]["info_data"]["id"] == ID
        assert link["link"] == f"eth{index}"
        assert "UP" in link["flags"]
        assert link["mtu"] == node[f"eth{index}"]["mtu"]
        for pod in pods:
            inner = pod.links()["net1" if index == 0 else "net1-1"]
            assert inner["link_index"] == link["ifindex"]
    for index, interface in enumerate(("net1", "net1-1")):
        pods[0].ping(interface, on_rail(index, 101))
    for pod in pods:
        network.check(pod)

    network.delete(pods[0])
    assert list(vlans()) == VLANS
    network.check(pods[1])
    network.delete(pods[1])
    assert vlans() == {}
    assert network.state() == set()


def test_tagged_on_the_wire(
    peer: Pod, make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    """A host in the VLAN is reached, and reaches the pod."""
    pod, network = make_pod("pod"), make_network(plugin=MACVLAN, **KEYS)
    network.add(pod)
    for index, inner in enumerate(("net1", "net1-1")):
        pod.ping(inner, on_rail(index, 200))
        peer.ping("tagged", on_rail(index, 100))
    network.delete(pod)


def test_the_vlan_is_no_way_into_the_node(
    peer: Pod, make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    """The node has 10.1.0.1 on eth0: nobody in the VLAN may find it there, nor pass through it."""
    pod, network = make_pod("pod"), make_network(plugin=MACVLAN, **KEYS)
    network.add(pod)
    assert execute("ip", "-6", "address", "show", "dev", VLANS[0]) == ""
    assert setting(VLANS[0], "ipv6", "accept_ra") == "0"
    assert setting(VLANS[0], "ipv4", "forwarding") == "0"
    assert setting(VLANS[0], "ipv4", "rp_filter") == "1"
    peer.ping("tagged", on_rail(0, 100))
    with pytest.raises(AssertionError, match="status 1"):
        execute("ip", "netns", "exec", peer.name, "ping", "-c3", "-W1", on_rail(0, 1))
    assert "lladdr" in neighbour(peer, on_rail(0, 100))
    assert "lladdr" not in neighbour(peer, on_rail(0, 1))
    network.delete(pod)


def node_hears(peer: Pod) -> bool:
    """Tell whether what a peer sends to the node's fd77::1 arrives."""
    said = "import socket as s; s.socket(s.AF_INET6, s.SOCK_DGRAM).sendto(b'', ('fd77::1', 999))"
    with socket(AF_INET6, SOCK_DGRAM) as ear:
        ear.bind(("fd77::1", 999))
        ear.settimeout(5)
        execute("ip", "netns", "exec", peer.name, sys.executable, "-c", said)
        try:
            ear.recv(1)
        except TimeoutError:
            return False
    return True


@pytest.mark.parametrize("plugin", [MACVLAN, {"type": "ipvlan"}], ids=["macvlan", "ipvlan"])
def test_ipv6_reaches_pods_and_not_the_node(
    plugin: Document,
    peer: Pod,
    make_pod: Callable[[str], Pod],
    make_network: Callable[..., Network],
) -> None:
    """The node takes IPv6 packets for any of its addresses by any link, if that has none itself."""
    pod, network = make_pod("pod"), make_network(plugin=plugin, **KEYS)
    network.add(pod)
    mac = links()[VLANS[0]]["address"]
    pod.ip("address add fd88::2/64 dev net1 nodad")
    peer.ip("address add fd88::200/64 dev tagged nodad")
    peer.ip(f"neighbour replace fd88::1 lladdr {mac} dev tagged nud permanent")
    peer.ip("route add fd77::1 via fd88::1 dev tagged")
    pod.ping("net1", "fd88::200")
    ip("address", "add", "fd77::1/128", "dev", "lo")

    assert not node_hears(peer)
    Path(f"/proc/sys/net/ipv6/conf/{VLANS[0]}/disable_ipv6").write_text("0")
    assert node_hears(peer)  # so it was this that closed it

    ip("address", "delete", "fd77::1/128", "dev", "lo")
    network.delete(pod)


def test_one_networks_vlan_and_anothers_nic(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    """Macvlan on the NIC itself and ipvlan on its VLAN do not clash; two modes on the VLAN do."""
    plain = make_network(name="plain", plugin=MACVLAN, **{**KEYS, "vlan": None})
    tenant = make_network(name="tenant", plugin={"type": "ipvlan"}, **KEYS)
    routed = make_network(name="routed", plugin={"type": "ipvlan", "mode": "l3"}, **KEYS)
    plain.conf.pop("vlan")
    plain.add(pods[0])
    tenant.add(pods[1])

    message = routed.call("ADD", pods[0]).error()

    assert "routed wants ipvlan l3, but pod pod-b of network tenant has ipvlan l2" in message
    taking = make_network(name="taking", plugin={"type": "host-device"}, masters=["eth0"])
    message = taking.call("ADD", pods[0]).error()
    assert f"{VLANS[0]} on it is vlan: they would lose the NIC" in message
    plain.delete(pods[0])
    tenant.delete(pods[1])
    assert vlans() == {}


def test_vlans_of_pods_are_no_candidates(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    """Else the second pod would get a VLAN on the first one's."""
    network = make_network(
        plugin=MACVLAN, masters=["eth[01]*"], vlan={"id": ID}, interfaceNames="spec"
    )
    for pod in pods:
        assert len(network.add(pod)["interfaces"]) == 2
    assert list(vlans()) == VLANS
    for pod in pods:
        network.delete(pod)
    rails = make_network(plugin=MACVLAN, rails=[["eth0*"]], vlan={"id": ID})
    for pod in pods:
        rails.add(pod)
    assert list(vlans()) == VLANS[:1]
    for pod in pods:
        rails.delete(pod)


def test_port_of_a_bridge_carries_a_vlan(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    ip("link", "add", "br0", "type", "bridge")
    ip("link", "set", "eth0", "master", "br0")
    network = make_network(plugin=MACVLAN, masters=["eth0"], vlan={"id": ID})
    network.add(pods[0])
    network.delete(pods[0])
    ip("link", "delete", "br0")


def test_probe_asks_in_the_vlan(
    peer: Pod, make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    peer.ip(f"address add {on_rail(0, 100)}/24 dev tagged")
    pod = make_pod("pod")
    network = make_network(plugin=MACVLAN, **{**KEYS, "ipam": {**KEYS["ipam"], "probe": "next"}})
    network.add(pod)
    assert pod.addresses()["net1"] == [f"{on_rail(0, 101)}/24"]
    network.delete(pod)


def test_check_finds_a_lost_vlan(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    network = make_network(plugin=MACVLAN, **KEYS)
    result = network.add(pods[0])
    ip("link", "set", VLANS[1], "down")
    ip("link", "delete", VLANS[0])

    message = network.call("CHECK", pods[0], prevResult=result).error()

    assert f"VLAN {VLANS[0]} of NIC eth0 is not on the node" in message
    assert f"VLAN {VLANS[1]} of NIC eth1 is down" in message
    network.delete(pods[0])
    assert vlans() == {}
    assert network.state() == set()


def test_failed_add_takes_its_vlans_along(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    """But not those of another pod."""
    network = make_network(plugin=MACVLAN, **KEYS)
    broken = make_network(
        name="broken", plugin=[MACVLAN, {"type": "tuning", "sysctl": {"net.no": "1"}}], **KEYS
    )
    assert "tuning" in broken.call("ADD", pods[1]).error()
    assert vlans() == {}
    network.add(pods[0])
    broken.call("ADD", pods[1]).error()
    assert list(vlans()) == VLANS
    network.check(pods[0])
    network.delete(pods[0])
    assert network.state() == set()


def test_many_pods_at_once(
    make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    """Comings and goings side by side: nobody loses the VLAN below, and nothing is left."""
    network = make_network(plugin=MACVLAN, masters=["eth0", "eth1"], vlan={"id": ID})
    crowd = [make_pod(f"crowd{number}") for number in range(16)]

    def live_twice(pod: Pod) -> None:
        for _ in range(2):
            network.add(pod)
            assert set(pod.links()) == {"net1", "net1-1"}
            network.check(pod)
            network.delete(pod)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(live_twice, crowd))

    assert vlans() == {}
    assert network.state() == set()
    assert notes(network) == set()
