"""`perfOpt` and `costOpt`: by what is free of each NIC's bandwidth."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multinic_selectors.loads import Load
from multinic_selectors.policies.cost_opt import CostOpt
from multinic_selectors.policies.perf_opt import PerfOpt
from tests.unit.policies import candidates, parts, reasons

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_selectors.nics import Nic
    from multinic_selectors.selection import Picked

    # Of a NIC: its speed, what targets have taken of it, and its attachments.
    Facts = tuple[int | None, int, int]

# What is free: 100, 60, 40, 40, unknown, nothing.
NODE: dict[str, Facts] = {
    "a": (100, 40, 1),
    "b": (100, 0, 3),
    "c": (40, 0, 1),
    "d": (40, 0, 0),
    "e": (None, 0, 0),
    "f": (25, 30, 9),
}


def pick(
    strategy: type[PerfOpt | CostOpt],
    node: Mapping[str, Facts],
    target: Any,  # noqa: ANN401 - None for perfOpt alone
    limit: int | None = None,
    least: int = 1,
) -> Picked:
    loads = {name: Load(attachments, taken) for name, (_, taken, attachments) in node.items()}
    policy = strategy(target, lambda nic: node[nic.name][0], loads, least)
    return policy.pick(candidates(*node), limit)


def perf(target: int | None = None, limit: int | None = None, least: int = 1) -> Picked:
    return pick(PerfOpt, NODE, target, limit, least)


def cost(target: int, limit: int | None = None, least: int = 1) -> Picked:
    return pick(CostOpt, NODE, target, limit, least)


# --- perfOpt


def test_most_free_then_emptiest_then_first() -> None:
    order = ["b", "a", "d", "c", "e", "f"]
    for limit in range(1, 7):
        assert sorted(order[:limit]) == perf(limit=limit).names
    assert sorted(order) == perf().names


@pytest.mark.parametrize(
    ("target", "names"), [(1, "b"), (100, "b"), (101, "ab"), (161, "abd"), (201, "abcd")]
)
def test_perf_takes_no_more_than_the_target_needs(target: int, names: str) -> None:
    assert [*names] == perf(target).names
    assert target == sum(parts(perf(target)).values())


def test_perf_does_what_it_can() -> None:
    """A target that the NICs, or so many of them, cannot give is no error."""
    assert {"a": 60, "b": 100} == parts(perf(500, limit=2))
    everything = {"a": 60, "b": 100, "c": 40, "d": 40, "e": 0, "f": 0}
    assert everything == parts(perf(500))


def test_perf_takes_the_least_number_of_nics() -> None:
    assert {"a": 8, "b": 12} == parts(perf(20, least=2))
    assert ["b"] == perf(20, limit=1, least=2).names


def test_without_a_target_nothing_is_taken() -> None:
    assert {"a": 0, "b": 0} == parts(perf(limit=2))


def test_parts_are_whole_and_in_proportion() -> None:
    """Of 100 in the proportion 60 : 100 : 40: 30, 50 and 20; of 101 30.3, 50.5 and 20.2."""
    node: dict[str, Facts] = {"a": (60, 0, 0), "b": (100, 0, 0), "c": (40, 0, 0)}
    assert {"a": 30, "b": 50, "c": 20} == parts(pick(PerfOpt, node, 100, least=3))
    assert {"a": 30, "b": 51, "c": 20} == parts(pick(PerfOpt, node, 101, least=3))
    alike: dict[str, Facts] = dict.fromkeys("abc", (10, 0, 0))
    assert {"a": 4, "b": 3, "c": 3} == parts(pick(PerfOpt, alike, 10, least=3))


def test_candidates_stay_what_they_are() -> None:
    """A strategy may be asked several times, with others."""
    given_ones = candidates("a", "b")
    for strategy in (PerfOpt, CostOpt):
        policy = strategy(50, lambda _nic: 40, {})
        assert {"a": 25, "b": 25} == parts(policy.pick(given_ones, None))
        assert {"b": 40} == parts(policy.pick(given_ones[1:], None)) or strategy is CostOpt
        assert [0, 0] == [each.megabits for each in given_ones]
        assert [0, 1] == [each.place for each in policy.pick(given_ones, None).chosen]


def test_speed_is_read_once() -> None:
    asked: list[str] = []

    def speed_of(nic: Nic) -> int:
        asked.append(nic.name)
        return 40

    policy = CostOpt(50, speed_of, {})
    for _ in range(3):
        policy.pick(candidates("a", "b"), None)
    assert ["a", "b"] == asked


# --- costOpt


@pytest.mark.parametrize(
    ("target", "names"),
    [
        (1, "d"),  # one is enough, a slow one, the emptiest
        (40, "d"),
        (41, "b"),  # of the two fast ones the one with more free, though both would do
        (100, "b"),
        (101, "bd"),  # two, of which one may be slow
        (140, "bd"),
        (141, "ab"),
        (161, "bcd"),
        (181, "abd"),
        (201, "abcd"),
        (240, "abcd"),
    ],
)
def test_fewest_then_slowest(target: int, names: str) -> None:
    assert [*names] == cost(target).names
    assert target == sum(parts(cost(target)).values())


def test_cost_takes_the_least_number_of_nics() -> None:
    assert {"c": 10, "d": 10} == parts(cost(20, least=2))
    assert ["d"] == cost(20, limit=1, least=2).names
    assert [*"abcd"] == cost(20, least=9).names  # then too few: select() says so


@pytest.mark.parametrize(
    ("target", "limit", "shortage"),
    [
        (241, None, "target 241 Mbit/s cannot be reached: 240 Mbit/s are free"),
        (161, 2, "target 161 Mbit/s cannot be reached on at most 2 NICs: 160 Mbit/s are free"),
        (101, 1, "target 101 Mbit/s cannot be reached on at most 1 NIC: 100 Mbit/s are free"),
    ],
)
def test_shortage(target: int, limit: int | None, shortage: str) -> None:
    picked = cost(target, limit)
    assert ([], shortage) == (picked.names, picked.shortage)
    assert reasons(picked) == {
        "a": "60 Mbit/s of 100 Mbit/s are free",
        "b": "100 Mbit/s of 100 Mbit/s are free",
        "c": "40 Mbit/s of 40 Mbit/s are free",
        "d": "40 Mbit/s of 40 Mbit/s are free",
        "e": 'its speed is unknown: say it in the node\'s node.json, "speeds"',
        "f": "0 Mbit/s of 25 Mbit/s are free",
    }


def test_shortage_of_everything() -> None:
    picked = pick(CostOpt, {"a": (None, 0, 0)}, 1)
    assert "target 1 Mbit/s cannot be reached: nothing is free" == picked.shortage
    assert "target 1 Mbit/s cannot be reached: nothing is free" == pick(CostOpt, {}, 1).shortage


# --- both against slow references, for random nodes

NODES = st.lists(
    st.tuples(
        st.none() | st.sampled_from([10, 25, 40, 50, 100]), st.integers(0, 60), st.integers(0, 2)
    ),
    min_size=1,
    max_size=8,
).map(lambda facts: {f"n{index}": each for index, each in enumerate(facts)})
LIMITS = st.none() | st.integers(1, 6)


def free_of(facts: Facts) -> int:
    return max(0, (facts[0] or 0) - facts[1])


def sets_of(node: Mapping[str, Facts], least: int, most: int) -> list[list[int]]:
    return [
        list(chosen)
        for size in range(least, most + 1)
        for chosen in itertools.combinations(range(len(node)), size)
    ]


@settings(max_examples=300)
@given(NODES, st.integers(1, 300), LIMITS, st.integers(1, 8))
def test_cost_is_the_references(
    node: dict[str, Facts], target: int, limit: int | None, least: int
) -> None:
    """Of all sets that reach the target the first by size, speed, freedom, load, and order."""
    facts = list(node.values())
    known = [index for index, each in enumerate(facts) if free_of(each)]
    most = min(limit or len(known), len(known))

    def rank(chosen: Sequence[int]) -> tuple[int, int, int, int, Sequence[int]]:
        return (
            len(chosen),
            sum(facts[each][0] or 0 for each in chosen),
            -sum(free_of(facts[each]) for each in chosen),
            sum(facts[each][2] for each in chosen),
            chosen,
        )

    sufficient = [
        chosen
        for chosen in sets_of(node, min(least, most), most)
        if set(chosen) <= set(known) and sum(free_of(facts[each]) for each in chosen) >= target
    ]
    expected = [f"n{each}" for each in min(sufficient, key=rank, default=[])]
    picked = pick(CostOpt, node, target, limit, least)
    assert expected == picked.names
    assert bool(expected) != bool(picked.shortage)
    assert (target if expected else 0) == sum(parts(picked).values())


@settings(max_examples=300)
@given(NODES, st.none() | st.integers(1, 300), LIMITS, st.integers(1, 3))
def test_perf_is_the_references(
    node: dict[str, Facts], target: int | None, limit: int | None, least: int
) -> None:
    """Of all sets of one size the one with the most free; of the sizes the least that reaches."""
    facts = list(node.values())
    most = min(limit or len(facts), len(facts))

    def rank(chosen: Sequence[int]) -> tuple[int, int, Sequence[int]]:
        return (
            -sum(free_of(facts[each]) for each in chosen),
            sum(facts[each][2] for each in chosen),
            chosen,
        )

    best = [min(sets_of(node, size, size), key=rank) for size in range(min(least, most), most + 1)]
    expected = best[-1]
    for chosen in reversed(best):
        if target is not None and sum(free_of(facts[each]) for each in chosen) >= target:
            expected = chosen
    picked = pick(PerfOpt, node, target, limit, least)
    assert [f"n{each}" for each in expected] == picked.names
    total = sum(free_of(facts[each]) for each in expected)
    assert min(target or 0, total) == sum(parts(picked).values())
    for name, part in parts(picked).items():
        assert 0 <= part <= free_of(node[name])
        if total and target:
            assert abs(part - min(target, total) * free_of(node[name]) / total) < 1
