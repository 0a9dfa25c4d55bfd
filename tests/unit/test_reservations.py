from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from multinic_cni.errors import BAD_CONF, IO_FAILURE, NO_ADDRESS, TRY_AGAIN, CniError
from multinic_cni.releasing import release, release_all_of
from multinic_cni.reservations import CrowdedError, Want, with_store
from multinic_ipam.networks import Network, parse_address
from multinic_ipam.pools import Pool
from multinic_ipam.reservation import Owner, Reservation
from tests.unit.accounts import (
    RAIL0,
    RAIL1,
    SMALL,
    account,
    asking,
    files,
    pool,
    recorded,
    refusal,
    reserve,
    soon,
    texts,
    unrecorded,
)
from tests.unit.stores import number

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.reservations import Addresses
    from multinic_ipam.store import Store


BLOCK_29, FOUR = Network.parse("10.1.0.0/29"), (number("10.1.0.4"), number("10.1.0.4"))


def preferring(want: Want, *addresses: str) -> Want:
    return want.but(preferred=[parse_address(each) for each in addresses])


def test_addresses_of_all_nics_and_families(tmp_path: Path) -> None:
    addresses = account(tmp_path).reserve(lambda _store: [RAIL0, RAIL1], unrecorded)
    expected = [
        [("10.1.0.0/29", "10.1.0.1", 29), ("fd00::/64", "fd00::1", 64)],
        [("10.1.0.0/29", "10.1.0.2", 29)],
    ]
    assert expected == [
        [(each.block, each.address, pool.prefix_length) for each, pool in own] for own in addresses
    ]
    assert {"10.1.0.1", "10.1.0.2", "fd00::1"} == files(tmp_path)


def test_record_is_written_before_any_address(tmp_path: Path) -> None:
    seen: list[object] = []

    def commit(store: Store, addresses: Addresses) -> None:
        seen.append((texts(addresses), list(store.reservations()), files(tmp_path)))

    account(tmp_path).reserve(lambda _store: [RAIL0], commit)
    assert [([["10.1.0.1", "fd00::1"]], [], set())] == seen


def test_record_that_cannot_be_written_reserves_nothing(tmp_path: Path) -> None:
    def full(_store: Store, _addresses: Addresses) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "record")

    error = refusal(lambda: account(tmp_path).reserve(lambda _store: [RAIL0], full))
    assert IO_FAILURE == error.code
    assert "No space left on device" in error.message
    assert set() == files(tmp_path)


def test_refusal_under_the_lock_reserves_and_records_nothing(tmp_path: Path) -> None:
    def refuse(_store: Store) -> list[Want]:
        raise CniError(BAD_CONF, "the share moves")

    def commit(_store: Store, _addresses: Addresses) -> None:
        pytest.fail("recorded")

    assert BAD_CONF == refusal(lambda: account(tmp_path).reserve(refuse, commit)).code
    assert set() == files(tmp_path)


def test_next_range_is_taken_when_one_is_full(tmp_path: Path) -> None:
    kept = [reserve(tmp_path, SMALL) for _ in range(3)]
    assert [[["10.9.0.0"]], [["10.9.0.1"]], [["10.8.0.0"]]] == kept


def test_exhaustion_names_the_nic_and_every_range(tmp_path: Path) -> None:
    for _ in range(4):
        reserve(tmp_path, SMALL)
    before = files(tmp_path)
    error = refusal(lambda: reserve(tmp_path, RAIL0, SMALL))
    assert NO_ADDRESS == error.code
    assert isinstance(error, CrowdedError)
    assert error.message.startswith("NIC rail2: pool 10.9.0.0/31 is exhausted: 2 of its 2 addresse")
    assert "; pool 10.8.0.0/31 is exhausted: 2 of its 2" in error.message
    assert before == files(tmp_path)


