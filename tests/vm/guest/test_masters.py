"""NICs that this node has besides hardware, and NICs under other names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.vm.guest.node import execute, ip, links, rail, ranges_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.vm.guest.node import Document, Network, Pod

# Networks of the dummies and of the bond; the hardware has others.
OTHER = ("10.21.0.0/24", "10.22.0.0/24")
IPVLAN = {"type": "ipvlan"}


@pytest.fixture
def altnames() -> Iterator[None]:
    ip("link", "property", "add", "dev", "eth2", "altname", "rail-two")
    ip("link", "property", "add", "dev", "eth3", "altname", "rail-three-of-the-first-switch")
    yield
    ip("link", "property", "del", "dev", "eth2", "altname", "rail-two")
    ip("link", "property", "del", "dev", "eth3", "altname", "rail-three-of-the-first-switch")


@pytest.mark.parametrize(
    "subnets",
    [
        {"rail-two": OTHER[0], "rail-three-of-the-first-switch": OTHER[1]},
        {"rail-*": OTHER[0]},
    ],
)
@pytest.mark.usefixtures("altnames")
def test_altnames(
    subnets: dict[str, str], pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    network = make_network(plugin=IPVLAN, masters=list(subnets), ipam=ranges_by(subnets))
    for pod in pods:
        network.add(pod)
    inside, node = pods[0].links(), links()
    assert {name: link["link_index"] for name, link in inside.items()} == {
        "net1": node["eth2"]["ifindex"],
        "net1-1": node["eth3"]["ifindex"],
    }
    pods[0].ping("net1", pods[1].addresses()["net1"][0].removesuffix("/24"))
    for pod in pods:
        network.check(pod)
        network.delete(pod)
    assert network.state() == set()


@pytest.fixture
def dummies() -> Iterator[None]:
    execute("modprobe", "dummy", "numdummies=0")
    names = ["quiet0", "quiet1"]
    for name, network in zip(names, OTHER, strict=True):
        ip("link", "add", name, "type", "dummy")
        ip("address", "add", network.replace(".0/", ".1/"), "dev", name)
        ip("link", "set", name, "up")
    yield
    for name in names:
        ip("link", "delete", name)


@pytest.mark.parametrize(
    "keys",
    [
        {
            "masters": ["quiet0", "quiet1"],
            "ipam": ranges_by({"quiet0": OTHER[0], "quiet1": OTHER[1]}),
        },
        {"masterNets": list(OTHER), "ipam": ranges_by({OTHER[0]: OTHER[0], OTHER[1]: OTHER[1]})},
    ],
    ids=["masters", "masterNets"],
)
@pytest.mark.usefixtures("dummies")
def test_dummies(
    keys: Document, pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    """Two networks inside the node, for pods of this node only."""
    network = make_network(plugin=IPVLAN, **keys)
    for pod in pods:
        network.add(pod)
    assert pods[0].addresses() == {"net1": ["10.21.0.2/24"], "net1-1": ["10.22.0.2/24"]}
    pods[1].ping("net1", "10.21.0.2")
    pods[1].ping("net1-1", "10.22.0.2")
    for pod in pods:
        network.check(pod)
        network.delete(pod)
    assert network.state() == set()


@pytest.fixture
def bond() -> Iterator[str]:
    """eth6 and eth7 as one link with an address; the two themselves have none."""
    execute("modprobe", "bonding", "max_bonds=0")
    ip("link", "add", "bond", "type", "bond", "mode", "active-backup", "miimon", "100")
    for nic in ("eth6", "eth7"):
        ip("address", "flush", "dev", nic)
        ip("link", "set", nic, "down")
        ip("link", "set", nic, "master", "bond")
    ip("address", "add", "10.21.0.1/24", "dev", "bond")
    ip("link", "set", "bond", "up")
    yield "bond"
    ip("link", "delete", "bond")


@pytest.mark.parametrize(
    "keys",
    [
        {
            "masters": ["bond", "eth[67]"],
            "ipam": ranges_by({"bond": OTHER[0], "eth[67]": OTHER[1]}),
        },
        {
            "masterNets": [OTHER[0]],
            "masters": ["eth[67]"],
            "ipam": ranges_by({OTHER[0]: OTHER[0], "eth[67]": OTHER[1]}),
        },
    ],
    ids=["masters", "masterNets"],
)
def test_bond_instead_of_its_ports(
    keys: Document, bond: str, pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    network = make_network(plugin=IPVLAN, **keys)
    for pod in pods:
        network.add(pod)
        assert {name: link["link_index"] for name, link in pod.links().items()} == {
            "net1": links()[bond]["ifindex"]
        }
    pods[0].ping("net1", "10.21.0.3")
    for pod in pods:
        network.check(pod)
        network.delete(pod)
    assert network.state() == set()


@pytest.mark.usefixtures("bond")
def test_ports_alone_are_no_choice(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    network = make_network(
        plugin=IPVLAN, masters=["eth[67]"], ipam=ranges_by({"eth[67]": OTHER[0]})
    )
    message = network.call("ADD", pods[0]).error()
    for nic in ("eth0", "eth6", "eth7", "bond"):
        assert nic in message
    assert pods[0].links() == {}
    assert network.state() == set()


def test_port_is_not_taken_away(
    bond: str, make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    """Even where it is named exactly: the kernel would take it out of the bond, for good."""
    pod = make_pod("pod")
    network = make_network(
        plugin={"type": "host-device"}, masters=["eth6"], ipam=ranges_by({"eth6": rail(6)})
    )
    expected = f"NIC eth6: it is a port of bond {bond}, which would lose it"
    assert network.call("ADD", pod).error() == expected
    assert links()["eth6"]["master"] == bond
    assert pod.links() == {}
    assert network.state() == set()
