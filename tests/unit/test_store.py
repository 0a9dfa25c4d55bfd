from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_ipam.choosing import PATIENCE
from multinic_ipam.refusals import PoolExhaustedError
from multinic_ipam.reservation import Owner
from tests.unit.descriptors import open_descriptors
from tests.unit.stores import A, B, files, held, opened, plant, pool, take, texts

if TYPE_CHECKING:
    from pathlib import Path


def test_layout_is_host_locals(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        take(store, A, pool())
    assert {"10.1.0.1": "c0ffee\r\nnet1"} == files(tmp_path)
    cursor = tmp_path / "pools" / "10.1.0.0-29" / "last_reserved_ip.0"
    assert "10.1.0.1" == cursor.read_text()
    assert {"lock", "pools", "turns"} == {each.name for each in tmp_path.iterdir()}
    assert {"10.1.0.0-29"} == {each.name for each in (tmp_path / "pools").iterdir()}


def test_nobody_else_may_look(tmp_path: Path) -> None:
    data = tmp_path / "multinic"
    with opened(data) as store:
        take(store, A, pool())
    modes = {each.stat().st_mode & 0o777 for each in data.rglob("*") if each.is_file()}
    assert {0o600} == modes
    assert {0o700} == {each.stat().st_mode & 0o777 for each in (data, *data.rglob("*/"))}


def test_addresses_come_next_fit(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        first = take(store, A, pool())
        second = take(store, B, pool())
        store.release(held(*first), A)
        third = take(store, A, pool())
    assert ["10.1.0.1", "10.1.0.2", "10.1.0.3"] == [*first, *second, *third]


def test_two_nics_of_one_pool_get_two_addresses(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        assert ["10.1.0.1", "10.1.0.2"] == take(store, A, pool(), pool())
    assert {"10.1.0.1", "10.1.0.2"} == set(files(tmp_path))


def test_choosing_writes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        assert "10.1.0.1" == store.choose(pool(), ()).address
        assert "10.1.0.1" == store.choose(pool(), ()).address
    assert ["lock", "pools"] == sorted(each.name for each in tmp_path.rglob("*"))


def test_hole_in_a_crowded_pool_is_found(tmp_path: Path) -> None:
    wide = "10.4.0.0-22"
    folder = tmp_path / "pools" / wide
    folder.mkdir(parents=True)
    assert PATIENCE < 128  # else it is no crowd
    names = [f"10.4.0.{host}" for host in range(1, 256)]
    hole = "10.4.0.200"
    for name in names:
        if name != hole:
            (folder / name).write_bytes(B.content)
    with opened(tmp_path) as store:
        assert [hole] == take(store, A, pool("10.4.0.0/22"))
        assert ["10.4.1.0"] == take(store, A, pool("10.4.0.0/22"))


def test_crowded_pool_that_is_full(tmp_path: Path) -> None:
    full = pool("10.4.0.0/24")
    with opened(tmp_path) as store:
        take(store, A, full)
        for number in range(2, 255):
            (tmp_path / "pools" / "10.4.0.0-24" / f"10.4.0.{number}").write_bytes(B.content)
        with pytest.raises(PoolExhaustedError) as raised:
            store.choose(full, ())
    assert "exhausted: 254 of its 254 addresses are reserved" in str(raised.value)


def test_ranges_of_one_block_have_cursors_of_their_own(tmp_path: Path) -> None:
    low, high = pool(end="10.1.0.3"), pool(start="10.1.0.4")
    with opened(tmp_path) as store:
        assert ["10.1.0.1", "10.1.0.4"] == take(store, A, low, high)
        store.release(held("10.1.0.1", "10.1.0.4"), A)
        assert ["10.1.0.2", "10.1.0.5"] == take(store, A, low, high)


def test_exhausted_pool_says_how_full_it_is(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for _ in range(6):
            take(store, A, pool())
        with pytest.raises(PoolExhaustedError) as raised:
            store.choose(pool(), ())
    assert "10.1.0.0/29 is exhausted: 6 of its 6 addresses are reserved" in str(raised.value)


def test_last_free_address_is_found_behind_the_cursor(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for _ in range(6):
            take(store, A, pool())
        store.release(held("10.1.0.3"), A)
        assert ["10.1.0.3"] == take(store, B, pool())


def test_ipv6(tmp_path: Path) -> None:
    six = pool("fd00::/64")
    with opened(tmp_path) as store:
        assert ["fd00::1", "fd00::2"] == take(store, A, six, six)
        assert [] == store.release([*held("fd00::1", block="fd00::/64")], A)
    assert {"fd00::2": "c0ffee\r\nnet1"} == files(tmp_path, "fd00::-64")


def test_release_leaves_what_is_another_owners(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        take(store, A, pool())
        take(store, B, pool())
        foreign = store.release(held("10.1.0.1", "10.1.0.2"), A)
    assert ["10.1.0.2"] == texts(foreign)
    assert {"10.1.0.2": "decade\r\nnet1"} == files(tmp_path)


@pytest.mark.parametrize("other", [Owner("c0ffee", "net2"), Owner("c0ffe", "net1")], ids=str)
def test_owner_is_container_and_interface(tmp_path: Path, other: Owner) -> None:
    with opened(tmp_path) as store:
        take(store, A, pool())
        assert ["10.1.0.1"] == texts(store.release(held("10.1.0.1"), other))


def test_releasing_what_is_not_there_is_success(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        assert [] == store.release(held("10.1.0.1"), A)
        take(store, A, pool())
        assert [] == store.release(held("10.1.0.1", "10.1.0.5"), A)
        assert [] == store.release(held("10.1.0.1"), A)
    assert {} == files(tmp_path)


@pytest.mark.parametrize("content", ["", "\n", " \r\n "], ids=["empty", "line", "separator"])
def test_damaged_file_that_the_record_names_is_released(tmp_path: Path, content: str) -> None:
    plant(tmp_path, "10.1.0.1", content)
    with opened(tmp_path) as store:
        assert [] == store.release(held("10.1.0.1"), A)
    assert {} == files(tmp_path)


def test_file_that_is_no_text_is_damaged(tmp_path: Path) -> None:
    plant(tmp_path, "10.1.0.1").write_bytes(b"\xff\xfe")
    with opened(tmp_path) as store:
        ((reservation, owner),) = store.reservations()
        assert ("10.1.0.1", None) == (reservation.address, owner)
        assert ["10.1.0.2"] == take(store, B, pool())  # nobody else may have it


@pytest.mark.parametrize("content", ["", "garbage", "10.9.9.9", "\0", "10.1.0.3 \n"])
def test_damaged_cursor_is_only_a_lost_preference(tmp_path: Path, content: str) -> None:
    plant(tmp_path, "last_reserved_ip.0", content)
    expected = "10.1.0.4" if content.startswith("10.1.0.3") else "10.1.0.1"
    with opened(tmp_path) as store:
        assert [expected] == take(store, A, pool())


def test_files_of_host_local_are_taken_over(tmp_path: Path) -> None:
    plant(tmp_path, "10.1.0.1", "deadbeef\r\neth0")
    plant(tmp_path, "10.1.0.2", "deadbeef\r\neth0\n")
    plant(tmp_path, "last_reserved_ip.0", "10.1.0.2")
    with opened(tmp_path) as store:
        assert ["10.1.0.3"] == take(store, A, pool())
        owner = Owner("deadbeef", "eth0")
        assert [] == store.not_held(held("10.1.0.1"), owner)
        assert [] == store.release(held("10.1.0.1"), owner)


def test_restoring_creates_all_or_none_and_moves_no_cursor(tmp_path: Path) -> None:
    elsewhere = held("10.2.0.9", block="10.2.0.0/24")
    with opened(tmp_path) as store:
        take(store, A, pool())
        store.restore([*held("10.1.0.5"), *elsewhere], B)
        with pytest.raises(FileExistsError):
            store.restore(held("10.1.0.6", "10.1.0.5"), A)
        assert {"10.1.0.1": A.content, "10.1.0.5": B.content, "10.2.0.9": B.content} == {
            each.address: owner and owner.content for each, owner in store.reservations()
        }
        assert ["10.1.0.2"] == take(store, A, pool())
        assert [] == store.release([*held("10.1.0.5"), *elsewhere], B)
    assert {"10.1.0.1", "10.1.0.2"} == set(files(tmp_path))
    assert [] == list((tmp_path / "pools").glob("10.2.0.0-24/*"))


def test_not_held(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        take(store, A, pool())
        take(store, B, pool())
        wanted = [*held("10.1.0.1", "10.1.0.2", "10.1.0.3"), *held("10.7.0.1", block="10.7.0.0/24")]
        assert ["10.1.0.2", "10.1.0.3", "10.7.0.1"] == texts(store.not_held(wanted, A))
    assert not (tmp_path / "pools" / "10.7.0.0-24").exists()


def test_is_reserved_whoever_has_it(tmp_path: Path) -> None:
    plant(tmp_path, "10.1.0.3", "")
    with opened(tmp_path) as store:
        take(store, A, pool())
        wanted = [*held("10.1.0.1", "10.1.0.2", "10.1.0.3"), *held("10.7.0.1", block="10.7.0.0/24")]
        assert [True, False, True, False] == [store.is_reserved(each) for each in wanted]
    assert not (tmp_path / "pools" / "10.7.0.0-24").exists()


def test_next_address_after_one_that_somebody_says(tmp_path: Path) -> None:
    """For a pool that is taken over: it goes on where its former keeper was."""
    part = pool(start="10.1.0.2", end="10.1.0.5")
    with opened(tmp_path) as store:
        assert store.begin_after(part, "10.1.0.4")
        assert not store.begin_after(part, "10.1.0.2")
        assert [["10.1.0.5"], ["10.1.0.2"]] == [take(store, A, part) for _ in range(2)]
        assert ["10.1.0.1"] == take(store, A, pool())  # another range has its own cursor


def test_proof_that_the_store_is_writable_leaves_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        take(store, A, pool())
        before = sorted(tmp_path.rglob("*"))
        store.prove_writable()
    assert before == sorted(tmp_path.rglob("*"))


def test_owner_is_written_and_read_back() -> None:
    read = Owner.read(A.content)
    assert read is not None
    assert ("c0ffee", "net1") == (read.container_id, read.ifname)


def test_descriptors_are_closed(tmp_path: Path) -> None:
    before = open_descriptors()
    with opened(tmp_path) as store:
        take(store, A, pool(), pool("10.2.0.0/24"))
        list(store.reservations())
        store.release(held("10.1.0.1"), A)
    assert before == open_descriptors()
