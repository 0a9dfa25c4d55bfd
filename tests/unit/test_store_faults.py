"""Full disks, missing rights, crashes and planted links: all or none, and nothing of others."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from multinic_ipam.networks import Network
from multinic_ipam.pools import Pool
from multinic_ipam.reservation import Owner, Reservation
from multinic_ipam.store import Store
from tests.unit.descriptors import open_descriptors
from tests.unit.faults import CALLS, Fault, Kill, KilledError, process_that_may_be_killed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

A, B = Owner("c0ffee", "net1"), Owner("decade", "net1")
POOLS = [Pool(Network.parse(f"10.{each}.0.0/29"), prefix_length=29) for each in (1, 2, 3)]
MOST_CALLS = 200


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    with Store(str(folder), time.monotonic() + 5) as store:
        yield store


def chosen(store: Store) -> list[Reservation]:
    return [store.choose(each, ()) for each in POOLS]


def addresses(folder: Path) -> dict[str, bytes]:
    found = (folder / "pools").glob("*/10.*")
    return {each.name: each.read_bytes() for each in found}


def prepare(folder: Path) -> list[Reservation]:
    """Reserve for B, and choose for A what will be tried to reserve with a fault."""
    with opened(folder) as store:
        store.reserve(chosen(store), POOLS, B)
        return chosen(store)


BEFORE = {f"10.{each}.0.1": B.content for each in (1, 2, 3)}
AFTER = {**BEFORE, **{f"10.{each}.0.2": A.content for each in (1, 2, 3)}}


@pytest.mark.parametrize(
    ("calls", "number"),
    [(CALLS, errno.EMFILE), *(((each,), errno.ENOSPC) for each in CALLS)],
    ids=["any", *CALLS],
)
def test_reserve_is_all_or_none_whatever_fails(
    tmp_path: Path, calls: tuple[str, ...], number: int
) -> None:
    for nth in range(1, MOST_CALLS):
        folder = tmp_path / str(nth)
        wanted = prepare(folder)
        fault = Fault(calls, nth, number)
        with opened(folder) as store:
            error = fault.during(lambda: store.reserve(wanted, POOLS, A))  # noqa: B023 - done here
        if not fault.met:
            assert error is None
            break
        assert (AFTER if error is None else BEFORE) == addresses(folder), fault.met
        assert error is None or not fault.met_a_hint
        # What the fault left behind disturbs nobody.
        with opened(folder) as store:
            store.release(wanted, A)
            store.reserve(wanted, POOLS, A)
        assert AFTER == addresses(folder), fault.met
    else:
        pytest.fail("the work never ended without a fault")
    assert AFTER == addresses(folder)


@pytest.mark.parametrize("call", ["open", "write", "link", "rename"])
def test_full_disk_leaves_no_torn_file(tmp_path: Path, call: str) -> None:
    for nth in range(1, MOST_CALLS):
        folder = tmp_path / str(nth)
        wanted = prepare(folder)
        before = sorted(folder.rglob("*"))
        fault = Fault((call,), nth, errno.ENOSPC)
        with opened(folder) as store:
            error = fault.during(lambda: store.reserve(wanted, POOLS, A))  # noqa: B023 - done here
        if not fault.met:
            return
        assert fault.met_a_hint == (error is None), fault.met
        if error is not None:
            assert before == sorted(folder.rglob("*")), fault.met
    pytest.fail("the work never ended without a fault")


@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS], ids=str)
def test_release_that_failed_can_be_repeated(tmp_path: Path, number: int) -> None:
    for nth in range(1, MOST_CALLS):
        folder = tmp_path / str(nth)
        wanted = prepare(folder)
        with opened(folder) as store:
            store.reserve(wanted, POOLS, A)
        fault = Fault(CALLS, nth, number)
        with opened(folder) as store:
            error = fault.during(lambda: store.release(wanted, A))  # noqa: B023 - done here
        assert bool(fault.met and not fault.met_a_hint) == (error is not None)
        with opened(folder) as store:
            store.release(wanted, A)
        assert BEFORE == addresses(folder), fault.met
        if not fault.met:
            return
    pytest.fail("the work never ended without a fault")


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=str)
def test_hints_that_cannot_be_read_or_written_keep_nobody_from_an_address(
    tmp_path: Path, number: int
) -> None:
    """Neither choosing nor reserving nor releasing needs them; the addresses are all there."""
    met = set()
    for nth in range(1, MOST_CALLS):
        folder = tmp_path / str(nth)
        prepare(folder)
        fault = Fault(("open", "mkdir", "pwrite"), nth, number)
        with opened(folder) as store:
            error = fault.during(lambda: reserve_and_release_for_a(store))
        if not fault.met:
            break
        met.add(fault.met.rpartition("/")[2] if fault.met_a_hint else "")
        assert error is None or not fault.met_a_hint, fault.met
    assert {"10.1.0.0", "10.2.0.0", "10.3.0.0"} < met


def reserve_and_release_for_a(store: Store) -> None:
    wanted = chosen(store)
    store.reserve(wanted, POOLS, A)
    store.release(wanted, A)


def test_kill_at_every_change_of_reserve(tmp_path: Path) -> None:
    """What stands there then is whole and A's; the same release and reserve go on from it."""
    for nth in range(1, MOST_CALLS):
        folder = tmp_path / str(nth)
        wanted = prepare(folder)
        kill = Kill(nth)
        with process_that_may_be_killed(), opened(folder) as store, kill:
            store.reserve(wanted, POOLS, A)
        left = addresses(folder)
        assert BEFORE.items() <= left.items() <= AFTER.items(), kill.met
        with opened(folder) as store:
            store.release(wanted, A)
            assert BEFORE == addresses(folder), kill.met
            store.reserve(wanted, POOLS, A)
        assert AFTER == addresses(folder), kill.met
        if not kill.met:
            return
    pytest.fail("the work never ended without a kill")


