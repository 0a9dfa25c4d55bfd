"""Addresses that somebody else on the network has: given to nobody, until their time is over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from multinic_cni.reservations import QUARANTINE_SECONDS, Want
from multinic_ipam.refusals import NoAddressError, PoolExhaustedError
from multinic_ipam.reservation import Owner
from tests.unit import stores
from tests.unit.accounts import (
    RAIL0,
    RAIL1,
    account,
    asking,
    files,
    pool,
    refusal,
    reserve,
    texts,
    unrecorded,
)
from tests.unit.clocks import Clock, clock_of_the_store
from tests.unit.stores import SIX, held, opened

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.reservations import Addresses
    from multinic_ipam.store import Store


def quarantined(data: Path) -> set[str]:
    folder = data / "quarantine"
    return {each.name for each in folder.iterdir()} if folder.exists() else set()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return clock_of_the_store(monkeypatch)


def test_nobody_gets_the_address_until_the_second_when_it_ends(
    tmp_path: Path, clock: Clock
) -> None:
    (first,) = held("10.1.0.1")
    with opened(tmp_path) as store:
        store.quarantine(first, 60, "somebody has it")
        assert [("10.1.0.1", "somebody has it")] == list(store._quarantine.all())
        clock.advance(59)
        assert "10.1.0.2" == store.choose(stores.pool(), ()).address
        with pytest.raises(NoAddressError, match=r"10\.1\.0\.1 is in quarantine: somebody has it"):
            store.take(stores.pool(), stores.number("10.1.0.1"))
        clock.advance(1)
        assert [] == list(store._quarantine.all())
        assert "10.1.0.1" == store.choose(stores.pool(), ()).address
        assert "10.1.0.1" == store.take(stores.pool(), stores.number("10.1.0.1")).address
    assert set() == quarantined(tmp_path)  # whoever looks sweeps it out


def test_it_can_be_ended_before_its_time(tmp_path: Path) -> None:
    (first,) = held("10.1.0.1")
    with opened(tmp_path) as store:
        store.quarantine(first, 60, "somebody has it")
        store.end_quarantine("10.1.0.1")
        store.end_quarantine("10.1.0.2")
        assert [] == list(store._quarantine.all())
        assert "10.1.0.1" == store.choose(stores.pool(), ()).address


def test_clock_set_back_prolongs_it(tmp_path: Path, clock: Clock) -> None:
    """The time is an absolute one: too long is safe."""
    (first,) = held("10.1.0.1")
    with opened(tmp_path) as store:
        store.quarantine(first, 60, "somebody has it")
        clock.advance(-3600)
        assert "10.1.0.2" == store.choose(stores.pool(), ()).address
        clock.advance(3660)
        assert "10.1.0.1" == store.choose(stores.pool(), ()).address


def test_exhausted_pool_says_what_is_in_quarantine(tmp_path: Path) -> None:
    """Those of other pools and those that were excluded meanwhile are none of this pool's."""
    with opened(tmp_path) as store:
        for reservation in held("10.1.0.2", "10.1.0.6", "10.2.0.1"):
            store.quarantine(reservation, 60, "somebody has it")
        given = stores.fill(store, stores.pool())
        with pytest.raises(PoolExhaustedError) as raised:
            store.choose(stores.pool(), ())
    assert ["10.1.0.1", "10.1.0.3", "10.1.0.4", "10.1.0.5"] == given
    assert str(raised.value) == (
        "pool 10.1.0.0/29 is exhausted: 4 of its 6 addresses are reserved, 2 are in quarantine"
    )


@pytest.mark.parametrize(
    "note",
    ["", "soon", "-5 why", "99999999999", "1e99 why", "\0", f"{10**13} why", f"{'9' * 5000} why"],
)
def test_damaged_note(tmp_path: Path, note: str) -> None:
    """What says no time holds nothing; what says no reason holds all the same."""
    folder = tmp_path / "quarantine"
    folder.mkdir()
    (folder / "10.1.0.1").write_text(note)
    (folder / ".10.1.0.2.new").write_text("99999999999 torn")
    with opened(tmp_path) as store:
        held_back = list(store._quarantine.all())
        given = stores.fill(store, stores.pool())
    in_time = note == "99999999999"
    assert ([("10.1.0.1", "unknown")] if in_time else []) == held_back
    assert SIX[1 if in_time else 0 :] == given


def test_what_is_no_note_keeps_nothing_from_anybody(tmp_path: Path) -> None:
    folder = tmp_path / "quarantine"
    for name in ("10.1.0.1", "README.d"):
        (folder / name).mkdir(parents=True)
    (folder / "10.1.0.2").symlink_to("/etc/hostname")
    for name in ("README", "10.1.0", "10.1.0.3.bak"):
        (folder / name).write_text("99999999999 why")
    with opened(tmp_path) as store:
        assert [] == list(store._quarantine.all())
        assert SIX == stores.fill(store, stores.pool())
    assert {"README", "README.d", "10.1.0", "10.1.0.3.bak"} <= quarantined(tmp_path)


def test_address_that_somebody_else_has_is_replaced_and_given_to_nobody(tmp_path: Path) -> None:
    """The NIC without a conflict keeps its addresses, and so does the family without one."""
    seen = []

    def commit(_store: Store, addresses: Addresses) -> None:
        seen.append((texts(addresses), files(tmp_path)))

    wants = [RAIL0, RAIL1]
    taken = account(tmp_path).reserve(lambda _store: wants, unrecorded)
    hits = {"10.1.0.1": "02:00:00:00:00:99 has it"}
    fresh = account(tmp_path).replace(wants, taken, hits, commit)

    expected = [["10.1.0.3", "fd00::1"], ["10.1.0.2"]]
    assert expected == texts(fresh)
    assert [(expected, {"fd00::1", "10.1.0.2"})] == seen
    assert {"10.1.0.3", "fd00::1", "10.1.0.2"} == files(tmp_path)
    assert {"10.1.0.1"} == quarantined(tmp_path)
    until, _, why = (tmp_path / "quarantine" / "10.1.0.1").read_text().partition(" ")
    assert "02:00:00:00:00:99 has it" == why
    assert abs(int(until) - time.time() - QUARANTINE_SECONDS) < 5
    error = refusal(lambda: reserve(tmp_path, asking(RAIL1, "10.1.0.1")))
    assert "10.1.0.1 is in quarantine: 02:00:00:00:00:99 has it" in error.message


def test_conflict_that_leaves_no_other_address(tmp_path: Path) -> None:
    wants = [Want(nic="rail2", alternatives=[[pool("10.9.0.0/31")]])]
    reserve(tmp_path, *wants, owner=Owner("decade", "net1"))
    taken = account(tmp_path).reserve(lambda _store: wants, unrecorded)
    error = refusal(
        lambda: account(tmp_path).replace(wants, taken, {"10.9.0.1": "taken"}, unrecorded)
    )
    assert "1 of its 2 addresses are reserved, 1 are in quarantine" in error.message
    assert {"10.9.0.0"} == files(tmp_path)
    assert {"10.9.0.1"} == quarantined(tmp_path)


def test_quarantine_of_an_address_that_another_has_by_now(tmp_path: Path) -> None:
    taken = account(tmp_path).reserve(lambda _store: [RAIL1], unrecorded)
    file = tmp_path / "pools" / "10.1.0.0-29" / "10.1.0.1"
    file.unlink()
    file.write_bytes(b"decade\r\nnet1")
    account(tmp_path).quarantine(taken, {"10.1.0.1": "taken"})
    assert {"10.1.0.1"} == files(tmp_path) == quarantined(tmp_path)
