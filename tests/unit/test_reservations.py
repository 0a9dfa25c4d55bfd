from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from multinic_cni.errors import BAD_CONF, IO_FAILURE, NO_ADDRESS, TRY_AGAIN, CniError
from multinic_cni.reservations import release, release_all_of, reserve, with_store
from multinic_ipam.networks import Network
from multinic_ipam.pools import Pool
from multinic_ipam.reservation import Owner
from tests.unit.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from multinic_cni.attachments.record import Record
    from multinic_cni.reservations import Addresses


def pool(block: str) -> Pool:
    network = Network.parse(block)
    return Pool(network, prefix_length=network.length)


RAIL0 = ("rail0", [[pool("10.1.0.0/29")], [pool("fd00::/64")]])
RAIL1 = ("rail1", [[pool("10.1.0.0/29")]])
SMALL = ("rail2", [[pool("10.9.0.0/31"), pool("10.8.0.0/31")]])


def soon() -> float:
    return time.monotonic() + 5


def committed(addresses: Sequence[Addresses]) -> Record:
    """Return the record that ADD would write: NIC by NIC what was chosen for it."""
    return record(complete=False).but(
        nics=tuple(
            record().nics[0].but(reservations=tuple(each for each, _ in own)) for own in addresses
        )
    )


def refusal(work: Callable[[], object]) -> CniError:
    with pytest.raises(CniError) as raised:
        work()
    return raised.value


def files(data: Path) -> set[str]:
    return {
        each.name
        for each in (data / "pools").rglob("*")
        if each.is_file() and "last" not in each.name
    }


def test_addresses_of_all_nics_and_families(tmp_path: Path) -> None:
    kept = reserve(str(tmp_path), soon(), [RAIL0, RAIL1], committed)
    expected = [
        [("10.1.0.0/29", "10.1.0.1"), ("fd00::/64", "fd00::1")],
        [("10.1.0.0/29", "10.1.0.2")],
    ]
    assert expected == [[(e.block, e.address) for e in nic.reservations] for nic in kept.nics]
    assert {"10.1.0.1", "10.1.0.2", "fd00::1"} == files(tmp_path)


def test_record_is_written_before_any_address(tmp_path: Path) -> None:
    seen: list[set[str]] = []

    def commit(addresses: Sequence[Addresses]) -> Record:
        seen.append(files(tmp_path))
        return committed(addresses)

    reserve(str(tmp_path), soon(), [RAIL0], commit)
    assert [set()] == seen


def test_record_that_cannot_be_written_reserves_nothing(tmp_path: Path) -> None:
    def full(_addresses: Sequence[Addresses]) -> Record:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "record")

    error = refusal(lambda: reserve(str(tmp_path), soon(), [RAIL0], full))
    assert IO_FAILURE == error.code
    assert "No space left on device" in error.message
    assert set() == files(tmp_path)


def test_next_range_is_taken_when_one_is_full(tmp_path: Path) -> None:
    kept = [reserve(str(tmp_path), soon(), [SMALL], committed) for _ in range(3)]
    assert ["10.9.0.0", "10.9.0.1", "10.8.0.0"] == [each.reservations[0].address for each in kept]


def test_exhaustion_names_the_nic_and_every_range(tmp_path: Path) -> None:
    for _ in range(4):
        reserve(str(tmp_path), soon(), [SMALL], committed)
    before = files(tmp_path)
    error = refusal(lambda: reserve(str(tmp_path), soon(), [RAIL0, SMALL], committed))
    assert NO_ADDRESS == error.code
    assert error.message.startswith("NIC rail2: pool 10.9.0.0/31 is exhausted: 2 of its 2 addresse")
    assert "; pool 10.8.0.0/31 is exhausted: 2 of its 2" in error.message
    assert before == files(tmp_path)


def test_overlap_is_a_bad_conf(tmp_path: Path) -> None:
    reserve(str(tmp_path), soon(), [RAIL1], committed)
    other = ("rail1", [[pool("10.1.0.0/24")]])
    assert BAD_CONF == refusal(lambda: reserve(str(tmp_path), soon(), [other], committed)).code


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
    kept = reserve(str(tmp_path), soon(), [RAIL0], committed)
    taken_over = tmp_path / "pools" / "10.1.0.0-29" / "10.1.0.1"
    taken_over.unlink()  # one file has all names of an owner's addresses
    taken_over.write_bytes(b"decade\r\nnet1")
    release(str(tmp_path), soon(), kept)
    assert {"10.1.0.1"} == files(tmp_path)
    assert "address=10.1.0.1" in capfd.readouterr().err


def test_release_of_nothing_needs_no_store(tmp_path: Path) -> None:
    release(str(tmp_path / "data"), soon(), committed([]))
    assert not (tmp_path / "data").exists()


def test_all_of_an_owner_is_found_without_a_record(tmp_path: Path) -> None:
    reserve(str(tmp_path), soon(), [RAIL0, RAIL1], committed)
    (tmp_path / "pools" / "10.1.0.0-29" / "10.1.0.5").write_bytes(b"decade\r\nnet1")
    (tmp_path / "pools" / "10.1.0.0-29" / "10.1.0.6").write_bytes(b"")
    release_all_of(str(tmp_path), soon(), Owner("c0ffee", "net1"))
    assert {"10.1.0.5", "10.1.0.6"} == files(tmp_path)
