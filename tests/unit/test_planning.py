from __future__ import annotations

from typing import Any

import pytest

from multinic_cni.errors import BAD_CONF, ROUTING_FAILED
from multinic_cni.log import log
from multinic_cni.route_messages import Rule
from tests.unit.routes import RAIL1, RAIL2, nic, planned, pod, refusal, route

SOURCE_RULES = [
    "net/ipv4/conf/net1/arp_ignore=1 (rail1)",
    "net/ipv4/conf/net1-1/arp_ignore=1 (rail2)",
    "net/ipv4/conf/net1/arp_announce=2 (rail1)",
    "net/ipv4/conf/net1-1/arp_announce=2 (rail2)",
    "net/ipv4/conf/net1/rp_filter=2 (rail1)",
    "net/ipv4/conf/net1-1/rp_filter=2 (rail2)",
    "10.1.0.0/24 dev net1 scope 253 src 10.1.0.5 table 1000 (rail1)",
    "0.0.0.0/0 via 10.1.0.254 dev net1 table 1000 (rail1)",
    "10.2.0.0/24 dev net1-1 scope 253 src 10.2.0.5 table 1001 (rail2)",
    "0.0.0.0/0 via 10.2.0.254 dev net1-1 table 1001 (rail2)",
    "rule 1001 v4 from 10.1.0.5/32 table 1000 (rail1)",
    "rule 1001 v4 from 10.2.0.5/32 table 1001 (rail2)",
]


def test_nothing_is_planned_that_is_not_asked_for() -> None:
    assert [] == planned({})
    assert [] == planned({"announce": True, "gatewayCheck": "warn", "dad": False})


def test_source_rules() -> None:
    assert SOURCE_RULES == planned({"sourceRules": True})


def test_families_have_tables_and_rules_of_their_own() -> None:
    both = nic(0, "10.1.0.5/24", "fd01::5/64", gateways=("fd01::fe",))
    expected = [
        "10.1.0.0/24 dev net1 scope 253 src 10.1.0.5 table 1000 (rail1)",
        "fd01::/64 dev net1 table 1000 (rail1)",
        # A socket bound to net1 would find the gateway's route here, and no neighbour's.
        "fe80::/10 dev net1 table 1000 (rail1)",
        "::/0 via fd01::fe dev net1 table 1000 (rail1)",
        "rule 1000 v4 oif net1 table 1000 (rail1)",
        "rule 1001 v4 from 10.1.0.5/32 table 1000 (rail1)",
        "rule 1000 v6 oif net1 table 1000 (rail1)",
        "rule 1001 v6 from fd01::5/128 table 1000 (rail1)",
    ]
    assert expected == planned({"sourceRules": True, "deviceRules": True}, both)[3:]


def test_table_without_link_local_addresses_has_no_route_to_them() -> None:
    six = nic(0, "fd01::5/64", gateways=("fd01::fe",))
    routing = {"sourceRules": True, "deviceRules": True, "linkLocal": False}
    assert not [step for step in planned(routing, six) if step.startswith("fe80:")]
    assert not [step for step in planned({"sourceRules": True}, six) if step.startswith("fe80:")]


def test_table_has_what_the_delegates_have_set_for_its_nic() -> None:
    now = pod(
        route("10.1.0.0/24", link=4, protocol=2, scope=253),  # the kernel's
        route("10.60.0.0/16", "10.1.0.9", link=4, mtu=1400),
        route("10.61.0.0/16", link=5, scope=253),
        route("10.61.0.0/16", link=4, scope=253),
        route("10.62.0.0/16", "10.1.0.9", link=4, table=77),
        route("0.0.0.0/0", "10.1.0.8", link=4),
        route("10.63.0.0/16", "10.244.0.1"),
    )
    steps = planned({"sourceRules": True}, now=now)
    assert [
        "10.61.0.0/16 dev net1 scope 253 table 1000 (rail1)",
        "10.60.0.0/16 via 10.1.0.9 dev net1 mtu 1400 table 1000 (rail1)",
        "0.0.0.0/0 via 10.1.0.8 dev net1 table 1000 (rail1)",
        "10.2.0.0/24 dev net1-1 scope 253 src 10.2.0.5 table 1001 (rail2)",
        "10.61.0.0/16 dev net1-1 scope 253 table 1001 (rail2)",
        "0.0.0.0/0 via 10.2.0.254 dev net1-1 table 1001 (rail2)",
    ] == steps[7:13]


def test_several_addresses_of_one_nic_lead_to_its_one_table() -> None:
    several = nic(0, "10.1.0.5/24", "10.1.0.6/24", "10.9.0.1/32")
    expected = [
        "10.1.0.0/24 dev net1 scope 253 src 10.1.0.5 table 1000 (rail1)",
        "rule 1001 v4 from 10.1.0.5/32 table 1000 (rail1)",
        "rule 1001 v4 from 10.1.0.6/32 table 1000 (rail1)",
        "rule 1001 v4 from 10.9.0.1/32 table 1000 (rail1)",
    ]
    assert expected == planned({"sourceRules": True}, several)[3:]