def test_kill_at_every_change_of_release(tmp_path: Path) -> None:
    for nth in range(1, MOST_CALLS):
        folder = tmp_path / str(nth)
        wanted = prepare(folder)
        with opened(folder) as store:
            store.reserve(wanted, POOLS, A)
        kill = Kill(nth)
        with process_that_may_be_killed(), opened(folder) as store, kill:
            store.release(wanted, A)
        assert BEFORE.items() <= addresses(folder).items() <= AFTER.items(), kill.met
        with opened(folder) as store:
            assert [] == store.release(wanted, A)
        assert BEFORE == addresses(folder), kill.met
        if not kill.met:
            return
    pytest.fail("the work never ended without a kill")


def test_kill_is_no_error_that_a_handler_could_mend(tmp_path: Path) -> None:
    """The tests above see what a killed process leaves, not what its handlers tidy up."""
    for root in (tmp_path / str(nth) for nth in range(1, MOST_CALLS)):
        wanted = prepare(root)
        before = open_descriptors()
        with pytest.raises(KilledError), opened(root) as store, Kill(int(root.name)):
            store.reserve(wanted, POOLS, A)
        assert before == open_descriptors()
        if (root / "pools" / ".reservation").exists():
            return
    pytest.fail("nothing was ever left behind")


def test_opening_the_store_leaks_no_descriptor_when_it_fails(tmp_path: Path) -> None:
    before = open_descriptors()
    store = Store(str(tmp_path / "data"), time.monotonic() + 5)
    for nth in range(1, MOST_CALLS):
        fault = Fault(CALLS, nth, errno.EMFILE)
        assert fault.during(store.__enter__) is not None or not fault.met
        if not fault.met:
            store.__exit__(None, None, None)
            break
        assert before == open_descriptors(), fault.met
    assert before == open_descriptors()


def test_address_that_a_foreign_program_took_meanwhile(tmp_path: Path) -> None:
    wanted = prepare(tmp_path)
    (tmp_path / "pools" / "10.2.0.0-29" / "10.2.0.2").write_bytes(b"stranger\r\neth0")
    with opened(tmp_path) as store, pytest.raises(FileExistsError):
        store.reserve(wanted, POOLS, A)
    assert {**BEFORE, "10.2.0.2": b"stranger\r\neth0"} == addresses(tmp_path)


