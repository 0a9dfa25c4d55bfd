"""Networks with one block share its address files, which say containerID and ifname only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_ipam.reservation import Owner
from tests.unit.admin import BLOCK, EARLIER, AdminNode, on
from tests.unit.stores import opened
from tests.unit.verbs import collect_garbage, delete_pod, first_call, sweep_on, work_off

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

OURS = {"10.1.0.2": "k net1"}


@pytest.fixture
def node(admin_node: AdminNode) -> AdminNode:
    """Return a node on which pod k lives in network b with 10.1.0.2.

    Network a still has a record of the name, of an earlier boot, with that address and 10.1.0.3.
    """
    admin_node.attach("k", "10.1.0.2", "10.1.0.3", network="a", boot=EARLIER)
    admin_node.record("k", "10.1.0.2", network="b")
    return admin_node


def with_backlog(node: AdminNode) -> None:
    node.write("backlog", "a/k:net1\n")
    work_off(node)


def swept_before(way: Callable[[AdminNode], object]) -> Callable[[AdminNode], object]:
    def do(node: AdminNode) -> None:
        sweep_on(node)
        way(node)

    return do


def delete_from_a(node: AdminNode) -> None:
    delete_pod(node, "a", "k")


WAYS: dict[str, Callable[[AdminNode], object]] = {
    "sweep": sweep_on,
    "backlog": with_backlog,
    "DEL": delete_from_a,
    "sweep and backlog": swept_before(work_off),
    "sweep and DEL": swept_before(delete_from_a),
}


@pytest.mark.parametrize("way", WAYS)
def test_living_pods_address_stays(node: AdminNode, way: str) -> None:
    WAYS[way](node)
    assert OURS == node.files()
    assert node.record_of("b", "k").exists()
    assert (way == "sweep") == node.record_of("a", "k").exists()


def test_garbage_collection_leaves_it(node: AdminNode, monkeypatch: pytest.MonkeyPatch) -> None:
    collect_garbage(node, "a", monkeypatch)
    assert OURS == node.files()
    assert not node.record_of("a", "k").exists()


@pytest.mark.parametrize("way", ["DEL", "backlog"])
def test_damaged_record_of_the_other_network_frees_no_more(node: AdminNode, way: str) -> None:
    """All of the owner's addresses are looked for then, in all blocks."""
    node.record_of("a", "k").write_text('{"format": 1, "netw')
    WAYS[way](node)
    assert OURS == node.files()
    assert node.record_of("a", "k").with_suffix(".damaged").exists()
    assert node.record_of("b", "k").exists()


def test_count_is_of_what_is_freed(node: AdminNode) -> None:
    assert 1 == sweep_on(node).freed
    assert 0 == sweep_on(node).freed
    assert OURS == node.files()


@pytest.mark.parametrize("reclaimed", [True, False], ids=["before its ADD", "after its ADD"])
def test_conf_that_was_renamed_before_a_boot(admin_node: AdminNode, *, reclaimed: bool) -> None:
    """A runtime that keeps its containers' names: podman. The old name's record has its turn."""
    admin_node.attach("k", "10.1.0.2", "10.1.0.3", network="a", boot=EARLIER)
    if reclaimed:
        admin_node.write("boot", EARLIER)
        first_call(admin_node)
        assert {} == admin_node.files()
        admin_node.attach("k", "10.1.0.2", network="b")
    else:
        admin_node.record("k", "10.1.0.2", network="b")
        admin_node.write("boot", EARLIER)
        first_call(admin_node)
    work_off(admin_node)
    work_off(admin_node)
    assert OURS == admin_node.files()
    assert not admin_node.record_of("a", "k").exists()
    assert admin_node.record_of("b", "k").exists()


def test_own_addresses_go_though_others_have_the_same_name(admin_node: AdminNode) -> None:
    admin_node.attach("k", "10.1.0.2", network="a")
    admin_node.attach("k", "10.1.0.3", network="b")
    delete_pod(admin_node, "a", "k")
    assert {"10.1.0.3": "k net1"} == admin_node.files()
    delete_pod(admin_node, "b", "k")
    assert {} == admin_node.files()


def test_both_gone_leave_nothing(node: AdminNode) -> None:
    delete_pod(node, "a", "k")
    delete_pod(node, "b", "k")
    assert {} == node.files()
    with opened(node.data) as store:
        assert [] == list(store.reservations())
        store.restore(on(BLOCK, "10.1.0.2"), Owner("new", "net1"))
