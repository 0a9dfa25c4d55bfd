"""`ipam import`: a folder of host-local becomes ours as well."""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING

import pytest

from multinic_cni.admin import takeover
from multinic_cni.admin.stock import inspect
from multinic_cni.admin.takeover import take_over
from multinic_cni.errors import TRY_AGAIN, CniError
from multinic_ipam.networks import Network
from multinic_ipam.store import Store
from tests.unit.admin import BLOCK, AdminNode
from tests.unit.commands import run
from tests.unit.stores import A, opened, pool, take

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from multinic_ipam.reservation import Owner, Reservation

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a folder as host-local leaves it."""
    folder = tmp_path / "networks"
    folder.mkdir()
    for name, content in {
        "10.1.0.2": "a\r\neth0",
        "10.1.0.3": "b\r\neth0",
        "10.1.0.4": "c",
        "fd00::2": "a\r\neth0",
        "last_reserved_ip.0": "10.1.0.4",
        "last_reserved_ip.1": "fd00::2",
        "lock": "",
    }.items():
        (folder / name).write_bytes(content.encode())
    return folder


def import_from(source: Path, node: AdminNode, *words: str) -> tuple[int, str]:
    return run("ipam", "import", str(source), "--subnet", BLOCK, *words, node=node)


def states(node: AdminNode) -> dict[str, str]:
    return {each.reservation.address: each.state for each in inspect(node.path).holdings}


IMPORTED = {"10.1.0.2": "a eth0", "10.1.0.3": "b eth0", "10.1.0.4": "c "}


def test_addresses_become_ours(admin_node: AdminNode, source: Path) -> None:
    before = {each.name: each.read_bytes() for each in source.iterdir()}
    status, output = import_from(source, admin_node, "--json")
    assert status == 0
    assert json.loads(output) == {
        "dryRun": False,
        "subnet": BLOCK,
        "imported": ["10.1.0.2", "10.1.0.3", "10.1.0.4"],
        "present": 0,
        "outside": 1,
        "refused": [],
        "cursor": "10.1.0.4",
    }
    assert IMPORTED == admin_node.files()
    assert dict.fromkeys(IMPORTED, "imported") == states(admin_node)
    assert before == {each.name: each.read_bytes() for each in source.iterdir()}


def test_next_address_comes_after_host_locals_last(admin_node: AdminNode, source: Path) -> None:
    import_from(source, admin_node)
    with opened(admin_node.data) as store:
        assert ["10.1.0.5"] == take(store, A, pool(BLOCK))


def test_own_cursor_stays(admin_node: AdminNode, source: Path) -> None:
    with opened(admin_node.data) as store:
        take(store, A, pool(BLOCK, start="10.1.0.1"))
    import_from(source, admin_node)
    with opened(admin_node.data) as store:
        assert ["10.1.0.5"] == take(store, A, pool(BLOCK))
        assert ["10.1.0.6"] == take(store, A, pool(BLOCK))
    before = admin_node.everything()
    import_from(source, admin_node)
    assert before == admin_node.everything()


def test_newest_cursor_counts(source: Path, admin_node: AdminNode) -> None:
    """host-local has one for each list of ranges."""
    (source / "last_reserved_ip.1").write_text("10.1.0.77")
    (source / "last_reserved_ip.2").write_bytes(b"\xff")
    os.utime(source / "last_reserved_ip.0", (1, 1))
    assert "10.1.0.77" == take_over(admin_node.path, str(source), Network.parse(BLOCK)).cursor


def test_ipv6(admin_node: AdminNode, source: Path) -> None:
    words = ["import", str(source), "--subnet", "fd00::/64"]
    assert 0 == run("ipam", *words, node=admin_node)[0]
    assert {"fd00::2": "a eth0"} == admin_node.files()
    cursor = admin_node.data / "pools/fd00::-64/last_reserved_ip.0"
    assert "fd00::2" == cursor.read_text()


def test_twice_is_once(admin_node: AdminNode, source: Path) -> None:
    import_from(source, admin_node)
    before = admin_node.everything()
    (source / "10.1.0.9").write_bytes(b"d\r\neth0")
    status, output = import_from(source, admin_node)
    line = f"{BLOCK}: 1 imported, 3 there already, 0 refused; 1 outside the subnet\n"
    assert (0, line) == (status, output)
    after = admin_node.everything()
    assert before.items() < after.items()


REFUSED = {
    "10.1.0.5": ("", "does not say whose it is"),
    "10.1.0.6": ("z\r\neth0", "belongs to y eth0 here, to z eth0 there"),
    "10.1.0.7": ("z\r\neth0", "belongs to somebody unknown here, to z eth0 there"),
    "README": ("", "is no address"),
}


def test_what_is_refused_stays_as_it_is(admin_node: AdminNode, source: Path) -> None:
    for name, (content, _) in REFUSED.items():
        (source / name).write_bytes(content.encode())
    admin_node.reserve("10.1.0.6", "y\r\neth0")
    admin_node.reserve("10.1.0.7", "")
    status, output = import_from(source, admin_node, "--json")
    assert status == 1
    document = json.loads(output)
    assert ["10.1.0.2", "10.1.0.3", "10.1.0.4"] == document["imported"]
    assert document["refused"] == [
        {"name": name, "reason": reason} for name, (_, reason) in REFUSED.items()
    ]
    assert IMPORTED | {"10.1.0.6": "y eth0", "10.1.0.7": ""} == admin_node.files()
    assert set(IMPORTED) == {each.name for each in (admin_node.data / "imported").iterdir()}


def test_refused_as_text(admin_node: AdminNode, source: Path) -> None:
    (source / "10.1.0.5").write_bytes(b"")
    line = f"{BLOCK}: 3 imported, 0 there already, 1 refused; 1 outside the subnet\n"
    expected = "10.1.0.5 does not say whose it is: not taken over\n" + line
    assert (1, expected) == import_from(source, admin_node)


def test_ipv6_address_in_another_spelling(admin_node: AdminNode, source: Path) -> None:
    """We would look for it under another name."""
    (source / "fd00:0::9").write_bytes(b"a\r\neth0")
    taken = take_over(admin_node.path, str(source), Network.parse("fd00::/64"))
    assert [("fd00:0::9", "would be called fd00::9 here")] == [
        (each.name, each.reason) for each in taken.refused
    ]


@pytest.mark.parametrize("store", [False, True])
def test_dry_run_changes_nothing(admin_node: AdminNode, source: Path, store: bool) -> None:
    if store:
        admin_node.reserve("10.1.0.3", "b\r\neth0")
    else:
        (admin_node.data / "boot").unlink()
        admin_node.data.rmdir()
    before = admin_node.everything()
    status, output = import_from(source, admin_node, "--dry-run", "--json")
    document = json.loads(output)
    assert (status, document["dryRun"], document["present"]) == (0, True, int(store))
    assert set(document["imported"]) == set(IMPORTED) - ({"10.1.0.3"} if store else set())
    assert before == admin_node.everything()
    assert store == admin_node.data.exists()


def test_first_use_of_the_node(admin_node: AdminNode, source: Path) -> None:
    (admin_node.data / "boot").unlink()
    admin_node.data.rmdir()
    assert 0 == import_from(source, admin_node)[0]
    assert IMPORTED == admin_node.files()


def test_interrupted_before_an_address_leaves_no_orphan(
    admin_node: AdminNode, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note that says where it is from must be there first, or a sweep would free it."""
    notes: list[bool] = []

    def restore(_store: Store, reservations: list[Reservation], _owner: Owner) -> None:
        notes.append((admin_node.data / "imported" / reservations[0].address).exists())

    monkeypatch.setattr(Store, "restore", restore)
    import_from(source, admin_node)
    assert [True] * 3 == notes


