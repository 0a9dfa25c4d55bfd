"""Rules of `hosts`: each node that is numbered has a share of its own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rails import OWN
from tests.unit.shared import ranges, shared
from tests.unit.test_rules import assert_one_problem, problems

# Changes of a conf; the path of its only problem, and what is said of it.
BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "host without a block": (
        ranges({"subnet": "10.9.0.0/24", "perNodeBlockSize": 64}, hosts={"a": 2, "b": 3}),
        "hosts.b",
        "3 does not fit in perNodeBlockSize 64 of 10.9.0.0/24: at most 2",
    ),
    "host without a network": (
        shared({"a": 127, "b": 128}, perNodeNetworkPrefix=24),
        "hosts.b",
        "128 does not fit in perNodeNetworkPrefix 24 of 192.168.0.0/17: at most 127",
    ),
    "host without a share of the smaller family": (
        {
            **shared({"a": 3}, perNodeBlockSize=2),
            "subnet": ["10.8.0.0/28", "fd00::/64"],
        },
        "hosts.a",
        "3 does not fit in perNodeBlockSize 2 of 10.8.0.0/29: at most 2",
    ),
    "hosts of a subnet that each would give whole": (
        shared({"a": 0, "b": 1}),
        "hosts",
        "numbers 2 nodes, but nothing says how they share subnet: each would give the same",
    ),
    "hosts of a subnet with a hostBlock of nought": (
        shared({"a": 0, "b": 1, "c": 2}, hostBlock=0),
        "hosts",
        "numbers 3 nodes, but nothing says how they share subnet",
    ),
    "two hosts with one block": (
        ranges({"subnet": "10.9.0.0/16", "perNodeBlockSize": 4}, hosts={"a": 2, "b": 2}),
        "hosts.b",
        "2 is a's too",
    ),
    "two hosts with one share of the NIC's own network": (
        {"ipam": {**OWN, "perNodeBlockSize": 4}, "hosts": {"a": 2, "b": 2}},
        "hosts.b",
        "2 is a's too",
    ),
    "host beyond the NIC's own network": (
        {"ipam": {**OWN, "hostBlock": 4}, "hosts": {"a": 16}},
        "hosts.a",
        "16 does not fit in hostBlock 4: at most 15",
    ),
}


@pytest.mark.parametrize(("changes", "path", "message"), BROKEN.values(), ids=BROKEN)
def test_broken(changes: dict[str, Any], path: str, message: str) -> None:
    assert_one_problem(changes, path, message)


KEPT: dict[str, dict[str, Any]] = {
    "whole subnet of the only node": shared({"a": 0}),
    "slice of the subnet that each node has": shared(
        {"a": 0, "b": 1}, slice={"offset": 0, "length": 4}
    ),
    "hosts that nothing is dealt to": {
        "ipam": {**OWN, "slice": {"offset": 1, "length": 4}},
        "hosts": {"a": 1, "b": 1},
    },
}


@pytest.mark.parametrize("changes", KEPT.values(), ids=KEPT)
def test_kept(changes: dict[str, Any]) -> None:
    assert [] == problems(changes)
