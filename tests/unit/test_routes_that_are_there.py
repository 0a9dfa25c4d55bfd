"""Routes that a pod has already: refused before a record says that they are ours."""

from __future__ import annotations

from typing import Any

import pytest

from multinic_cni.errors import ROUTING_FAILED, CniError
from tests.unit.routes import CLUSTER, MAIN, planned, pod, route

TO_SUPERNET: dict[str, Any] = {"crossRail": {"supernet": "10.0.0.0/8", "via": "rail1"}}
UNREACHABLE: dict[str, Any] = {"crossRail": {"supernet": "10.0.0.0/8", "via": "none"}}
TABLE_OF_OTHERS = 100


@pytest.mark.parametrize("routing", [TO_SUPERNET, UNREACHABLE])
def test_route_that_is_there(routing: dict[str, Any]) -> None:
    with pytest.raises(CniError) as raised:
        planned(routing, now=pod(route("10.0.0.0/8", "169.254.1.1")))
    error = raised.value
    message = "NIC rail1: the pod has a route to 10.0.0.0/8 already"
    assert (ROUTING_FAILED, message) == (error.code, error.message)


def test_other_routes_are_no_matter() -> None:
    others = pod(
        route("10.0.0.0/9", "169.254.1.1"),
        route("10.0.0.0/8", "169.254.1.1", table=TABLE_OF_OTHERS),
        route("10.0.0.0/8", "169.254.1.1", metric=5),
    )
    assert planned(TO_SUPERNET) == planned(TO_SUPERNET, now=others)


def test_metric_that_the_kernel_takes_for_ipv6() -> None:
    """None is 1024 there."""
    there = pod(route("fd00::/8", link=3, metric=1024))
    routing = {"routes": [{"dst": "fd00::/8", "nics": ["rail1"]}]}
    with pytest.raises(CniError, match="fd00::/8 already"):
        planned(routing, now=there)


def test_default_route_that_goes_makes_room() -> None:
    taken = planned({"defaultRoute": "rail1", "keepOnPrimary": []}, now=CLUSTER)
    assert "0.0.0.0/0 via 10.1.0.254 dev net1 (rail1)" in [
        step.replace(f" table {MAIN}", "") for step in taken
    ]