def is_free_at_each_file(lock: Path, source: Path, node: AdminNode) -> list[bool]:
    """Import; tell for each file, before it is looked at, whether the lock could be had."""
    free: list[bool] = []

    def look(names: list[str]) -> Iterator[str]:
        for name in names:
            free.append(is_free(lock))
            yield name

    take_over(node.path, str(source), Network.parse(BLOCK), walk=look)
    assert IMPORTED == node.files()
    return free


def test_store_is_free_between_batches(
    admin_node: AdminNode, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pods are added while it goes on."""
    monkeypatch.setattr(takeover, "BATCH", 2)
    assert [True] * 4 == is_free_at_each_file(admin_node.data / "lock", source, admin_node)


def is_free(file: Path) -> bool:
    if not file.exists():
        return True
    with file.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_host_local_is_locked_out_meanwhile(admin_node: AdminNode, source: Path) -> None:
    assert [False] * 4 == is_free_at_each_file(source / "lock", source, admin_node)
    assert is_free(source / "lock")


def test_lock_that_is_not_given(
    admin_node: AdminNode, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takeover, "LOCK_SECONDS", 0.1)
    with (source / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CniError, match="is held by another process") as raised:
            take_over(admin_node.path, str(source), Network.parse(BLOCK))
    assert TRY_AGAIN == raised.value.code


def test_any_other_folder_is_refused_untouched(admin_node: AdminNode, tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "10.1.0.2").write_text("a")
    with pytest.raises(CniError, match="is no folder of host-local"):
        take_over(admin_node.path, str(folder), Network.parse(BLOCK))
    assert ["10.1.0.2"] == [each.name for each in folder.iterdir()]


def test_own_folder_is_refused(admin_node: AdminNode, tmp_path: Path) -> None:
    """Its notes would keep every address for ever."""
    with opened(admin_node.data) as store:
        take(store, A, pool(BLOCK))
    (tmp_path / "link").symlink_to(admin_node.data / "pools")
    for folder in (admin_node.data / "pools/10.1.0.0-24", tmp_path / "link/10.1.0.0-24"):
        with pytest.raises(CniError, match="lies in our own data directory"):
            take_over(admin_node.path, str(folder), Network.parse(BLOCK))
    assert not (admin_node.data / "imported").exists()


def test_block_that_overlaps_another(admin_node: AdminNode, source: Path) -> None:
    admin_node.reserve("10.1.0.200", "z\r\nnet1", folder="10.1.0.128-25")
    with pytest.raises(CniError, match=r"pool 10\.1\.0\.0/24 overlaps pool 10\.1\.0\.128/25"):
        take_over(admin_node.path, str(source), Network.parse(BLOCK))
