from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from multinic_ipam.folders import Folder
from multinic_ipam.notes import Notes
from tests.unit.descriptors import open_descriptors
from tests.unit.faults import CALLS, Fault
from tests.unit.stores import A, B, held, opened, pool, take

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    before = open_descriptors()
    with Folder.at(str(tmp_path)) as root:
        notes = Notes(root, "imported")
        yield notes
        notes.close()
    assert before == open_descriptors()


def texts_of(notes: Notes) -> dict[str, str | None]:
    return {address: notes.read(address) for address in notes.addresses()}


def test_notes_by_address(notes: Notes, tmp_path: Path) -> None:
    notes.write("10.1.0.1", "/var/lib/cni/networks/old")
    notes.write("fd00::1", "ü")
    notes.write("10.1.0.1", "/srv")
    assert ("/srv", "ü", None) == tuple(
        notes.read(each) for each in ("10.1.0.1", "fd00::1", "10.1.0.2")
    )
    assert {"10.1.0.1": "/srv", "fd00::1": "ü"} == texts_of(notes)
    notes.remove("10.1.0.1")
    notes.remove("10.1.0.1")
    assert {"fd00::1": "ü"} == texts_of(notes)
    assert ["fd00::1"] == [each.name for each in (tmp_path / "imported").iterdir()]


def test_looking_makes_no_folder(notes: Notes, tmp_path: Path) -> None:
    assert notes.read("10.1.0.1") is None
    notes.remove("10.1.0.1")
    assert [] == notes.addresses()
    assert [] == list(tmp_path.iterdir())


def test_what_is_no_text_and_what_is_torn(notes: Notes, tmp_path: Path) -> None:
    notes.write("10.1.0.1", "a")
    (tmp_path / "imported" / "10.1.0.2").write_bytes(b"\xff")
    (tmp_path / "imported" / ".10.1.0.3.new").write_bytes(b"to")
    assert {"10.1.0.1": "a", "10.1.0.2": "\ufffd"} == texts_of(notes)


def test_what_is_no_note_of_an_address_says_so(notes: Notes, tmp_path: Path) -> None:
    notes.write("10.1.0.1", "a")
    (tmp_path / "imported" / "10.1.0.2").mkdir()
    (tmp_path / "imported" / "10.1.0.3").symlink_to("10.1.0.1")
    (tmp_path / "imported" / "README").write_text("b")
    assert ["10.1.0.1", "10.1.0.2", "10.1.0.3"] == notes.addresses()
    for each in ("10.1.0.2", "10.1.0.3"):
        with pytest.raises(OSError, match=r"Is a directory|symbolic"):
            notes.read(each)


def test_folder_in_a_notes_place_keeps_no_address(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        take(store, A, pool())
        (tmp_path / "imported" / "10.1.0.1").mkdir(parents=True)
        assert [] == store.release(held("10.1.0.1"), A)
        assert [] == list(store.reservations())


def test_link_is_not_followed(notes: Notes, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "imported").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"symbolic|Not a directory"):
        notes.write("10.1.0.1", "a")
    assert [] == list((tmp_path / "elsewhere").iterdir())


def test_note_of_where_an_address_came_from_goes_with_it(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        take(store, A, pool(), pool())
        take(store, B, pool())
        for address in ("10.1.0.1", "10.1.0.3"):
            store.imported.write(address, "/var/lib/cni/networks/old")
        store.release(held("10.1.0.1", "10.1.0.2", "10.1.0.3"), A)
        assert ["10.1.0.3"] == store.imported.addresses()


def test_release_that_failed_can_be_repeated_with_a_note(tmp_path: Path) -> None:
    for nth in range(1, 50):
        folder = tmp_path / str(nth)
        with opened(folder) as store:
            take(store, A, pool())
            store.imported.write("10.1.0.1", "/var/lib/cni/networks/old")
        fault = Fault(CALLS, nth, errno.EIO)
        with opened(folder) as store:
            fault.during(lambda: store.release(held("10.1.0.1"), A))
        with opened(folder) as store:
            store.release(held("10.1.0.1"), A)
            assert [] == list(store.reservations()), fault.met
            assert [] == store.imported.addresses(), fault.met
        if not fault.met:
            return
    pytest.fail("the work never ended without a fault")
