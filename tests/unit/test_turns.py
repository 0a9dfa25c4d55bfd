"""Words that say whose turn it is: against lists, at the borders of pages, and when unreadable."""

from __future__ import annotations

import os
from struct import pack
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_ipam.folders import Folder
from multinic_ipam.networks import Network, parse_address
from multinic_ipam.pools import Pool
from multinic_ipam.turns import RESERVED, Turns, Window
from tests.unit.clocks import clock_of_the_store
from tests.unit.descriptors import open_descriptors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FIRST = 1000
PAGE = 65536
# In their bytes a word's pattern stands across the border of two, too.
TRICKY = [0, 1, 1 << 8, 1 << 56, 255 << 56, RESERVED, RESERVED - 1, RESERVED >> 8, 257 << 24]
words_of_addresses = st.lists(st.sampled_from(TRICKY) | st.integers(0, RESERVED), max_size=12)
near = st.integers(FIRST - 3, FIRST + 15)


def window(words: Sequence[int]) -> Window:
    return Window(FIRST, bytearray(pack(f"={len(words)}Q", *words)))


def words_in(window: Window) -> list[int]:
    return list(memoryview(bytes(window.words)).cast("Q"))


def number(address: str) -> int:
    return parse_address(address)[1]


def pool(block: str, *excluded: tuple[str, str], start: str = "", end: str = "") -> Pool:
    network = Network.parse(block)
    return Pool(
        network,
        prefix_length=network.length,
        start=number(start) if start else network.first,
        end=number(end) if end else network.last,
        excluded=[(number(first), number(last)) for first, last in excluded],
    )


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[Turns]:
    before = open_descriptors()
    with Folder.at(str(tmp_path)) as root:
        turns = Turns(root)
        yield turns
        turns.close()
    assert before == open_descriptors()


@given(words_of_addresses, near)
def test_next_never_given_goes_around(words: list[int], start: int) -> None:
    numbers = [FIRST + index for index, word in enumerate(words) if word == 0]
    expected = next((each for each in numbers if each >= start), numbers[0] if numbers else None)
    assert expected == window(words).next_never_given(start)


@given(words_of_addresses)
def test_longest_rested_is_the_least_word(words: list[int]) -> None:
    freed = [(word, FIRST + index) for index, word in enumerate(words) if word != RESERVED]
    expected = min(freed, default=None)
    assert (expected and expected[::-1]) == window(words).longest_rested()


@given(words_of_addresses, st.sampled_from(TRICKY))
def test_count_of_those_freed_after_a_moment(words: list[int], moment: int) -> None:
    expected = len([word for word in words if word > moment and word != RESERVED])
    assert expected == window(words).count_freed_after(moment)


@given(words_of_addresses, near, near)
def test_struck_out_run_is_cut_to_the_window(words: list[int], first: int, last: int) -> None:
    struck = window(words)
    struck.strike_out_all([(first, last)])
    expected = [
        RESERVED if first <= FIRST + index <= last else word for index, word in enumerate(words)
    ]
    assert expected == words_in(struck)


@given(words_of_addresses, st.sets(near))
def test_learning_believes_the_files_alone(words: list[int], reserved: set[int]) -> None:
    """A word of the future says nothing: the clock was set back."""
    moment = 1 << 50
    with pytest.MonkeyPatch.context() as patch:
        clock_of_the_store(patch).microseconds = moment
        learned = window(words)
        learned.learn(reserved)
    for index, (before, after) in enumerate(zip(words, words_in(learned), strict=True)):
        if FIRST + index in reserved:
            assert RESERVED == after
        else:
            assert (before if before <= moment else 1) == after


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("10.1.0.0", "10.1.0.0"),
        ("10.1.255.255", "10.1.0.0"),
        ("255.255.255.255", "255.255.0.0"),
        ("10.0.0.0", "10.0.0.0"),
        ("fd00::ffff", "fd00::"),
        ("fd00::1:0", "fd00::1:0"),
    ],
)
def test_page_is_named_by_its_first_address(
    turns: Turns, tmp_path: Path, address: str, page: str
) -> None:
    version, place = parse_address(address)
    turns.note(version, place, 77)
    assert [page] == [each.name for each in (tmp_path / "turns").iterdir()]
    assert [77] == words_in(turns.window(version, place, place))


def test_window_across_two_pages(turns: Turns, tmp_path: Path) -> None:
    low, high = number("10.0.255.254"), number("10.1.0.1")
    for place in range(low, high + 1):
        turns.note(4, place, place)
    seen = turns.window(4, low - 1, high + 1)
    assert [0, low, low + 1, low + 2, high, 0] == words_in(seen)

    seen.strike_out(low + 1, low + 2)
    turns.store(4, seen)
    assert [0, low, RESERVED, RESERVED, high, 0] == words_in(turns.window(4, low - 1, high + 1))
    assert {"10.0.0.0", "10.1.0.0"} == {each.name for each in (tmp_path / "turns").iterdir()}


