"""What is no file of ours in the data directory, and imports that came to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.attachments.claim import claim
from multinic_cni.reservations import with_store
from multinic_ipam.networks import Network
from multinic_ipam.pools import Pool
from multinic_ipam.reservation import Owner
from tests.unit.admin import BLOCK, EARLIER, on
from tests.unit.commands import run
from tests.unit.stores import opened
from tests.unit.verbs import collect_garbage, delete_pod, first_call, soon, sweep_on, work_off

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_ipam.store import Store
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


def test_note_of_an_import_that_came_to_nothing_frees_no_living_pod(admin_node: AdminNode) -> None:
    """The import was killed between its note and the address file; then a pod got the address."""
    admin_node.write("imported/10.1.0.2", str(admin_node.host_local_folder()))
    admin_node.attach("p", "10.1.0.2")
    assert 0 == sweep_on(admin_node).freed
    assert {"10.1.0.2": "p net1"} == admin_node.files()


def test_address_that_is_given_has_no_source_any_more(admin_node: AdminNode) -> None:
    admin_node.write("imported/10.1.0.1", str(admin_node.host_local_folder()))
    block = Network.parse(BLOCK)
    pool = Pool(block, prefix_length=24)

    def give(store: Store) -> None:
        store.reserve([store.choose(pool, ())], [pool], Owner("p", "net1"))

    with_store(admin_node.path, soon(), give)
    assert {"10.1.0.1": "p net1"} == admin_node.files()
    assert [] == [*(admin_node.data / "imported").iterdir()]


def test_import_that_is_refused_leaves_no_note(admin_node: AdminNode) -> None:
    folder = admin_node.host_local_folder()
    (folder / "10.1.0.2").write_bytes(b"old\r\neth0")
    (folder / "lock").write_text("")
    admin_node.attach("p", "10.1.0.9")
    status, _ = run("ipam", "import", str(folder), "--subnet", "10.1.0.0/16", node=admin_node)
    assert 1 == status
    assert {"10.1.0.9": "p net1"} == admin_node.files()
    assert not [*admin_node.data.glob("imported/*")]


def test_import_of_nothing_but_strangers_fails(admin_node: AdminNode) -> None:
    folder = admin_node.host_local_folder()
    (folder / "10.1.0.2").write_bytes(b"old\r\neth0")
    (folder / "lock").write_text("")
    words = ("ipam", "import", str(folder), "--subnet", "10.2.0.0/24")
    assert 1 == run(*words, node=admin_node)[0]


def test_import_note_that_cannot_be_read_holds_the_address(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin_node.reserve("10.1.0.2", "old\r\neth0")
    (admin_node.data / "imported" / "10.1.0.2").mkdir(parents=True)
    collect_garbage(admin_node, "rails", monkeypatch)
    assert 0 == sweep_on(admin_node).freed
    assert {"10.1.0.2": "old eth0"} == admin_node.files()


def test_import_note_of_garbage_holds_the_address(admin_node: AdminNode) -> None:
    admin_node.reserve("10.1.0.2", "old\r\neth0")
    admin_node.write("imported/10.1.0.2", "\0\0\0")
    assert 0 == sweep_on(admin_node).freed
    assert {"10.1.0.2": "old eth0"} == admin_node.files()


def test_busy_attachment_stays_in_the_backlog(admin_node: AdminNode) -> None:
    admin_node.attach("b", "10.1.0.2", lives=False)
    sweep_on(admin_node)
    held = claim(admin_node.path, "rails", "b:net1", soon())
    work_off(admin_node)
    held.close()
    assert "rails/b:net1\n" == (admin_node.data / "backlog").read_text()
    work_off(admin_node)
    assert not admin_node.record_of("rails", "b").exists()


def thing_at(place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.mkdir()
    return place


def test_del_where_a_folder_stands_for_an_address(admin_node: AdminNode) -> None:
    admin_node.record("b", "10.1.0.2")
    thing_at(admin_node.data / "pools" / "10.1.0.0-24" / "10.1.0.2")
    with opened(admin_node.data) as store:
        assert 1 == len(store.not_held(on(BLOCK, "10.1.0.2"), Owner("b", "net1")))
    delete_pod(admin_node, "rails", "b")
    assert not admin_node.record_of("rails", "b").exists()


def test_strange_lock_does_not_stop_a_sweep(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1", lives=False)
    admin_node.attach("b", "10.1.0.2", lives=False)
    lock = admin_node.record_of("rails", "a").with_name("a:net1.lock")
    lock.unlink(missing_ok=True)
    thing_at(lock)
    swept = sweep_on(admin_node)
    assert (1, 1) == (swept.freed, swept.kept)
    assert {"10.1.0.1": "a net1"} == admin_node.files()


@pytest.mark.parametrize("name", ["backlog", "boot"])
def test_first_call_after_a_boot_where_a_folder_stands(admin_node: AdminNode, name: str) -> None:
    admin_node.attach("old", "10.1.0.9", boot=EARLIER)
    admin_node.write("boot", EARLIER)
    (admin_node.data / name).unlink(missing_ok=True)
    thing_at(admin_node.data / name)
    first_call(admin_node)
    assert {} == admin_node.files()


def test_quarantine_that_is_no_folder_forbids_nothing(admin_node: AdminNode) -> None:
    admin_node.write("quarantine", "")
    with opened(admin_node.data) as store:
        pool = Pool(Network.parse(BLOCK), prefix_length=24)
        assert "10.1.0.1" == store.choose(pool, ()).address


def test_del_where_imported_is_no_folder(admin_node: AdminNode) -> None:
    admin_node.attach("b", "10.1.0.2")
    admin_node.write("imported", "")
    delete_pod(admin_node, "rails", "b")
    assert {} == admin_node.files()