@pytest.mark.parametrize(
    ("routes", "rules"),
    [
        ((route("10.9.0.0/16", table=1001),), ()),
        ((), (Rule(version=6, priority=9, table=1000),)),
    ],
)
def test_tables_move_together_where_one_is_taken(routes: Any, rules: Any) -> None:  # noqa: ANN401
    steps = planned({"sourceRules": True}, now=pod(*routes, rules=rules))
    assert "rule 1001 v4 from 10.1.0.5/32 table 2000 (rail1)" in steps
    assert "rule 1001 v4 from 10.2.0.5/32 table 2001 (rail2)" in steps


def test_other_tables_are_no_reason_to_move() -> None:
    now = pod(route("10.9.0.0/16", table=1002), route("10.9.0.0/16", table=999))
    assert SOURCE_RULES == planned({"sourceRules": True}, now=now)


def test_missing_rail_leaves_its_table_out() -> None:
    steps = planned({"sourceRules": True, "firstTable": 500}, RAIL2)
    assert "rule 1001 v4 from 10.2.0.5/32 table 501 (rail2)" in steps


def test_no_free_tables() -> None:
    last = 0xFFFF_FEFF
    now = pod(route("10.9.0.0/16", table=last))
    error = refusal({"sourceRules": True, "firstTable": last}, RAIL1, now=now)
    assert (ROUTING_FAILED, "the pod has no free routing tables from 4294967039 on") == (
        error.code,
        error.message,
    )


def test_gateway_outside_of_the_network_is_on_the_link() -> None:
    far = nic(0, "10.1.0.5/32", gateways=("169.254.7.7",))
    steps = planned({"sourceRules": True}, far)
    assert "0.0.0.0/0 via 169.254.7.7 dev net1 onlink table 1000 (rail1)" in steps


ROUTES: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "to all": (
        [{"dst": "10.50.0.0/16"}],
        ["10.50.0.0/16 via 10.1.0.254 dev net1 + via 10.2.0.254 dev net1-1 table 254 (rail1)"],
    ),
    "by one NIC": (
        [{"dst": "10.50.0.0/16", "nics": ["rail2"]}],
        ["10.50.0.0/16 via 10.2.0.254 dev net1-1 table 254 (rail2)"],
    ),
    "gateway of a NIC's network": (
        [{"dst": "10.50.0.0/16", "gw": "10.2.0.9", "metric": 7, "mtu": 1400}],
        ["10.50.0.0/16 via 10.2.0.9 dev net1-1 metric 7 mtu 1400 table 254 (rail2)"],
    ),
    "one destination twice": (
        [{"dst": "10.50.0.0/16", "gw": "10.1.0.9"}, {"dst": "10.50.0.0/16", "gw": "10.2.0.9"}],
        ["10.50.0.0/16 via 10.1.0.9 dev net1 + via 10.2.0.9 dev net1-1 table 254 (rail1)"],
    ),
    "metrics apart": (
        [
            {"dst": "10.50.0.0/16", "nics": ["rail1"], "metric": 1},
            {"dst": "10.50.0.0/16", "nics": ["rail2"], "metric": 2},
        ],
        [
            "10.50.0.0/16 via 10.1.0.254 dev net1 metric 1 table 254 (rail1)",
            "10.50.0.0/16 via 10.2.0.254 dev net1-1 metric 2 table 254 (rail2)",
        ],
    ),
    # The kernel is to say what is wrong with it: the NIC was named.
    "gateway elsewhere, for a NIC that is named": (
        [{"dst": "10.50.0.0/16", "gw": "10.77.0.1", "nics": ["rail1"]}],
        ["10.50.0.0/16 via 10.77.0.1 dev net1 table 254 (rail1)"],
    ),
    "entry twice": (
        [{"dst": "10.50.0.0/16", "nics": ["rail1"]}, {"dst": "10.50.0.0/16", "nics": ["rail1"]}],
        ["10.50.0.0/16 via 10.1.0.254 dev net1 table 254 (rail1)"],
    ),
}


@pytest.mark.parametrize("case", ROUTES)
def test_routes(case: str) -> None:
    routes, expected = ROUTES[case]
    assert expected == planned({"routes": routes})


def test_routes_stand_in_the_nics_own_tables_too() -> None:
    steps = planned({"sourceRules": True, "routes": [{"dst": "10.50.0.0/16"}]})
    assert "10.50.0.0/16 via 10.1.0.254 dev net1 table 1000 (rail1)" in steps
    assert "10.50.0.0/16 via 10.2.0.254 dev net1-1 table 1001 (rail2)" in steps


def test_route_on_the_link_of_a_nic_without_gateway() -> None:
    alone = nic(0, "10.1.0.5/24")
    steps = planned({"routes": [{"dst": "10.50.0.0/16", "nics": ["rail1"]}]}, alone)
    assert ["10.50.0.0/16 dev net1 scope 253 table 254 (rail1)"] == steps


