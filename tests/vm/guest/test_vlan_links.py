"""Links that are there before a VLAN is made below a delegate, and those that are left behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.vm.guest.node import EXECUTABLE, execute, ip, links, rail, ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.vm.guest.node import Document, Network, Pod

ID = 100
VLANS = [f"eth0.{ID}", f"eth1.{ID}"]
MACVLAN = {"type": "macvlan", "mode": "bridge"}
KEYS: dict[str, Any] = {
    "plugin": MACVLAN,
    "masterNets": [rail(0), rail(1)],
    "ipam": ranges(0, 1),
    "vlan": {"id": ID},
}


def vlans() -> dict[str, Document]:
    """Return the node's VLANs by name."""
    kinds = {name: link.get("linkinfo", {}).get("info_kind") for name, link in links().items()}
    return {name: link for name, link in links().items() if kinds[name] == "vlan"}


def test_links_of_the_admin(pods: tuple[Pod, Pod], make_network: Callable[..., Network]) -> None:
    network = make_network(**KEYS)
    ip("link", "add", "link", "eth0", "name", VLANS[0], "type", "vlan", "id", str(ID))
    assert (
        f"link {VLANS[0]}, which is there already, is down" in network.call("ADD", pods[0]).error()
    )
    assert list(vlans()) == VLANS[:1]
    ip("link", "set", VLANS[0], "up")

    network.add(pods[0])
    network.delete(pods[0])

    assert list(vlans()) == VLANS[:1]
    ip("link", "delete", VLANS[0])
    assert network.state() == set()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            f"link add link eth2 name {VLANS[0]} type vlan id {ID}",
            f"link {VLANS[0]} is VLAN {ID} on eth2, not VLAN {ID} on eth0",
        ),
        (
            f"link add link eth0 name {VLANS[0]} type vlan id 7",
            f"link {VLANS[0]} is VLAN 7 on eth0, not VLAN {ID} on eth0",
        ),
        (
            f"link add link eth0 name {VLANS[0]} type vlan id {ID} protocol 802.1ad",
            f"link {VLANS[0]} is VLAN of another tag on eth0, not VLAN {ID} on eth0",
        ),
        (
            f"link add name {VLANS[0]} type bridge",
            f"link {VLANS[0]} is no VLAN but a bridge, not VLAN {ID} on eth0",
        ),
        (
            f"link add link eth0 name mine type vlan id {ID}",
            f"it has VLAN {ID} already, as link mine",
        ),
    ],
)
def test_link_that_is_another(
    command: str, message: str, pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    network = make_network(**KEYS)
    ip(*command.split())
    before = set(links())

    assert message in network.call("ADD", pods[0]).error()

    assert before == set(links())
    assert network.state() == set()
    ip("link", "delete", command.split()[command.split().index("name") + 1])


def test_vlan_of_another_data_directory(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network], tmp_path: Path
) -> None:
    """Its users are not counted there: the last of one would take the other's link along."""
    network = make_network(**KEYS)
    other = make_network(**{**KEYS, "dataDir": str(tmp_path / "other")})
    network.add(pods[0])

    assert "was made for networks with another dataDir" in other.call("ADD", pods[1]).error()

    assert list(vlans()) == VLANS
    network.check(pods[0])
    network.delete(pods[0])


def test_long_names(pods: tuple[Pod, Pod], make_network: Callable[..., Network]) -> None:
    ip("link", "set", "eth2", "down")
    ip("link", "set", "eth2", "name", "enp11s0f0np0")
    ip("link", "set", "enp11s0f0np0", "up")
    network = make_network(plugin=MACVLAN, masters=["enp11s0f0np0"], vlan={"id": ID})
    for pod in pods:
        network.add(pod)
    (made,) = vlans()
    assert len(made) <= 15
    for pod in pods:
        network.delete(pod)
    assert vlans() == {}
    ip("link", "set", "enp11s0f0np0", "down")
    ip("link", "set", "enp11s0f0np0", "name", "eth2")


def test_stale_users_do_not_keep_a_vlan(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    network = make_network(**KEYS)
    network.add(pods[0])
    stale = Path(network.conf["dataDir"], "vlans", VLANS[0], "rails")
    (stale / "who-went:net1").touch()
    network.delete(pods[0])
    assert vlans() == {}
    assert network.state() == set()


def test_gc_sweeps(pods: tuple[Pod, Pod], make_network: Callable[..., Network]) -> None:
    """Of a link without users, renamed even, and of one in use that somebody has renamed."""
    network = make_network(**KEYS)
    network.add(pods[0])
    group = links()[VLANS[0]]["group"]
    ip("link", "set", VLANS[0], "down")
    ip("link", "set", VLANS[0], "name", "renamed")
    ip(*f"link add link eth2 name lost group {group} type vlan id 9".split())

    swept = execute(EXECUTABLE, "gc", "--data-dir", network.conf["dataDir"])

    assert swept.splitlines() == ["VLAN lost: deleted"]
    assert set(vlans()) == {"renamed", VLANS[1]}
    ip("link", "set", "renamed", "name", VLANS[0])
    ip("link", "set", VLANS[0], "up")
    network.check(pods[0])
    network.delete(pods[0])
    assert vlans() == {}
