"""The real vrf plugin behind macvlan: a pod's interfaces join one VRF, which goes with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.vm.guest.node import execute, on_rail, rail, ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.vm.guest.node import Network, Pod

INNER = ("net1", "net1-1", "net1-2", "net1-3")


def test_four_nics_in_one_vrf(pods: tuple[Pod, Pod], make_network: Callable[..., Network]) -> None:
    network = make_network(
        plugin=[{"type": "macvlan"}, {"type": "vrf", "vrfname": "blue"}],
        masterNets=[rail(index) for index in range(4)],
        ipam=ranges(0, 1, 2, 3),
    )
    for pod in pods:
        network.add(pod)
        assert [pod.links()[inner]["master"] for inner in INNER] == ["blue"] * 4
        table = pod.links()["blue"]["linkinfo"]["info_data"]["table"]
        routes = json.loads(
            execute("ip", "-n", pod.name, "-j", "-4", "route", "show", "table", str(table))
        )
        assert {rail(index) for index in range(4)} <= {route["dst"] for route in routes}
    for index in range(4):
        # Bound to the VRF: its table alone knows these networks.
        pods[0].ping("blue", on_rail(index, 101))
    for pod in pods:
        # vrf has moved the routes that macvlan's CHECK looks for: its fault, see docs/chains.md.
        message = network.call("CHECK", pod, prevResult=network.results[pod.name]).error()
        assert message.startswith("4 errors: delegate macvlan on NIC eth0 (net1) CHECK failed")
        assert "delegate vrf" not in message
        network.delete(pod)
        assert pod.links() == {}
    assert network.state() == set()
