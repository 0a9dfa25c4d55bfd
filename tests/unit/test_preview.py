from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from multinic_ipam.preview import Preview
from multinic_ipam.refusals import BlockInUseError, NoAddressError, PoolExhaustedError
from tests.unit.stores import SIX, A, B, fill, held, number, opened, plant, pool, take
from tests.unit.trees import tree_of

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_ipam.pools import Pool


def previewed(folder: Path, of: Pool, cooldown: int = 0) -> str:
    with Preview(str(folder)) as store:
        return store.choose(of, (), cooldown).address


@pytest.fixture
def data(tmp_path: Path, no_descriptor_is_left: None) -> Path:
    """Return a data directory, in which nothing changes from here on."""
    del no_descriptor_is_left
    return tmp_path / "data"


def test_next_address_is_told_and_stays_free(data: Path) -> None:
    with opened(data) as store:
        assert SIX[:2] == take(store, A, pool(), pool())
    before = tree_of(data)
    assert [SIX[2], SIX[2]] == [previewed(data, pool()) for _ in range(2)]
    assert before == tree_of(data)
    with opened(data) as store:
        assert SIX[2] == store.choose(pool(), ()).address


def test_several_of_one_pool(data: Path) -> None:
    with Preview(str(data)) as store:
        first = store.choose(pool(), ())
        second = store.choose(pool(), (first,))
    assert SIX[:2] == [first.address, second.address]


def test_data_directory_that_is_not_there(data: Path) -> None:
    assert SIX[0] == previewed(data, pool())
    with Preview(str(data)) as store:
        assert SIX[4] == store.take(pool(), number(SIX[4])).address
    assert not data.exists()


def test_freed_addresses_come_by_the_same_turns(data: Path) -> None:
    """The one freed first is next: the words are read, though nothing may be written."""
    with opened(data) as store:
        fill(store, pool())
        for address in (SIX[3], SIX[1]):
            store.release(held(address), A)
    before = tree_of(data)
    assert SIX[3] == previewed(data, pool())
    assert before == tree_of(data)


def test_words_that_are_wrong_are_not_corrected_on_disk(data: Path) -> None:
    """Files of strangers make the words wrong, which a real choice writes back."""
    for address in SIX[:5]:
        plant(data, address)
    before = tree_of(data)
    assert SIX[5] == previewed(data, pool())
    assert before == tree_of(data)


def test_expired_quarantine_is_not_tidied_up(data: Path) -> None:
    with opened(data) as store:
        store.quarantine(held(SIX[0])[0], -1, "somebody had it")
        store.quarantine(held(SIX[1])[0], 600, "somebody has it")
    before = tree_of(data)
    assert SIX[0] == previewed(data, pool())
    with Preview(str(data)) as store, pytest.raises(NoAddressError, match="somebody has it"):
        store.take(pool(), number(SIX[1]))
    assert before == tree_of(data)


def test_refusals_are_the_stores(data: Path) -> None:
    with opened(data) as store:
        fill(store, pool())
    with pytest.raises(PoolExhaustedError, match="6 of its 6 addresses are reserved"):
        previewed(data, pool())
    with pytest.raises(BlockInUseError, match="overlaps pool"):
        previewed(data, pool("10.1.0.0/24"))


def test_it_waits_for_nobody(data: Path) -> None:
    with opened(data) as store:
        take(store, A, pool())
        began = time.monotonic()
        assert SIX[1] == previewed(data, pool())
        assert time.monotonic() - began < 5


def test_changes_are_refused(data: Path) -> None:
    with opened(data) as store:
        take(store, A, pool())
    before = tree_of(data)
    with Preview(str(data)) as store:
        with pytest.raises(OSError, match="Read-only"):
            store.reserve(held(SIX[1]), [pool()], B)
        with pytest.raises(OSError, match="Read-only"):
            store.release(held(SIX[0]), A)
        with pytest.raises(OSError, match="Read-only"):
            store.quarantine(held(SIX[0])[0], 600, "why")
        with pytest.raises(OSError, match="Read-only"):
            store.prove_writable()
    assert before == tree_of(data)
