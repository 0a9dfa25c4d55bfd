"""GC and addresses of nobody: what a record, an ADD of this moment or host-local has, stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.attachments import records
from multinic_cni.reservations import with_store
from multinic_cni.verbs import gc
from tests.unit.admin import EARLIER
from tests.unit.verbs import collect_garbage

if TYPE_CHECKING:
    from collections.abc import Callable

    from multinic_cni.attachments.record import Record
    from multinic_ipam.store import Store
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


def test_address_without_a_record_goes(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin_node.reserve("10.1.0.5", "gone\r\nnet1")
    admin_node.reserve("10.1.0.6", "listed\r\nnet1")
    admin_node.reserve("10.1.0.7", "")
    collect_garbage(admin_node, "rails", monkeypatch, "listed")
    assert {"10.1.0.6": "listed net1", "10.1.0.7": ""} == admin_node.files()


def test_address_of_a_record_of_any_network_stays(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected: dict[str, str] = {}
    for number, network in enumerate(("another", "storage", "yet-another"), start=1):
        admin_node.attach("a", f"10.1.0.{number}", network=network)
        admin_node.attach(network, f"10.1.0.1{number}", network=network).write_text("{")
        expected |= {f"10.1.0.{number}": "a net1", f"10.1.0.1{number}": f"{network} net1"}
    collect_garbage(admin_node, "rails", monkeypatch)
    assert expected == admin_node.files()


def test_file_of_nobody_whose_address_a_record_names(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody wrote over the file of a living pod, which has the address all the same."""
    admin_node.record("a", "10.1.0.1", network="storage")
    admin_node.reserve("10.1.0.1", "nobody\r\nnet1")
    admin_node.reserve("10.1.0.2", "nobody\r\nnet1")
    collect_garbage(admin_node, "rails", monkeypatch)
    assert {"10.1.0.1": "nobody net1"} == admin_node.files()


@pytest.mark.parametrize(
    ("content", "kept"), [("e\r\neth0", True), ("other's", True), (None, False)]
)
def test_imported_address_stays_with_its_file(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch, content: str | None, *, kept: bool
) -> None:
    folder = admin_node.host_local_folder()
    if content is not None:
        (folder / "10.1.0.6").write_bytes(content.encode())
    admin_node.reserve("10.1.0.6", "e\r\neth0")
    admin_node.write("imported/10.1.0.6", str(folder))
    collect_garbage(admin_node, "rails", monkeypatch)
    assert ({"10.1.0.6": "e eth0"} if kept else {}) == admin_node.files()


def before_the_lock(patch: pytest.MonkeyPatch, deed: Callable[[], object]) -> None:
    """Let something happen when GC has begun and waits for the store's lock."""

    def wait(data_dir: str, deadline: float, work: Callable[[Store], object]) -> object:
        deed()
        return with_store(data_dir, deadline, work)

    patch.setattr(gc, "with_store", wait)


@pytest.mark.parametrize("network", ["rails", "storage", "the-first-of-its-network"])
def test_pod_that_is_added_meanwhile_keeps_its_address(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch, network: str
) -> None:
    """The runtime made its list before; the folder of the pod's network may be a new one."""
    admin_node.attach("a", "10.1.0.1", network="storage")
    before_the_lock(
        monkeypatch, lambda: admin_node.attach("new", "10.1.0.5", network=network, lives=True)
    )
    collect_garbage(admin_node, "rails", monkeypatch, "a")
    assert {"10.1.0.1": "a net1", "10.1.0.5": "new net1"} == admin_node.files()


@pytest.mark.parametrize("suspicious", [False, True])
def test_records_are_read_only_where_something_is_suspected(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch, *, suspicious: bool
) -> None:
    """The lock is held meanwhile: a hundred records are a tenth of a second."""
    for number in range(1, 4):
        admin_node.attach(f"p{number}", f"10.1.0.{number}", network="storage")
    for number in range(5, 8) if suspicious else ():
        admin_node.reserve(f"10.1.0.{number}", f"gone{number}\r\nnet1")
    read: list[str] = []

    def peek(data_dir: str, network: str, key: str) -> Record | None:
        read.append(key)
        return peek_truly(data_dir, network, key)

    peek_truly = records.peek
    monkeypatch.setattr(records, "peek", peek)
    collect_garbage(admin_node, "rails", monkeypatch)
    assert (["p1:net1", "p2:net1", "p3:net1"] if suspicious else []) == read
    assert {f"10.1.0.{number}" for number in range(1, 4)} == set(admin_node.files())


def test_attachments_that_are_not_listed_are_cleared(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin_node.attach("a", "10.1.0.1", boot=EARLIER)
    admin_node.attach("b", "10.1.0.2", boot=EARLIER)
    admin_node.attach("c", "10.1.0.3", boot=EARLIER, network="storage")
    collect_garbage(admin_node, "rails", monkeypatch, "a")
    assert {"10.1.0.1": "a net1", "10.1.0.3": "c net1"} == admin_node.files()
