"""ipvlan in its three modes: two pods with four NICs each, which reach each other on every rail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.vm.guest.node import links, on_rail, rail, ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.vm.guest.node import Document, Network, Pod

RAILS = (0, 1, 2, 3)
INNER = ("net1", "net1-1", "net1-2", "net1-3")


@pytest.mark.parametrize("mode", ["l2", "l3", "l3s"])
def test_two_pods(mode: str, pods: tuple[Pod, Pod], make_network: Callable[..., Network]) -> None:
    network = make_network(
        plugin={"type": "ipvlan", "mode": mode},
        masterNets=[rail(index) for index in RAILS],
        ipam=ranges(*RAILS),
    )
    for host, pod in enumerate(pods, start=100):
        assert network.add(pod) == expected_result(pod, host)
        assert_attached(pod, host, mode)
    for index, inner in zip(RAILS, INNER, strict=True):
        pods[0].ping(inner, on_rail(index, 101))
        pods[1].ping(inner, on_rail(index, 100))
    for pod in pods:
        network.check(pod)
    network.delete(pods[0])
    assert pods[0].links() == {}
    network.check(pods[1])
    network.delete(pods[1])
    assert pods[1].links() == {}
    assert network.state() == set()


def expected_result(pod: Pod, host: int) -> Document:
    """Every ipvlan has its master's MAC."""
    node = links()
    return {
        "cniVersion": "1.0.0",
        "interfaces": [
            {"name": inner, "mac": node[f"eth{index}"]["address"], "sandbox": pod.netns}
            for index, inner in zip(RAILS, INNER, strict=True)
        ],
        "ips": [
            {"address": f"{on_rail(index, host)}/24", "interface": position}
            for position, index in enumerate(RAILS)
        ],
    }


def assert_attached(pod: Pod, host: int, mode: str) -> None:
    assert pod.addresses() == {
        inner: [f"{on_rail(index, host)}/24"] for index, inner in zip(RAILS, INNER, strict=True)
    }
    node, inside = links(), pod.links()
    for index, inner in zip(RAILS, INNER, strict=True):
        assert inside[inner]["linkinfo"]["info_kind"] == "ipvlan"
        assert inside[inner]["linkinfo"]["info_data"]["mode"] == mode
        assert inside[inner]["link_index"] == node[f"eth{index}"]["ifindex"]
        assert "UP" in inside[inner]["flags"]
