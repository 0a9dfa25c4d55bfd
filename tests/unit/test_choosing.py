"""Which address comes next: those never given, then the one that has rested longest."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import pytest

from multinic_ipam.choosing import PATIENCE
from multinic_ipam.networks import Network
from multinic_ipam.pools import Pool
from multinic_ipam.refusals import NoAddressError, PoolExhaustedError
from multinic_ipam.turns import RESERVED
from tests.unit.clocks import SECOND, Clock, clock_of_the_store
from tests.unit.stores import SIX, A, fill, held, number, opened, plant, pool, take

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_ipam.store import Store


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return clock_of_the_store(monkeypatch)


def test_all_that_were_never_given_come_before_any_freed_one(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        given = []
        for _ in range(6):
            given += take(store, A, pool())
            store.release(held(given[-1]), A)
    assert SIX == given


def test_then_the_longest_rested_one_comes_not_the_next(tmp_path: Path, clock: Clock) -> None:
    order = ["10.1.0.4", "10.1.0.1", "10.1.0.6", "10.1.0.2"]
    with opened(tmp_path) as store:
        fill(store, pool())
        for address in order:
            clock.advance(1e-6)
            store.release(held(address), A)
        assert order == fill(store, pool())


def test_of_those_freed_at_one_moment_the_lowest_comes(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path) as store:
        fill(store, pool())
        clock.advance(1)
        store.release(held("10.1.0.5", "10.1.0.2"), A)
        assert ["10.1.0.2", "10.1.0.5"] == fill(store, pool())


def test_cooldown_is_kept_to_the_microsecond(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path) as store:
        fill(store, pool())
        store.release(held("10.1.0.3"), A)
        clock.microseconds += 30 * SECOND - 1
        with pytest.raises(PoolExhaustedError) as raised:
            store.choose(pool(), (), cooldown=30)
        assert str(raised.value) == (
            "pool 10.1.0.0/29 is exhausted: 5 of its 6 addresses are reserved, 1 rest for up to"
            " 30 s (cooldown)"
        )
        clock.microseconds += 1
        assert "10.1.0.3" == store.choose(pool(), (), cooldown=30).address


def test_cooldown_does_not_keep_what_was_never_given(tmp_path: Path, clock: Clock) -> None:
    clock.advance(0)
    with opened(tmp_path) as store:
        assert "10.1.0.1" == store.choose(pool(), (), cooldown=3600).address


def test_clock_set_back_holds_no_address(tmp_path: Path, clock: Clock) -> None:
    """What was freed at a time to come may be given at once, a cooldown or not."""
    with opened(tmp_path) as store:
        fill(store, pool())
        store.release(held("10.1.0.2", "10.1.0.3"), A)
        clock.advance(-3600)
        assert ["10.1.0.2"] == take_rested(store, 30)
        store.release(held("10.1.0.2"), A)
        # Now one rests by the clock that counts, and the other by one that counts no more.
        clock.advance(1)
        assert ["10.1.0.3"] == take_rested(store, 30)
        with pytest.raises(PoolExhaustedError, match=r"1 rest for up to 30 s"):
            take_rested(store, 30)
        clock.advance(30)
        assert ["10.1.0.2"] == take_rested(store, 30)


def take_rested(store: Store, cooldown: int) -> list[str]:
    chosen = store.choose(pool(), (), cooldown)
    store.reserve([chosen], [pool()], A)
    return [chosen.address]


def test_what_is_never_given(tmp_path: Path) -> None:
    """The gateway, excluded runs that overlap it and each other, and one beyond the pool."""
    network = Network.parse("10.1.0.0/28")
    runs = [("10.1.0.3", "10.1.0.5"), ("10.1.0.5", "10.1.0.6"), ("10.1.0.13", "10.2.0.0")]
    part = Pool(
        network,
        prefix_length=28,
        gateway=number("10.1.0.4"),
        excluded=[(number(first), number(last)) for first, last in runs],
    )
    expected = [f"10.1.0.{host}" for host in (1, 2, 7, 8, 9, 10, 11, 12)]
    with opened(tmp_path) as store:
        assert expected == fill(store, part)
        with pytest.raises(PoolExhaustedError) as raised:
            store.choose(part, ())
    assert str(raised.value) == (
        "pool 10.1.0.0/28 is exhausted: 8 of its 14 addresses are reserved, the others are never"
        " given (gateways, the node's own, exclusions)"
    )


@pytest.mark.parametrize("content", ["10.1.0.7", "10.1.0.0", "10.9.0.3", "fd00::3"])
def test_cursor_outside_the_pool_says_nothing(tmp_path: Path, content: str) -> None:
    plant(tmp_path, "last_reserved_ip.0", content)
    with opened(tmp_path) as store:
        assert ["10.1.0.1"] == take(store, A, pool())


def sparse(*addresses: str) -> Pool:
    """Return a pool of four times 65,536 addresses, of which only some are ever given."""
    network = Network.parse("10.0.0.0/14")
    given = [number(each) for each in addresses]
    bounds = [network.first - 1, *given, network.last + 1]
    gaps = [(low + 1, high - 1) for low, high in itertools.pairwise(bounds)]
    return Pool(network, prefix_length=14, excluded=gaps)


def test_pool_of_more_than_a_page_is_given_to_its_last_address(
    tmp_path: Path, clock: Clock
) -> None:
    """From the cursor's 65,536 on and around; each part has its own order.

    The parts begin at the pool's start, 10.0.0.1.
    """
    addresses = ["10.0.0.9", "10.0.255.255", "10.1.0.0", "10.1.255.254", "10.3.255.254"]
    large = sparse(*addresses)
    with opened(tmp_path) as store:
        assert addresses == fill(store, large)
        for address in reversed(addresses):
            clock.advance(1)
            store.release(held(address, block="10.0.0.0/14"), A)
        expected = ["10.3.255.254", "10.1.0.0", "10.0.255.255", "10.0.0.9", "10.1.255.254"]
        assert sorted(addresses) == sorted(given := fill(store, large))
        assert expected == given


def test_ipv6_pool_goes_on_behind_the_cursor(tmp_path: Path) -> None:
    six = pool("fd00::/64")
    folder = tmp_path / "pools" / "fd00::-64"
    folder.mkdir(parents=True)
    (folder / "last_reserved_ip.0").write_text("fd00::1:fffe")
    with opened(tmp_path) as store:
        given = [take(store, A, six)[0] for _ in range(3)]
    assert ["fd00::1:ffff", "fd00::2:0", "fd00::2:1"] == given
    assert {"fd00::1:0", "fd00::2:0"} == {each.name for each in (tmp_path / "turns").iterdir()}


def test_pool_with_room_costs_a_few_words_whatever_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    six = pool("fd00::/64")
    sizes = []

    def noting(descriptor: int, size: int, offset: int) -> bytes:
        sizes.append(size)
        return pread(descriptor, size, offset)

    pread = os.pread
    monkeypatch.setattr(os, "pread", noting)
    with opened(tmp_path) as store:
        assert [["fd00::1"], ["fd00::2"]] == [take(store, A, six) for _ in range(2)]
    assert 0 < sum(sizes) <= PATIENCE * 8


def test_what_host_local_reserved_and_freed_is_seen(tmp_path: Path) -> None:
    """It writes and removes files only."""
    for address in SIX[:5]:
        plant(tmp_path, address, "deadbeef\r\neth0")
    with opened(tmp_path) as store:
        assert ["10.1.0.6"] == fill(store, pool())
    (tmp_path / "pools" / "10.1.0.0-29" / "10.1.0.4").unlink()
    with opened(tmp_path) as store:
        assert ["10.1.0.4"] == fill(store, pool())


def test_crowd_of_strangers_is_learned_once(tmp_path: Path) -> None:
    """The next call does not look at each of them again: their words say that they are taken."""
    folder = tmp_path / "pools" / "10.1.0.0-24"
    folder.mkdir(parents=True)
    for host in range(1, PATIENCE + 10):
        (folder / f"10.1.0.{host}").write_bytes(b"deadbeef\r\neth0")
    with opened(tmp_path) as store:
        assert f"10.1.0.{PATIENCE + 10}" == store.choose(pool("10.1.0.0/24"), ()).address
    learned = memoryview((tmp_path / "turns" / "10.1.0.0").read_bytes()).cast("Q")
    assert [0, *[RESERVED] * (PATIENCE + 9), 0] == list(learned[: PATIENCE + 11])


def test_take_gives_one_that_is_free_rested_or_not(tmp_path: Path, clock: Clock) -> None:
    clock.advance(0)
    with opened(tmp_path) as store:
        store.release(held(*take(store, A, pool())), A)
        assert "10.1.0.1" == store.take(pool(), number("10.1.0.1")).address


@pytest.mark.parametrize(
    ("content", "holder"),
    [("decade\r\nnet1", "decade net1"), ("decade", "decade "), ("", "somebody unknown")],
    ids=["ours", "old", "damaged"],
)
def test_take_names_who_has_the_address(tmp_path: Path, content: str, holder: str) -> None:
    plant(tmp_path, "10.1.0.1", content)
    with opened(tmp_path) as store, pytest.raises(NoAddressError) as raised:
        store.take(pool(), number("10.1.0.1"))
    assert f"10.1.0.1 is taken by {holder}" == str(raised.value)