def test_what_no_file_says_was_never_given(turns: Turns, tmp_path: Path) -> None:
    assert [0, 0] == words_in(turns.window(6, 7, 8))
    assert not (tmp_path / "turns").exists()  # looking writes nothing


def test_file_that_ends_within_a_word(turns: Turns, tmp_path: Path) -> None:
    (tmp_path / "turns").mkdir()
    (tmp_path / "turns" / "10.1.0.0").write_bytes(pack("=Q", 5) + b"\1\0")
    first = number("10.1.0.0")
    assert [5, 1, 0] == words_in(turns.window(4, first, first + 2))


def covered(turns: Turns, of: Pool, last: int | None) -> list[tuple[int, int]]:
    return [(each.first, each.last) for each in turns.windows(of, last)]


def test_small_pool_is_one_window(turns: Turns) -> None:
    across = pool("10.0.0.0/15", start="10.0.255.0", end="10.1.0.9")
    expected = [(number("10.0.255.0"), number("10.1.0.9"))]
    assert expected == covered(turns, across, None)
    assert expected == covered(turns, across, number("10.1.0.3"))


@pytest.mark.parametrize(
    ("last", "order"),
    [
        (None, [0, 1, 2, 3]),
        (0, [0, 1, 2, 3]),
        (PAGE - 1, [0, 1, 2, 3]),
        (PAGE, [1, 2, 3, 0]),
        (2 * PAGE + 7, [2, 3, 0, 1]),
        (3 * PAGE + 99, [3, 0, 1, 2]),
    ],
)
def test_large_pool_goes_around_from_the_last_given(
    turns: Turns, last: int | None, order: list[int]
) -> None:
    """It starts in the midst of a page, and its last window is a short one."""
    start = number("10.0.7.7")
    end = start + 3 * PAGE + 99
    large = Pool(Network.parse("10.0.0.0/8"), prefix_length=8, start=start, end=end)
    windows = [(start + at * PAGE, min(start + (at + 1) * PAGE - 1, end)) for at in range(4)]
    given = None if last is None else start + last
    assert [windows[at] for at in order] == covered(turns, large, given)


@pytest.mark.parametrize("block", ["fd00::/64", "fd00::/8"])
def test_exclusion_that_holds_more_windows_than_anybody_could_look_at(
    turns: Turns, block: str
) -> None:
    """All addresses but for the last 65,536 and five: the last two windows have some of them."""
    network = Network.parse(block)
    excluded = (network.first, network.last - PAGE - 5)
    huge = Pool(network, prefix_length=64, start=network.first, excluded=[excluded])
    last_but_one = (network.last - 2 * PAGE + 1, network.last - PAGE)
    last = (network.last - PAGE + 1, network.last)
    assert [last_but_one, last] == covered(turns, huge, None)
    assert [last_but_one, last] == covered(turns, huge, network.last - PAGE)
    assert [last, last_but_one] == covered(turns, huge, network.last)


def test_pool_of_which_nothing_is_given_has_no_window(turns: Turns) -> None:
    nothing = pool("10.1.0.0/30", ("10.0.0.0", "10.1.0.3"))
    assert [] == covered(turns, nothing, None) == covered(turns, nothing, number("10.1.0.2"))
    odd = pool("10.0.0.0/8", ("10.0.0.0", "10.2.0.0"), end="10.2.0.0")
    assert [] == covered(turns, odd, None)


@pytest.mark.parametrize("planted", ["turns", "turns/10.1.0.0"])
@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "file"])
def test_what_stands_in_place_of_the_words(
    turns: Turns, tmp_path: Path, planted: str, kind: str
) -> None:
    """Nothing is followed, nothing holds the call; the addresses count as never given."""
    victim, place = tmp_path / "victim", tmp_path / planted
    victim.write_bytes(pack("=Q", 5))
    place.parent.mkdir(exist_ok=True)
    if kind == "link":
        place.symlink_to(victim)
    elif kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.write_bytes(b"")
    first = number("10.1.0.0")
    turns.note(4, first, 9)
    turns.store(4, Window(first, bytearray(pack("=2Q", 9, 9))))
    seen = words_in(turns.window(4, first, first + 1))
    usable = (planted, kind) in {("turns", "folder"), ("turns/10.1.0.0", "file")}
    assert ([9, 9] if usable else [0, 0]) == seen
    assert pack("=Q", 5) == victim.read_bytes()