def test_nic_is_named_by_its_entry() -> None:
    rail = nic(0, "10.1.0.5/24", gateways=("10.1.0.254",), words=("10.1.0.0/24",))
    steps = planned({"routes": [{"dst": "10.50.0.0/16", "nics": ["10.1.0.0/24"]}]}, rail)
    assert ["10.50.0.0/16 via 10.1.0.254 dev net1 table 254 (rail1)"] == steps


LOST = {
    "gateway of nobody's network": (
        {"dst": "10.50.0.0/16", "gw": "10.77.0.1"},
        "route 10.50.0.0/16: none of the NICs rail1, rail2 reaches its gateway 10.77.0.1",
    ),
    "no gateway of the family": (
        {"dst": "fd50::/16"},
        "route fd50::/16: none of the NICs rail1, rail2 has a gateway of its family",
    ),
}


@pytest.mark.parametrize("case", LOST)
def test_route_that_no_nic_can_have(case: str) -> None:
    lost, message = LOST[case]
    error = refusal({"routes": [lost]})
    assert (ROUTING_FAILED, message) == (error.code, error.message)


def test_route_of_a_missing_rail_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(log, "warning", said.append)
    assert [] == planned({"routes": [{"dst": "10.50.0.0/16", "nics": ["rail7"]}]})
    assert ["route 10.50.0.0/16 is left out: the pod has none of its NICs"] == said


CROSS_RAIL = {
    "rail2": ["10.0.0.0/8 via 10.2.0.254 dev net1-1 table 254 (rail2)"],
    "all": ["10.0.0.0/8 via 10.1.0.254 dev net1 + via 10.2.0.254 dev net1-1 table 254 (rail1)"],
    "none": ["10.0.0.0/8 kind 7 table 254 (rail1)"],
}


@pytest.mark.parametrize("via", CROSS_RAIL)
def test_cross_rail(via: str) -> None:
    assert CROSS_RAIL[via] == planned({"crossRail": {"supernet": "10.0.0.0/8", "via": via}})


@pytest.mark.parametrize(("via", "names"), [("rail2", "rail2"), ("all", "rail1, rail2")])
def test_cross_rail_without_a_gateway(via: str, names: str) -> None:
    error = refusal({"crossRail": {"supernet": ["10.0.0.0/8", "fd00::/8"], "via": via}})
    message = f"crossRail fd00::/8: no gateway of its family on {names}"
    assert (ROUTING_FAILED, message) == (error.code, error.message)


def test_cross_rail_by_none_closes_the_nics_tables_too() -> None:
    routing = {"sourceRules": True, "crossRail": {"supernet": "10.0.0.0/8", "via": "none"}}
    unreachable = [step for step in planned(routing) if "kind 7" in step]
    assert [
        "10.0.0.0/8 kind 7 table 254 (rail1)",
        "10.0.0.0/8 kind 7 table 1000 (rail1)",
        "10.0.0.0/8 kind 7 table 1001 (rail2)",
    ] == unreachable


@pytest.mark.parametrize(
    ("routing", "key"),
    [
        ({"crossRail": {"supernet": "10.0.0.0/8", "via": "rail7"}}, "crossRail.via"),
        ({"defaultRoute": "rail7"}, "defaultRoute"),
    ],
)
def test_nic_that_the_pod_has_not(routing: dict[str, Any], key: str) -> None:
    error = refusal(routing)
    message = f"routing.{key}: rail7 is none of this pod's NICs, which are rail1, rail2"
    assert (BAD_CONF, message) == (error.code, error.message)


def test_sysctls() -> None:
    routing = {
        "sourceRules": True,
        "sysctls": {
            "net.ipv4.conf.IFNAME.rp_filter": "0",
            "net/ipv6/conf/IFNAME/accept_ra": "0",
            "net.ipv4.ip_forward": "1",
        },
    }
    expected = [
        "net/ipv4/conf/net1/arp_ignore=1 (rail1)",
        "net/ipv4/conf/net1/arp_announce=2 (rail1)",
        "net/ipv4/conf/net1/rp_filter=0 (rail1)",
        "net/ipv6/conf/net1/accept_ra=0 (rail1)",
        "net/ipv4/ip_forward=1 ()",
    ]
    assert expected == planned(routing, RAIL1)[:5]


def test_neighbors() -> None:
    routing = {
        "neighbors": [
            {"address": "10.2.0.77", "mac": "02:00:00:00:00:AA"},
            {"address": "10.9.0.1", "mac": "02:00:00:00:00:bb", "nics": ["rail1"]},
        ]
    }
    expected = [
        "neighbour 10.2.0.77 02:00:00:00:00:aa dev net1-1 (rail2)",
        "neighbour 10.9.0.1 02:00:00:00:00:bb dev net1 (rail1)",
    ]
    assert expected == planned(routing)


def test_neighbor_of_no_nic_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(log, "warning", said.append)
    assert [] == planned({"neighbors": [{"address": "10.9.0.1", "mac": "02:00:00:00:00:bb"}]})
    assert ["neighbour 10.9.0.1 is left out: the pod has no NIC in its network"] == said
