"""The vlan delegate: tagged links on two NICs, one segment with a peer that the kernel made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.vm.guest.node import ip, links, on_rail, rail, ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.vm.guest.node import Network, Pod

VLAN_ID = 100


@pytest.fixture
def peer(make_pod: Callable[[str], Pod]) -> Pod:
    """Somebody else's host in the same VLAN, reached through eth7; host 200 of both rails."""
    peer = make_pod("peer")
    ip("link", "add", "link", "eth7", "name", "tagged", "type", "vlan", "id", str(VLAN_ID))
    ip("link", "set", "tagged", "netns", peer.name)
    for index in (0, 1):
        ip("-n", peer.name, "address", "add", f"{on_rail(index, 200)}/24", "dev", "tagged")
    ip("-n", peer.name, "link", "set", "tagged", "up")
    return peer


@pytest.mark.usefixtures("peer")
def test_tagged_links(make_pod: Callable[[str], Pod], make_network: Callable[..., Network]) -> None:
    pod = make_pod("pod")
    network = make_network(
        plugin={"type": "vlan", "vlanId": VLAN_ID},
        masterNets=[rail(0), rail(1)],
        ipam=ranges(0, 1),
    )
    result = network.add(pod)
    inside, node = pod.links(), links()
    assert set(inside) == {"net1", "net1-1"}
    for index, inner in enumerate(("net1", "net1-1")):
        assert inside[inner]["linkinfo"]["info_kind"] == "vlan"
        assert inside[inner]["linkinfo"]["info_data"]["id"] == VLAN_ID
        assert inside[inner]["link_index"] == node[f"eth{index}"]["ifindex"]
        pod.ping(inner, on_rail(index, 200))
    assert result == {
        "cniVersion": "1.0.0",
        "interfaces": [
            {"name": inner, "mac": inside[inner]["address"], "sandbox": pod.netns}
            for inner in ("net1", "net1-1")
        ],
        "ips": [{"address": f"{on_rail(index, 100)}/24", "interface": index} for index in (0, 1)],
    }
    network.check(pod)
    network.delete(pod)
    assert pod.links() == {}
    assert network.state() == set()
