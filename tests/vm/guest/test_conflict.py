"""The kernel lets a NIC carry ipvlan links or macvlan links, never both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.vm.guest.node import links, on_rail, rail, ranges, what_stays

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.vm.guest.node import Network, Pod


@pytest.mark.parametrize(("first", "second"), [("ipvlan", "macvlan"), ("macvlan", "ipvlan")])
def test_second_kind_is_refused(
    first: str,
    second: str,
    pods: tuple[Pod, Pod],
    make_pod: Callable[[str], Pod],
    make_network: Callable[..., Network],
) -> None:
    keys = {"masterNets": [rail(0), rail(1)], "ipam": ranges(0, 1)}
    network = make_network(plugin={"type": first}, **keys)
    for pod in pods:
        network.add(pod)
    late = make_pod("late")
    before = everything(network, *pods)

    message = make_network(name="late", plugin={"type": second}, **keys).call("ADD", late).error()

    assert second in message
    assert "eth0" in message or "eth1" in message
    assert "busy" in message
    assert late.links() == {}
    assert everything(network, *pods) == before
    pods[0].ping("net1", on_rail(0, 101))
    pods[0].ping("net1-1", on_rail(1, 101))
    for pod in pods:
        network.check(pod)
        network.delete(pod)
    assert network.state() == set()


def everything(network: Network, *pods: Pod) -> tuple[object, ...]:
    """Return what a failed ADD must leave alone."""
    inside = [what_stays(pod.links()) for pod in pods]
    return what_stays(links()), inside, network.state()
