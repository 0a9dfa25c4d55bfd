from __future__ import annotations

import pytest

from multinic_cni.conf.routing import routing_in
from multinic_cni.errors import BAD_CONF, ROUTING_FAILED
from multinic_cni.log import log
from tests.unit.routes import CLUSTER, nic, planned, pod, refusal, route


def test_default_route() -> None:
    keep = ("10.96.0.0/12", "192.168.7.3/32")
    expected = [
        "169.254.1.1/32 dev eth0 scope 253 table 1999 (rail2)",
        "0.0.0.0/0 via 169.254.1.1 dev eth0 onlink table 1999 (rail2)",
        "rule 1002 v4 from 10.244.1.7/32 table 1999 (rail2)",
        "10.96.0.0/12 via 169.254.1.1 dev eth0 onlink table 254 (rail2)",
        "192.168.7.3/32 via 169.254.1.1 dev eth0 onlink table 254 (rail2)",
        "169.254.0.0/16 via 169.254.1.1 dev eth0 onlink table 254 (rail2)",
        "0.0.0.0/0 via 169.254.1.1 dev eth0 onlink goes table 254 (rail2)",
        "0.0.0.0/0 via 10.2.0.254 dev net1-1 table 254 (rail2)",
    ]
    assert expected == planned({"defaultRoute": "rail2"}, now=CLUSTER, keep=keep)


def test_default_route_of_a_pod_without_one_needs_no_word_of_what_is_kept() -> None:
    expected = ["0.0.0.0/0 via 10.1.0.254 dev net1 table 254 (rail1)"]
    assert expected == planned({"defaultRoute": "rail1"}, keep=None)


def test_default_route_must_say_what_is_kept() -> None:
    error = refusal({"defaultRoute": "rail1"}, now=CLUSTER, keep=None)
    message = (
        "routing.defaultRoute: keepOnPrimary must say which networks stay on the pod's primary"
        " interface, and neither the net conf nor node.json does"
    )
    assert (BAD_CONF, message) == (error.code, error.message)


def test_default_route_by_a_nic_without_gateway() -> None:
    error = refusal({"defaultRoute": "rail1"}, nic(0, "10.1.0.5/24"))
    message = "routing.defaultRoute: NIC rail1 (net1) has no gateway"
    assert (BAD_CONF, message) == (error.code, error.message)


def test_default_route_goes_family_by_family() -> None:
    six = nic(0, "fd01::5/64", gateways=("fd01::fe",))
    expected = ["::/0 via fd01::fe dev net1 table 254 (rail1)"]
    assert expected == planned({"defaultRoute": "rail1"}, six, now=CLUSTER)


def test_what_is_on_the_primary_link_anyway_needs_no_route() -> None:
    now = pod(
        route("10.244.1.0/24", scope=253, source=0),
        route("0.0.0.0/0", "10.244.1.1"),
        addresses=("10.244.1.7/24",),
    )
    keep = ("10.244.1.1/32", "10.244.1.0/24", "10.244.0.0/16")
    steps = planned({"defaultRoute": "rail1"}, now=now, keep=keep)
    kept = [step for step in steps if step.startswith("10.244") and "table 254" in step]
    assert ["10.244.0.0/16 via 10.244.1.1 dev eth0 table 254 (rail1)"] == kept


TWICE = [
    {"dst": "10.50.0.0/16", "gw": "10.1.0.9"},
    {"dst": "10.60.0.0/16", "gw": "10.1.0.9"},
    {"dst": "10.50.0.0/16", "gw": "10.2.0.9"},
]


def test_operators_multipath_form() -> None:
    expected = ["10.50.0.0/16 via 10.1.0.9 dev net1 + via 10.2.0.9 dev net1-1 table 254 (rail1)"]
    assert expected == planned({}, ipam={"type": "multi-nic-ipam", "routes": TWICE})


@pytest.mark.parametrize("kind", ["host-local", "static", "whereabouts"])
def test_routes_of_another_ipam_are_the_delegates_to_set(kind: str) -> None:
    """They get the block as it is: we would find the routes there already, and refuse."""
    assert routing_in({"ipam": {"type": kind, "routes": TWICE}}) is None


def test_operators_default_leaves_the_pods_own_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(log, "warning", said.append)
    both = [{"dst": "0.0.0.0/0", "gw": f"10.{rail}.0.9"} for rail in (1, 2)]
    ipam = {"type": "multi-nic-ipam", "routes": both}
    assert [] == planned({}, now=CLUSTER, ipam=ipam)
    assert ["route 0.0.0.0/0 is left out: the pod has a default route already"] == said
    expected = ["0.0.0.0/0 via 10.1.0.9 dev net1 + via 10.2.0.9 dev net1-1 table 254 (rail1)"]
    assert expected == planned({}, ipam=ipam)


def test_no_table_for_the_former_default() -> None:
    error = refusal({"defaultRoute": "rail1", "firstTable": 0xFFFF_FEFF})
    message = "the pod has no free routing tables from 4294967039 on"
    assert (ROUTING_FAILED, message) == (error.code, error.message)
