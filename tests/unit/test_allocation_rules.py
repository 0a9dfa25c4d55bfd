"""Rules of shares that the conf names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rails import BLOCKS
from tests.unit.shared import FIRST, SECOND, SUBNET, ranges, shared
from tests.unit.test_rules import assert_one_problem, problems


def static(*prefixes: str, node: str = "") -> list[dict[str, str]]:
    return [{"prefix": each, **({"nodeName": node} if node else {})} for each in prefixes]


# Changes of a conf; the path of its only problem, and what is said of it.
BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "one subnet with two lists of allocations": (
        ranges(
            {
                "subnet": "10.9.0.0/16",
                "perNodeBlockSize": 4,
                "staticAllocations": static("10.9.7.0/30"),
            },
            {"subnet": "10.9.0.0/16", "perNodeBlockSize": 4},
        ),
        SECOND,
        "shares 10.9.0.0/16 in another way",
    ),
    "overlapping allocations": (
        shared(hostBlock=7, staticAllocations=static("192.168.8.0/24", "192.168.8.128/25")),
        "ipam.staticAllocations[1].prefix",
        "192.168.8.128/25 overlaps 192.168.8.0/24",
    ),
    "allocation in no NIC's network": (
        shared(hostBlock=7, staticAllocations=static("192.168.8.0/24", "192.169.8.0/24")),
        "ipam.staticAllocations[1].prefix",
        "192.169.8.0/24 lies in no NIC's part of subnet",
    ),
    "allocation larger than a NIC's network": (
        shared(hostBlock=7, staticAllocations=static("192.168.0.0/16")),
        "ipam.staticAllocations[0].prefix",
        "192.168.0.0/16 lies in no NIC's part of subnet",
    ),
    "allocation beyond the last NIC": (
        {
            "subnet": SUBNET,
            "ipam": {**BLOCKS, "staticAllocations": static("192.168.128.0/24")},
        },
        "ipam.staticAllocations[0].prefix",
        "192.168.128.0/24 lies in no NIC's part of subnet",
    ),
    "allocation of another family": (
        shared(hostBlock=7, staticAllocations=static("fd00::/64")),
        "ipam.staticAllocations[0].prefix",
        "fd00::/64 lies in no NIC's part of subnet",
    ),
    "allocation outside its range": (
        ranges(
            {
                "subnet": "10.9.0.0/16",
                "perNodeBlockSize": 4,
                "staticAllocations": static("10.8.0.0/24"),
            }
        ),
        f"{FIRST}.staticAllocations[0].prefix",
        "10.8.0.0/24 lies outside 10.9.0.0/16",
    ),
    "allocation in no range": (
        ranges({"subnet": "10.9.0.0/16"}, staticAllocations=static("10.9.8.0/24", "10.8.0.0/24")),
        "ipam.staticAllocations[1].prefix",
        "10.8.0.0/24 lies in no range's subnet",
    ),
    "two allocations of one node": (
        shared(hostBlock=7, staticAllocations=static("192.168.8.0/24", "192.168.9.0/24", node="a")),
        "ipam",
        "staticAllocations give a both 192.168.8.0/24 and 192.168.9.0/24 of 192.168.0.0/17",
    ),
    "gateway outside the node's network": (
        shared(
            perNodeNetworkPrefix=24,
            staticAllocations=[{"prefix": "192.168.8.0/24", "gateway": "192.168.9.1"}],
        ),
        "ipam",
        "staticAllocations: gateway 192.168.9.1 lies outside 192.168.8.0/24",
    ),
    "host with a reserved share": (
        shared({"a": 7, "b": 8}, hostBlock=7, staticAllocations=static("192.168.8.0/26")),
        "hosts.b",
        ("its share, 192.168.8.0/24, overlaps 192.168.8.0/26, which staticAllocations reserve"),
    ),
    "host with one address too many": (
        ranges(
            {
                "subnet": "10.9.0.0/16",
                "perNodeBlockSize": 4,
                "staticAllocations": static("10.9.0.8/32", "10.9.0.13/32"),
            },
            hosts={"a": 0, "b": 1, "c": 2},
        ),
        "hosts.b",
        "its share, 10.9.0.5 to 10.9.0.8 of 10.9.0.0/16, overlaps 10.9.0.8/32",
    ),
    "host with another's share": (
        shared(
            {"a": 7, "b": 8},
            perNodeNetworkPrefix=24,
            staticAllocations=static("192.168.4.0/22", node="c"),
        ),
        "hosts.a",
        "its share, 192.168.7.0/24, overlaps 192.168.4.0/22, which staticAllocations give to c",
    ),
}


@pytest.mark.parametrize(("changes", "path", "message"), BROKEN.values(), ids=BROKEN)
def test_broken(changes: dict[str, Any], path: str, message: str) -> None:
    assert_one_problem(changes, path, message)


KEPT: dict[str, dict[str, Any]] = {
    "allocations": shared(
        {"a": 7, "c": 9},
        hostBlock=7,
        staticAllocations=[
            {"nodeName": "a", "prefix": "192.168.8.0/24"},
            {"nodeName": "a", "prefix": "192.168.136.0/24", "gateway": "192.168.128.1"},
            {"prefix": "192.168.10.0/23"},
        ],
    ),
    "named host whose index would be another's": shared(
        {"a": 7},
        perNodeNetworkPrefix=24,
        staticAllocations=[
            {"nodeName": "a", "prefix": "192.168.8.0/24"},
            {"nodeName": "b", "prefix": "192.168.7.0/24"},
        ],
    ),
    "allocations at the top for whichever range": ranges(
        {"subnet": "10.9.0.0/16"},
        {"subnet": "10.8.0.0/16"},
        perNodeNetworkPrefix=24,
        staticAllocations=static("10.9.7.0/24", "10.8.7.0/24", node="a"),
    ),
}


@pytest.mark.parametrize("changes", KEPT.values(), ids=KEPT)
def test_kept(changes: dict[str, Any]) -> None:
    assert [] == problems(changes)