def test_cooldown_of_the_conf_reaches_the_pool(tmp_path: Path) -> None:
    resting = SMALL.but(alternatives=[[pool("10.9.0.0/31")]], cooldown=60)
    reserve(tmp_path, resting, owner=Owner("decade", "net1"))
    kept = recorded(account(tmp_path).reserve(lambda _store: [resting], unrecorded))
    release(str(tmp_path), soon(), kept)
    error = refusal(lambda: reserve(tmp_path, resting))
    assert "1 of its 2 addresses are reserved, 1 rest for up to 60 s (cooldown)" in error.message
    assert [["10.9.0.1"]] == reserve(tmp_path, resting.but(cooldown=0))


@pytest.mark.parametrize("failed", [0, 1])
def test_addresses_of_an_add_that_failed_need_no_rest(tmp_path: Path, failed: int) -> None:
    """No pod has used them, though one of the NICs was ready: five tries must not use a pool up."""
    alone = SMALL.but(alternatives=[[pool("10.9.0.0/31")]], cooldown=600)
    other = RAIL1.but(cooldown=600)
    for _ in range(5):
        kept = recorded(account(tmp_path).reserve(lambda _store: [alone, other], unrecorded))
        nics = [*kept.nics]
        nics[failed] = nics[failed].but(result=None)
        release(str(tmp_path), soon(), kept.but(nics=tuple(nics)))
    assert set() == files(tmp_path)
    given = [reserve(tmp_path, alone) for _ in range(2)]
    assert [[["10.9.0.0"]], [["10.9.0.1"]]] == sorted(given)


def test_asked_address_is_taken(tmp_path: Path) -> None:
    wants = [RAIL1, asking(RAIL0, "10.1.0.1")]
    assert [["10.1.0.2"], ["10.1.0.1", "fd00::1"]] == reserve(tmp_path, *wants)


def test_asked_address_goes_to_the_pool_that_gives_it(tmp_path: Path) -> None:
    """Two ranges of one subnet: the first leaves it out, and its gateway is no other's."""
    parts = [
        Pool(BLOCK_29, prefix_length=29, gateway=number("10.1.0.6"), excluded=[FOUR]),
        Pool(BLOCK_29, prefix_length=29, gateway=number("10.1.0.5")),
    ]
    both = Want(nic="rail0", alternatives=[parts])
    for wish in (asking(both, "10.1.0.4"), preferring(both, "10.1.0.4")):
        ((found,),) = account(tmp_path).reserve(lambda _store: [wish], unrecorded)  # noqa: B023
        assert ("10.1.0.4", parts[1]) == (found[0].address, found[1])
        release(str(tmp_path), soon(), recorded([[found]]))
    for router, other in (("10.1.0.6", 1), ("10.1.0.5", 0)):
        wish = asking(both, router)
        ((found,),) = account(tmp_path).reserve(lambda _store: [wish], unrecorded)  # noqa: B023
        assert (router, parts[other]) == (found[0].address, found[1])


@pytest.mark.parametrize("address", ["10.1.0.1", "fd00::1"])
def test_asked_address_that_somebody_has(tmp_path: Path, address: str) -> None:
    reserve(tmp_path, RAIL0)
    before = files(tmp_path)
    error = refusal(
        lambda: reserve(tmp_path, RAIL1, asking(RAIL0, address), owner=Owner("decade", "net1"))
    )
    assert (NO_ADDRESS, True) == (error.code, isinstance(error, CrowdedError))
    assert f"NIC rail0: {address} is taken by c0ffee net1" == error.message
    assert before == files(tmp_path)


def test_preferred_addresses_come_first_if_they_are_free(tmp_path: Path) -> None:
    before = preferring(RAIL0, "10.1.0.5", "fd00::7")
    assert [["10.1.0.1"], ["10.1.0.5", "fd00::7"]] == reserve(tmp_path, RAIL1, before)
    assert [["10.1.0.6"], ["10.1.0.2", "fd00::8"]] == reserve(tmp_path, RAIL1, before)


