from __future__ import annotations

from typing import Any

import netaddr
import pytest
from pyroute2.netlink.rtnl.fibmsg import fibmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg

from multinic_cni.route_messages import (
    Hop,
    KernelRoute,
    Rule,
    encode_route,
    encode_rule,
)
from tests.unit.kernel import raw

NEW_ROUTE, NEW_RULE, NEW_NEIGHBOUR = 24, 32, 28
INET, INET6 = 2, 10
UNREACHABLE, STATIC, LINK_SCOPE = 7, 4, 253


def number(text: str) -> int:
    return int(netaddr.IPAddress(text))


def prefix(text: str) -> tuple[int, int]:
    network = netaddr.IPNetwork(text)
    return int(network.network), network.prefixlen


def route(text: str, **fields: Any) -> KernelRoute:  # noqa: ANN401 - a route's fields
    destination, length = prefix(text)
    version = 6 if ":" in text else 4
    words = {"version": version, "table": 1000, "destination": destination, "prefix_length": length}
    return KernelRoute(**{**words, **fields})


# Each route with what pyroute2 is to read in its encoding: header fields, then attributes.
ROUTES: dict[str, tuple[KernelRoute, dict[str, Any], dict[str, Any]]] = {
    "connected": (
        route("10.1.0.0/24", hops=(Hop(link=5),), scope=253, source=number("10.1.0.9")),
        {"family": INET, "dst_len": 24, "table": 252, "proto": STATIC, "scope": LINK_SCOPE},
        {
            "RTA_DST": "10.1.0.0",
            "RTA_OIF": 5,
            "RTA_PREFSRC": "10.1.0.9",
            "RTA_TABLE": 1000,
            "RTA_GATEWAY": None,
        },
    ),
    "default in main": (
        route("0.0.0.0/0", table=254, hops=(Hop(link=5, gateway=number("10.1.0.254")),)),
        {"family": INET, "dst_len": 0, "table": 254, "flags": 0, "type": 1},
        {"RTA_DST": None, "RTA_GATEWAY": "10.1.0.254", "RTA_OIF": 5, "RTA_TABLE": 254},
    ),
    "gateway that no network holds": (
        route("0.0.0.0/0", hops=(Hop(link=5, gateway=number("169.254.1.1"), onlink=True),)),
        {"flags": 4},
        {"RTA_GATEWAY": "169.254.1.1"},
    ),
    "metric and mtu": (
        route("fd00::/64", hops=(Hop(link=7, gateway=number("fd01::1")),), metric=77, mtu=8000),
        {"family": INET6, "dst_len": 64},
        {"RTA_DST": "fd00::", "RTA_GATEWAY": "fd01::1", "RTA_PRIORITY": 77},
    ),
    "unreachable": (
        route("10.0.0.0/8", kind=UNREACHABLE),
        {"type": UNREACHABLE, "dst_len": 8},
        {"RTA_DST": "10.0.0.0", "RTA_OIF": None},
    ),
}


@pytest.mark.parametrize("case", ROUTES)
def test_pyroute2_reads_the_route(case: str) -> None:
    ours, fields, attributes = ROUTES[case]
    parsed = rtmsg(header_of(encode_route(ours), NEW_ROUTE))
    parsed.decode()
    assert fields == {field: parsed[field] for field in fields}
    assert attributes == {name: parsed.get_attr(name) for name in attributes}


def header_of(body: bytes, kind: int) -> bytes:
    return raw(kind, body)


def test_pyroute2_reads_the_mtu_of_a_route() -> None:
    parsed = rtmsg(header_of(encode_route(ROUTES["metric and mtu"][0]), NEW_ROUTE))
    parsed.decode()
    assert parsed.get_attr("RTA_METRICS").get_attr("RTAX_MTU") == 8000


def test_pyroute2_reads_a_multipath_route() -> None:
    hops = (
        Hop(link=5, gateway=number("10.1.0.254")),
        Hop(link=6, gateway=number("10.2.0.254"), weight=3),
        Hop(link=7),
    )
    parsed = rtmsg(header_of(encode_route(route("10.9.0.0/16", hops=hops)), NEW_ROUTE))
    parsed.decode()
    read = [
        (hop["oif"], hop.get_attr("RTA_GATEWAY"), hop["hops"])
        for hop in parsed.get_attr("RTA_MULTIPATH")
    ]
    assert read == [(5, "10.1.0.254", 0), (6, "10.2.0.254", 2), (7, None, 0)]


RULES: dict[str, tuple[Rule, dict[str, Any], dict[str, Any]]] = {
    "by source": (
        Rule(version=4, priority=1001, table=1000, source=prefix("10.1.0.9/32")),
        {"family": INET, "src_len": 32, "dst_len": 0, "table": 0, "action": 1},
        {"FRA_SRC": "10.1.0.9", "FRA_TABLE": 1000, "FRA_PRIORITY": 1001, "FRA_PROTOCOL": STATIC},
    ),
    "by interface": (
        Rule(version=6, priority=1000, table=200, oif="net1-1"),
        {"family": INET6, "src_len": 0, "table": 200},
        {"FRA_OIFNAME": "net1-1", "FRA_TABLE": 200},
    ),
    "by destination": (
        Rule(version=6, priority=5, table=1000, destination=prefix("fd00::/48")),
        {"family": INET6, "dst_len": 48},
        {"FRA_DST": "fd00::"},
    ),
}


@pytest.mark.parametrize("case", RULES)
def test_pyroute2_reads_the_rule(case: str) -> None:
    ours, fields, attributes = RULES[case]
    parsed = fibmsg(header_of(encode_rule(ours), NEW_RULE))
    parsed.decode()
    assert fields == {field: parsed[field] for field in fields}
    assert attributes == {name: parsed.get_attr(name) for name in attributes}
