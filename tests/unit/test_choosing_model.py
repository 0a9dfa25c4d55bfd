"""Choosing against oracles, with hints that say anything at all."""

from __future__ import annotations

import tempfile
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multinic_ipam.refusals import PoolExhaustedError
from multinic_ipam.turns import RESERVED
from tests.unit.clocks import SECOND, clock_of_the_store
from tests.unit.stores import SIX, A, B, files, fill, held, opened, plant, pool

if TYPE_CHECKING:
    from collections.abc import Sequence

HINTS = st.one_of(
    st.none(),
    st.binary(max_size=64),
    st.lists(st.sampled_from([0, 1, RESERVED, RESERVED - 1, 1 << 50]), max_size=9).map(
        lambda words: pack(f"={len(words)}Q", *words)
    ),
)
hosts = st.sets(st.integers(1, 6))


@given(hosts, hosts, HINTS, st.sampled_from([b"", b"10.1.0.3", b"\xff", b"10.7.7.7"]))
def test_whatever_the_hints_say_each_free_address_is_given_once(
    ours: set[int], strangers: set[int], hints: bytes | None, cursor: bytes
) -> None:
    own = [SIX[host - 1] for host in ours]
    foreign = [SIX[host - 1] for host in strangers - ours]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plant(folder, "last_reserved_ip.0").write_bytes(cursor)
        with opened(folder) as store:
            store.restore(held(*own), B)
        for address in foreign:
            plant(folder, address, "deadbeef\r\neth0")
        damage(folder / "turns" / "10.1.0.0", hints)
        with opened(folder) as store:
            given = fill(store, pool())
        assert sorted(set(SIX).difference(own, foreign)) == sorted(given)

        damage(folder / "turns" / "10.1.0.0", hints)
        with opened(folder) as store:
            assert [] == store.release(held(*given), A)
            assert [] == store.release(held(*own), B)
            given = fill(store, pool())
        assert sorted(set(SIX).difference(foreign)) == sorted(given)


def damage(page: Path, hints: bytes | None) -> None:
    if hints is None:
        page.unlink(missing_ok=True)
    else:
        page.parent.mkdir(exist_ok=True)
        page.write_bytes(hints)


class Oracle:
    """The order of turns by a list and a dictionary."""

    def __init__(self) -> None:
        self.freed: dict[str, int] = {}
        self.holders: set[str] = set()
        self.cursor = 0  # a place in SIX

    def next(self, moment: int, cooldown: int) -> str | None:
        around = [*SIX[self.cursor :], *SIX[: self.cursor]]
        never = [each for each in around if each not in self.freed and each not in self.holders]
        if never:
            return never[0]
        rested = sorted((self.freed[each], each) for each in self.freed if each not in self.holders)
        if rested and rested[0][0] <= moment - cooldown * SECOND:
            return rested[0][1]
        return None


steps = st.lists(
    st.tuples(st.sampled_from(["take", "release", "wait"]), st.integers(0, 5)), max_size=40
)


@settings(max_examples=60)
@given(steps, st.sampled_from([0, 3]))
def test_order_is_that_of_the_oracle(work: Sequence[tuple[str, int]], cooldown: int) -> None:
    oracle = Oracle()
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        clock = clock_of_the_store(patch)
        for deed, choice in work:
            clock.advance(choice if deed == "wait" else 1e-6)
            with opened(Path(name)) as store:
                if deed == "take":
                    expected = oracle.next(clock.microseconds, cooldown)
                    if expected is None:
                        with pytest.raises(PoolExhaustedError):
                            store.choose(pool(), (), cooldown)
                    else:
                        chosen = store.choose(pool(), (), cooldown)
                        assert expected == chosen.address
                        store.reserve([chosen], [pool()], A)
                        oracle.holders.add(expected)
                        oracle.cursor = SIX.index(expected) + 1
                elif deed == "release" and SIX[choice] in oracle.holders:
                    store.release(held(SIX[choice]), A)
                    oracle.holders.remove(SIX[choice])
                    oracle.freed[SIX[choice]] = clock.microseconds
        assert oracle.holders == set(files(Path(name)))