def test_preferred_address_of_two_nics_goes_to_the_first(tmp_path: Path) -> None:
    same = preferring(RAIL1, "10.1.0.5")
    assert [["10.1.0.5"], ["10.1.0.1"]] == reserve(tmp_path, same, same.but(nic="rail0"))


@pytest.mark.parametrize("address", ["10.1.0.3", "10.1.0.0", "10.1.0.7", "10.2.0.1", "fd00::1"])
def test_preferred_address_that_is_no_longer_given(tmp_path: Path, address: str) -> None:
    """The conf was edited since: it is excluded, special, elsewhere, or of no family of the NIC."""
    edited = RAIL1.but(alternatives=[[pool("10.1.0.0/29", excluded=["10.1.0.3"])]])
    assert [["10.1.0.1"]] == reserve(tmp_path, preferring(edited, address))


def test_what_is_asked_for_beats_what_is_preferred(tmp_path: Path) -> None:
    both = asking(preferring(RAIL1, "10.1.0.5"), "10.1.0.4")
    assert [["10.1.0.4"]] == reserve(tmp_path, both)


def test_overlap_is_a_bad_conf_or_a_crowd(tmp_path: Path) -> None:
    """When the other block's pods are dead, a sweep helps."""
    reserve(tmp_path, RAIL1)
    other = Want(nic="rail1", alternatives=[[pool("10.1.0.0/24")]])
    error = refusal(lambda: reserve(tmp_path, other))
    assert (BAD_CONF, True) == (error.code, isinstance(error, CrowdedError))


def test_quarantine_is_no_crowd(tmp_path: Path) -> None:
    with_store(
        str(tmp_path),
        soon(),
        lambda store: store.quarantine(Reservation("10.1.0.0/29", "10.1.0.4"), 60, "why"),
    )
    error = refusal(lambda: reserve(tmp_path, asking(RAIL1, "10.1.0.4")))
    assert (NO_ADDRESS, False) == (error.code, isinstance(error, CrowdedError))


def test_locked_store_is_try_again(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock", timeout=0, fallback_to_soft=False):
        error = refusal(lambda: with_store(str(tmp_path), time.monotonic(), lambda _store: None))
    assert TRY_AGAIN == error.code
    assert f"lock: {tmp_path}/lock" == error.details


def test_unusable_directory_is_an_io_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    data = str(tmp_path / "file" / "data")
    error = refusal(lambda: with_store(data, soon(), lambda _store: None))
    assert (IO_FAILURE, True) == (error.code, "Not a directory" in error.message)


def test_release_leaves_what_is_anothers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept = recorded(account(tmp_path).reserve(lambda _store: [RAIL0], unrecorded))
    taken_over = tmp_path / "pools" / "10.1.0.0-29" / "10.1.0.1"
    taken_over.unlink()  # one file has all names of an owner's addresses
    taken_over.write_bytes(b"decade\r\nnet1")
    release(str(tmp_path), soon(), kept)
    assert {"10.1.0.1"} == files(tmp_path)
    assert "address=10.1.0.1" in capfd.readouterr().err


def test_release_of_nothing_needs_no_store(tmp_path: Path) -> None:
    release(str(tmp_path / "data"), soon(), recorded([]))
    assert not (tmp_path / "data").exists()


def test_all_of_an_owner_is_found_without_a_record(tmp_path: Path) -> None:
    reserve(tmp_path, RAIL0, RAIL1)
    (tmp_path / "pools" / "10.1.0.0-29" / "10.1.0.5").write_bytes(b"decade\r\nnet1")
    (tmp_path / "pools" / "10.1.0.0-29" / "10.1.0.6").write_bytes(b"")
    release_all_of(str(tmp_path), "rails", Owner("c0ffee", "net1"), soon())
    assert {"10.1.0.5", "10.1.0.6"} == files(tmp_path)
