"""Rules of the words that share a network among nodes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rails import OWN
from tests.unit.shared import FIRST, SECOND, SUBNET, ranges, shared
from tests.unit.test_rules import assert_one_problem, problems

# Changes of a conf; the path of its only problem, and what is said of it.
BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "two ways": (
        shared(hostBlock=6, perNodeBlockSize=4),
        "ipam.perNodeBlockSize",
        "stands beside hostBlock: a network is cut in one way, keep one of them",
    ),
    "two ways of others": (
        shared(slice={"offset": 1, "length": 4}, perNodeNetworkPrefix=24),
        "ipam.slice",
        "stands beside perNodeNetworkPrefix",
    ),
    "two ways in a range": (
        ranges({"rangeStart": "10.1.0.9", "rangeEnd": "10.1.0.20", "perNodeBlockSize": 4}),
        f"{FIRST}.rangeStart",
        "stands beside perNodeBlockSize",
    ),
    "a way for all and one for a range": (
        ranges({"slice": {"offset": 1, "length": 4}}, perNodeBlockSize=4),
        f"{FIRST}.slice",
        "stands beside ipam.perNodeBlockSize, for all ranges",
    ),
    "hostBlock with ranges": (
        ranges({}, hostBlock=4),
        "ipam.hostBlock",
        "cuts subnet, not ranges",
    ),
    "interfaceBlock with ranges": (
        ranges({}, interfaceBlock=1),
        "ipam.interfaceBlock",
        "cuts subnet, not ranges",
    ),
    "two gateways": (
        ranges({"gateway": "10.1.0.1", "gatewayIndex": 1}),
        f"{FIRST}.gatewayIndex",
        "stands beside gateway",
    ),
    "one gateway for networks of their own": (
        ranges({"gateway": "10.1.0.1"}, perNodeNetworkPrefix=28),
        f"{FIRST}.gateway",
        "gatewayIndex gives each node its own",
    ),
    "block larger than the network": (
        shared(perNodeBlockSize=32767),
        "ipam",
        (
            "perNodeBlockSize 32767 of 192.168.0.0/17 does not fit: 192.168.0.0/17 has 32766"
            " addresses for pods"
        ),
    ),
    "network longer than the node's": (
        shared(perNodeNetworkPrefix=16),
        "ipam",
        "perNodeNetworkPrefix 16 does not fit in 192.168.0.0/17: it may be 17 to 32",
    ),
    "network of another family": (
        {**shared(perNodeNetworkPrefix=64), "subnet": [SUBNET]},
        "ipam",
        "perNodeNetworkPrefix 64 does not fit in 192.168.0.0/17: it may be 17 to 32",
    ),
    "slice beyond the network": (
        ranges({"slice": {"offset": 250, "length": 7}}),
        FIRST,
        "slice: 7 addresses from offset 250 on go beyond 10.1.0.0/24, which has 256",
    ),
    "slice of the broadcast address": (
        ranges({"slice": {"offset": 255, "length": 1}}),
        FIRST,
        "10.1.0.255 to 10.1.0.255 of 10.1.0.0/24 has no address for a pod",
    ),
    "gatewayIndex outside": (
        shared(hostBlock=7, gatewayIndex=32767),
        "ipam",
        "gatewayIndex 32767 lies outside 192.168.0.0/17, whose hosts are 1 to 32766",
    ),
    "gatewayIndex outside the node's network": (
        shared(perNodeNetworkPrefix=28, gatewayIndex=15),
        "ipam",
        "gatewayIndex 15 lies outside 192.168.0.0/28, whose hosts are 1 to 14",
    ),
    "network address as gateway": (
        ranges({"gatewayIndex": 0}),
        FIRST,
        "gatewayIndex 0 lies outside 10.1.0.0/24, whose hosts are 1 to 254",
    ),
    "no address beside the gateway": (
        ranges({"rangeStart": "10.1.0.9", "rangeEnd": "10.1.0.9", "gateway": "10.1.0.9"}),
        FIRST,
        "the gateway and perNodeExclusions leave no address of a share",
    ),
    "no address beside the gateway of two": (
        shared(
            perNodeNetworkPrefix=31,
            gatewayIndex=0,
            perNodeExclusions=[{"startIndex": 1, "endIndex": 1}],
        ),
        "ipam",
        "the gateway and perNodeExclusions leave no address of a share (192.168.0.0/31)",
    ),
    "places outside the block": (
        shared(perNodeBlockSize=4, perNodeExclusions=[{"startIndex": 2, "endIndex": 4}]),
        "ipam",
        "perNodeExclusions: endIndex 4 lies outside a node's share",
    ),
    "places the wrong way round": (
        shared(perNodeBlockSize=4, perNodeExclusions=[{"startIndex": 2, "endIndex": 1}]),
        "ipam.perNodeExclusions[0]",
        "startIndex 2 is above endIndex 1",
    ),
    "exclusion the wrong way round": (
        shared(exclusions=[{"startIP": "10.1.0.9", "endIP": "10.1.0.8"}]),
        "ipam.exclusions[0]",
        "must be of one family, and startIP not above endIP",
    ),
    "exclusion across families": (
        shared(exclusions=[{"startIP": "10.1.0.9", "endIP": "fd00::1"}]),
        "ipam.exclusions[0]",
        "must be of one family",
    ),
    "exclusion outside its range": (
        ranges({"exclusions": [{"startIP": "10.1.0.9", "endIP": "10.1.1.9"}]}),
        f"{FIRST}.exclusions[0]",
        "10.1.1.9 lies outside 10.1.0.0/24",
    ),
    "one subnet shared in two ways": (
        ranges(
            {"subnet": "10.9.0.0/16", "perNodeBlockSize": 4},
            {"subnet": "10.9.0.0/16", "perNodeBlockSize": 8},
        ),
        SECOND,
        f"shares 10.9.0.0/16 in another way than {FIRST}",
    ),
    "one subnet with two gateways to pass over": (
        ranges(
            {"subnet": "10.9.0.0/16", "perNodeBlockSize": 1, "gatewayIndex": 3},
            {"subnet": "10.9.0.0/16", "perNodeBlockSize": 1, "gatewayIndex": 4},
        ),
        SECOND,
        "shares 10.9.0.0/16 in another way",
    ),
    "one subnet shared and given": (
        ranges({"subnet": "10.9.0.0/16", "perNodeNetworkPrefix": 24}, {"subnet": "10.9.0.0/16"}),
        SECOND,
        "shares 10.9.0.0/16 in another way",
    ),
    "gateway of a route in one node's network": (
        shared(
            perNodeNetworkPrefix=24,
            gatewayIndex=1,
            routes=[{"dst": "10.0.0.0/8", "gw": "192.168.8.1"}],
        ),
        "ipam.routes[0].gw",
        "192.168.8.1 is in one node's network only: leave it out, and gatewayIndex gives each",
    ),
    "gateway of a route in no range": (
        ranges(
            {"subnet": "10.9.0.0/16", "perNodeBlockSize": 4},
            routes=[{"dst": "10.0.0.0/8", "gw": "10.8.0.1"}],
        ),
        "ipam.routes[0].gw",
        "10.8.0.1 is in no interface's network",
    ),
    "own networks without a way": (
        {"subnet": "", "ipam": {**OWN, "gatewayIndex": 1}},
        "ipam",
        "hostBlock, perNodeBlockSize, perNodeNetworkPrefix or slice",
    ),
}


@pytest.mark.parametrize(("changes", "path", "message"), BROKEN.values(), ids=BROKEN)
def test_broken(changes: dict[str, Any], path: str, message: str) -> None:
    assert_one_problem(changes, path, message)


KEPT: dict[str, dict[str, Any]] = {
    "hostBlock": shared({"a": 127}, hostBlock=7, gatewayIndex=1),
    "hostBlock of nought beside another way": shared(hostBlock=0, perNodeBlockSize=4),
    "blocks": shared({"a": 8190}, perNodeBlockSize=4, gatewayIndex=1),
    "networks": shared({"a": 127, "b": 0}, perNodeNetworkPrefix=24, gatewayIndex=254),
    "point to point": shared(perNodeNetworkPrefix=31, gatewayIndex=0),
    "slice": shared(slice={"offset": 0, "length": 32768}),
    "both families": {
        **shared(perNodeBlockSize=100, gatewayIndex=1),
        "subnet": ["192.168.0.0/16", "fd52:2eb5:44::/48"],
    },
    "own networks": {"subnet": "", "ipam": {**OWN, "hostBlock": 4, "interfaceBlock": 2}},
    "own networks by any NIC": {"masterNets": None, "ipam": {**OWN, "perNodeBlockSize": 4}},
    "whole own networks": {"ipam": {**OWN, "hostBlock": 0}},
    "route by a gateway of the NICs' own networks": {
        "ipam": {**OWN, "hostBlock": 4, "routes": [{"dst": "10.0.0.0/8", "gw": "10.1.0.1"}]}
    },
    "route by a flat network's gateway": shared(
        perNodeBlockSize=4, routes=[{"dst": "10.0.0.0/8", "gw": "192.168.0.1"}]
    ),
    "one subnet shared in one way": ranges(
        {"subnet": "10.9.0.0/16", "perNodeBlockSize": 1, "gatewayIndex": 3},
        {"subnet": "10.9.0.0/16", "perNodeBlockSize": 1, "gateway": "10.9.0.3"},
        hosts={"a": 1},
    ),
    "one way for all ranges": ranges(
        {"subnet": "10.9.0.0/16"}, {"subnet": "10.8.0.0/16"}, perNodeBlockSize=4, gatewayIndex=1
    ),
    "gateway of one range instead of all ranges'": ranges({"gateway": "10.1.0.9"}, gatewayIndex=1),
    "exclusions": shared(
        perNodeBlockSize=4,
        excludeCIDRs=["192.168.0.5/28", "192.168.7.7", "10.0.0.0/8", "fd00::5/64"],
        exclusions=[{"startIP": "192.168.0.9", "endIP": "192.168.0.9"}],
        perNodeExclusions=[{"startIndex": 0, "endIndex": 2}],
    ),
}


@pytest.mark.parametrize("changes", KEPT.values(), ids=KEPT)
def test_kept(changes: dict[str, Any]) -> None:
    assert [] == problems(changes)


def test_nulls_break_no_rule() -> None:
    words = (
        "perNodeBlockSize",
        "perNodeNetworkPrefix",
        "gatewayIndex",
        "slice",
        "exclusions",
        "perNodeExclusions",
        "staticAllocations",
    )
    nulls = dict.fromkeys(words)
    entry = dict.fromkeys((*words, "subnet", "rangeStart", "rangeEnd", "gateway"))
    assert [] == problems(ranges(entry, **nulls))
    assert [] == problems(shared(hostBlock=7, **nulls))
    assert [] != problems({"ipam": {**OWN, **nulls}})


def test_all_mistakes_of_ranges_speak_at_once() -> None:
    changes = ranges(
        {"perNodeBlockSize": 300}, {"slice": {"offset": 9, "length": 300}}, hosts={"a": 1}
    )
    assert [FIRST, SECOND] == [path for path, _, _ in problems(changes)]


@pytest.mark.parametrize("example", ["192.168.0.0/24", "10.1.0.7", "10.1.0.7/28", "fd00::5/64"])
def test_exclusions_may_have_host_bits(example: str) -> None:
    assert [] == problems(shared(excludeCIDRs=[example]))
