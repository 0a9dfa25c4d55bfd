from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_ipam.refusals import StoreError
from tests.unit.descriptors import open_descriptors
from tests.unit.stores import A, B, held, opened, plant, pool, take

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_ipam.pools import Pool
    from multinic_ipam.store import Store


def test_walk_of_all_reservations(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        take(store, A, pool(), pool("10.2.0.0/24"))
        take(store, B, pool())
    (tmp_path / "pools" / "networks").mkdir()
    (tmp_path / "pools" / "stray").write_text("")
    plant(tmp_path, "notes.txt")
    with opened(tmp_path) as store:
        found = {
            (each.block, each.address): None if owner is None else owner.content
            for each, owner in store.reservations()
        }
    assert {
        ("10.1.0.0/29", "10.1.0.1"): A.content,
        ("10.1.0.0/29", "10.1.0.2"): B.content,
        ("10.2.0.0/24", "10.2.0.1"): A.content,
    } == found


def test_walk_of_more_blocks_than_there_may_be_descriptors(tmp_path: Path) -> None:
    """A node lives through many edits of its confs: the folders are opened a few at a time."""
    names = [f"10.{number}.0.0-24" for number in range(200)]
    for number, name in enumerate(names):
        (tmp_path / "pools" / name).mkdir(parents=True)
        (tmp_path / "pools" / name / f"10.{number}.0.1").write_bytes(A.content)
    before = len(open_descriptors())
    most = 0
    with opened(tmp_path) as store:
        for _ in store.reservations():
            most = max(most, len(open_descriptors()) - before)
        released = [held(f"10.{number}.0.1", block=f"10.{number}.0.0/24") for number in range(200)]
        assert [] == store.release([each for (each,) in released], A)
        assert [] == list(store.reservations())
    assert 60 < most < 80
    assert before == len(open_descriptors())


@pytest.mark.parametrize("name", ["fd00:0::-64", "fd00::1-64", "fd00::-064"])
def test_folder_that_would_be_called_otherwise_here_is_a_strangers(
    tmp_path: Path, name: str
) -> None:
    """It is no block of ours: looked for under the usual name, it would not be there."""
    (tmp_path / "pools" / name).mkdir(parents=True)
    (tmp_path / "pools" / name / "fd00::1").write_bytes(A.content)
    with opened(tmp_path) as store:
        assert ["fd00::1"] == take(store, B, pool("fd00::/48"))
        assert ["fd00::1"] == [each.address for each, _ in store.reservations()]
    assert [name] == [each.name for each in (tmp_path / "pools").iterdir() if each.name == name]


@pytest.mark.parametrize("other", ["10.1.0.0/24", "10.1.0.0/30", "10.0.0.0/8", "0.0.0.0/0"])
def test_partial_overlap_with_a_used_block_is_an_error(tmp_path: Path, other: str) -> None:
    with opened(tmp_path) as store:
        take(store, A, pool())
        with pytest.raises(StoreError) as raised:
            store.choose(pool(other), ())
    assert f"pool {other} overlaps pool 10.1.0.0/29, which has addresses in use" in str(
        raised.value
    )
    assert {"10.1.0.0-29"} == {each.name for each in (tmp_path / "pools").iterdir()}


def test_abandoned_empty_block_is_retired(tmp_path: Path) -> None:
    """The conf was edited: the cursor goes with its block, but freed addresses still rest."""
    with opened(tmp_path) as store:
        store.release(held(*take(store, A, pool())), A)
    plant(tmp_path, "lock", "")  # host-local's own
    with opened(tmp_path) as store:
        assert ["10.1.0.2"] == take(store, A, pool("10.1.0.0/24"))
    assert {"10.1.0.0-24"} == {each.name for each in (tmp_path / "pools").iterdir()}


def test_overlapping_blocks_of_one_call_are_an_error(tmp_path: Path) -> None:
    pools = [pool("10.1.0.0/24"), pool("10.1.0.128/25")]
    with opened(tmp_path) as store:
        chosen = [store.choose(each, ()) for each in pools]
        with pytest.raises(StoreError, match="overlap"):
            store.reserve(chosen, pools, A)
        assert [] == list(store.reservations())


def test_overlap_met_while_restoring_leaves_nothing(tmp_path: Path) -> None:
    """What is taken over from elsewhere has not been chosen by the store."""
    reservations = [*held("10.1.0.1"), *held("10.1.0.2", block="10.1.0.0/24")]
    with opened(tmp_path) as store:
        with pytest.raises(StoreError, match="overlap"):
            store.restore(reservations, A)
        assert [] == list(store.reservations())
    assert not (tmp_path / "pools" / ".reservation").exists()


def test_what_could_not_be_reserved_whole_needs_no_rest(tmp_path: Path) -> None:
    """A foreign program has one of the addresses, again and again."""
    small, other = pool(end="10.1.0.2"), pool("10.2.0.0/24")
    with opened(tmp_path) as store:
        for _ in range(3):
            chosen = [store.choose(small, (), 600), store.choose(other, (), 600)]
            file = tmp_path / "pools/10.2.0.0-24" / chosen[1].address
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(B.content)
            with pytest.raises(FileExistsError):
                store.reserve(chosen, [small, other], A)
        assert {"10.1.0.1", "10.1.0.2"} == {
            each for _ in range(2) for each in take_resting(store, small)
        }


def take_resting(store: Store, of: Pool) -> list[str]:
    """Take the next address that has rested ten minutes."""
    chosen = store.choose(of, (), 600)
    store.reserve([chosen], [of], A)
    return [chosen.address]


def test_blocks_side_by_side_and_of_other_families_do_not_overlap(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        take(store, A, pool(), pool("10.1.0.8/29"), pool("::/0"))
        assert 3 == len(list(store.reservations()))