def test_prepared_file_of_a_crash_with_other_names_keeps_its_content(tmp_path: Path) -> None:
    # Killed between link and unlink: the prepared file is A's address file.
    wanted = prepare(tmp_path)
    with opened(tmp_path) as store:
        store.reserve(wanted, POOLS, A)
    os.link(tmp_path / "pools" / "10.1.0.0-29" / "10.1.0.2", tmp_path / "pools" / ".reservation")
    with opened(tmp_path) as store:
        store.reserve(chosen(store), POOLS, B)
    assert AFTER.items() <= addresses(tmp_path).items()
    assert B.content == addresses(tmp_path)["10.1.0.3"]
    assert not (tmp_path / "pools" / ".reservation").exists()


@pytest.mark.parametrize("name", [".reservation", "10.1.0.0-29/last_reserved_ip.0"])
def test_torn_files_of_a_crash_are_harmless(tmp_path: Path, name: str) -> None:
    wanted = prepare(tmp_path)
    (torn := tmp_path / "pools" / name).write_bytes(b"10.1.0.3" * 9)
    with opened(tmp_path) as store:
        assert [B.content] * 3 == [owner and owner.content for _, owner in store.reservations()]
        store.reserve(wanted, POOLS, A)
    assert AFTER == addresses(tmp_path)
    assert not torn.exists() or torn.read_bytes() == b"10.1.0.2"


def reserve_for_a(folder: Path) -> None:
    with opened(folder) as store:
        store.reserve(chosen(store), POOLS, A)


def release_b(folder: Path) -> None:
    with opened(folder) as store:
        store.release([Reservation("10.1.0.0/29", "10.1.0.1")], B)


@pytest.mark.parametrize("work", [reserve_for_a, release_b], ids=["reserve", "release"])
@pytest.mark.parametrize("planted", ["lock", "pools", "pools/10.1.0.0-29"])
def test_link_in_place_of_a_folder_or_lock_is_not_followed(
    tmp_path: Path, planted: str, work: Callable[[Path], None]
) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    prepare(data)
    (data / planted).rename(elsewhere)
    (data / planted).symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*")) if elsewhere.is_dir() else []
    with pytest.raises(OSError, match=r"symbolic|Not a directory"):
        work(data)
    assert before == (sorted(elsewhere.rglob("*")) if elsewhere.is_dir() else [])


def plant_link(data: Path, name: str, victim: Path) -> None:
    prepare(data)
    victim.write_bytes(b"10.1.0.5")
    link = data / "pools" / "10.1.0.0-29" / name
    link.unlink(missing_ok=True)
    link.symlink_to(victim)


def test_link_in_place_of_an_address_is_passed_over(tmp_path: Path) -> None:
    data, victim = tmp_path / "data", tmp_path / "victim"
    plant_link(data, "10.1.0.2", victim)
    reserve_for_a(data)
    assert b"10.1.0.5" == victim.read_bytes()
    link = Reservation("10.1.0.0/29", "10.1.0.2")
    with opened(data) as store:
        assert [link.address] == [each.address for each in store.release([link], A)]
    assert b"10.1.0.5" == victim.read_bytes()
    assert (data / "pools" / "10.1.0.0-29" / "10.1.0.2").is_symlink()


def test_link_in_place_of_a_cursor_is_not_followed(tmp_path: Path) -> None:
    data, victim = tmp_path / "data", tmp_path / "victim"
    plant_link(data, "last_reserved_ip.0", victim)
    reserve_for_a(data)
    assert b"10.1.0.5" == victim.read_bytes()
    assert AFTER == addresses(data)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "a\0b"])
def test_only_plain_names_reach_the_disk(tmp_path: Path, name: str) -> None:
    prepare(tmp_path)
    with opened(tmp_path) as store, pytest.raises(ValueError, match="is not a plain file name"):
        store.release([Reservation("10.1.0.0/29", name)], A)
