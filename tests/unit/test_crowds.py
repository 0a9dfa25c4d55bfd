"""ADD where others are in the way: dead pods are swept, living ones and strangers are told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.errors import BAD_CONF, NO_ADDRESS, CniError
from multinic_cni.upkeep import sweeping
from tests.unit.pretended_node import PretendedNode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

NET = "10.1.0.0/28"


def rail(first: int, last: int, name: str = "rails", **ipam: object) -> dict[str, Any]:
    """Return a conf of one NIC, which has 10.1.0.3 itself, and these addresses to give."""
    listed = [{"rangeStart": f"10.1.0.{first}", "rangeEnd": f"10.1.0.{last}"}]
    words = {"type": "multi-nic-ipam", "ranges": {NET: listed}, **ipam}
    return {"name": name, "masterNets": [NET], "ipam": words}


def asking(conf: dict[str, Any], address: str) -> dict[str, Any]:
    return {**conf, "args": {"cni": {"ips": [address]}}}


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PretendedNode:
    return PretendedNode(tmp_path, monkeypatch)


@pytest.fixture
def sweeps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with each sweep."""
    done = []

    def sweep(data_dir: str, deadline: float) -> sweeping.Swept:
        done.append(data_dir)
        return sweep_truly(data_dir, deadline)

    sweep_truly = sweeping.sweep
    monkeypatch.setattr(sweeping, "sweep", sweep)
    return done


def add(node: PretendedNode, container: str, conf: dict[str, Any]) -> None:
    node.start_pod(container, 1 + sum(map(ord, container)))
    node.add(container, conf)


def refusal(work: Callable[[], object]) -> CniError:
    with pytest.raises(CniError) as raised:
        work()
    return raised.value


def test_requested_address_of_a_dead_pod_is_got(node: PretendedNode, sweeps: list[str]) -> None:
    conf = rail(4, 9)
    add(node, "dead", conf)
    node.stop_pod("dead")
    add(node, "heir", asking(conf, "10.1.0.4"))
    assert {"10.1.0.4": "heir"} == node.holders()
    assert 1 == len(sweeps)


def test_requested_address_of_a_living_pod_is_not(node: PretendedNode, sweeps: list[str]) -> None:
    conf = rail(4, 9)
    add(node, "lives", conf)
    error = refusal(lambda: add(node, "heir", asking(conf, "10.1.0.4")))
    assert NO_ADDRESS == error.code
    assert "10.1.0.4 is taken by lives net1" in error.message
    assert {"10.1.0.4": "lives"} == node.holders()
    assert 1 == len(sweeps)


def test_requested_address_in_quarantine_is_no_matter_of_sweeping(
    node: PretendedNode, sweeps: list[str]
) -> None:
    until = int(time.time()) + 600
    (node.data / "quarantine").mkdir(parents=True)
    (node.data / "quarantine/10.1.0.4").write_text(f"{until} somebody has it")
    error = refusal(lambda: add(node, "heir", asking(rail(4, 9), "10.1.0.4")))
    assert (NO_ADDRESS, True) == (error.code, "is in quarantine" in error.message)
    assert [] == sweeps


def test_pool_that_only_dead_pods_fill(node: PretendedNode, sweeps: list[str]) -> None:
    for name in ("a", "b"):
        add(node, name, rail(4, 5))
        node.stop_pod(name)
    add(node, "c", rail(4, 5))
    assert {"c"} == set(node.holders().values())
    assert 1 == len(sweeps)


@pytest.mark.parametrize("lives", [True, False])
def test_new_block_that_overlaps_an_old_one(
    node: PretendedNode, sweeps: list[str], *, lives: bool
) -> None:
    """The admin has made the network longer: the old block is free when its pods are gone."""
    old = rail(4, 9)
    old["ipam"]["ranges"] = {NET: [{"subnet": "10.1.0.0/29"}]}
    add(node, "old", old)
    if not lives:
        node.stop_pod("old")
        add(node, "new", rail(4, 9))
        assert {"10.1.0.4": "new"} == node.holders()
        assert ["10.1.0.0-28"] == [each.name for each in (node.data / "pools").iterdir()]
    else:
        error = refusal(lambda: add(node, "new", rail(4, 9)))
        assert BAD_CONF == error.code
        assert "overlaps pool 10.1.0.0/29, which has addresses in use" in error.message
        assert {"old"} == set(node.holders().values())
    assert 1 == len(sweeps)


def test_conflict_that_leaves_only_what_a_dead_pod_has(
    node: PretendedNode, sweeps: list[str]
) -> None:
    conf = rail(4, 5, probe="next")
    add(node, "first", conf)
    add(node, "dead", conf)
    node.delete("first", conf)
    node.stop_pod("dead")
    assert {"10.1.0.5": "dead"} == node.holders()
    node.foreign = {"10.1.0.4"}
    add(node, "new", conf)
    assert {"10.1.0.5": "new"} == node.holders()
    assert {"10.1.0.4"} == set(node.quarantined())
    assert {"10.1.0.5"} == node.records()["new"]
    assert 1 == len(sweeps)


@pytest.mark.parametrize("policy", ["next", "fail"])
def test_requested_address_that_somebody_else_has(
    node: PretendedNode, sweeps: list[str], policy: str
) -> None:
    """The pod asked for this one: no other is any good to it."""
    node.foreign = {"10.1.0.7"}
    conf = rail(4, 9, probe=policy)
    error = refusal(lambda: add(node, "a", asking(conf, "10.1.0.7")))
    assert NO_ADDRESS == error.code
    assert "somebody else on the network has the address" in error.message
    assert "10.1.0.7" in error.message
    assert {} == node.holders()
    assert {"10.1.0.7"} == set(node.quarantined())
    assert {} == node.records()
    assert [] == sweeps


def test_requested_address_that_somebody_else_has_is_given_where_he_is_only_told(
    node: PretendedNode,
) -> None:
    node.foreign = {"10.1.0.7"}
    add(node, "a", asking(rail(4, 9, probe="warn"), "10.1.0.7"))
    assert {"10.1.0.7": "a"} == node.holders()


def test_other_address_of_a_pod_with_a_request_is_replaced(node: PretendedNode) -> None:
    """rail1 has 10.2.0.9 itself, and its first address is somebody else's."""
    conf = rail(4, 9, probe="next")
    conf["masterNets"].append("10.2.0.0/28")
    conf["ipam"]["ranges"]["10.2.0.0/28"] = [{}]
    node.foreign = {"10.2.0.1"}
    add(node, "a", asking(conf, "10.1.0.7"))
    assert {"10.1.0.7", "10.2.0.2"} == set(node.holders())
