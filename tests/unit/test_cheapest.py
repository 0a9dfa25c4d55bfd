"""How many sets `costOpt` looks at; what it chooses is the business of test_bandwidth_policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_selectors.loads import Load
from multinic_selectors.policies import cheapest
from multinic_selectors.policies.cheapest import Purse
from multinic_selectors.policies.cost_opt import CostOpt
from tests.unit.policies import candidates, parts

if TYPE_CHECKING:
    from multinic_selectors.nics import Nic

# Speed, what is taken of it, attachments.
SPEEDS = [10, 25, 40, 50, 100, 200, 400, 800]
BUSY = {f"n{n}": (SPEEDS[n * 5 % 8] * 1000, n * 7919 % 90000, n * 7 % 5) for n in range(256)}
IDLE = {name: (speed, 0, 0) for name, (speed, _, _) in BUSY.items()}


# No two NICs have the same speed: sets of them have millions of sums.
MANY = {f"n{n}": (1000 + n * 99_991 % 1_000_003, 0, 0) for n in range(256)}


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list that gets an item for each set that is made."""
    made: list[None] = []

    class Counted(Purse):
        __slots__ = ()

        def __init__(self, *facts: int) -> None:
            made.append(None)
            super().__init__(*facts)

    monkeypatch.setattr(cheapest, "Purse", Counted)
    return made


@pytest.mark.parametrize("least", [1, 50, 128])
@pytest.mark.parametrize("node", [BUSY, IDLE], ids=["busy", "idle"])
def test_256_nics_are_chosen_in_few_steps(
    node: dict[str, tuple[int, int, int]], least: int, steps: list[None]
) -> None:
    """To look at all their sets would take for ever."""
    free = sum(max(0, speed - taken) for speed, taken, _ in node.values())
    loads = {name: Load(attachments, taken) for name, (_, taken, attachments) in node.items()}

    def speed_of(nic: Nic) -> int:
        return node[nic.name][0]

    for share in (0.01, 0.3, 0.5, 0.9):
        steps.clear()
        picked = CostOpt(int(free * share), speed_of, loads, least).pick(candidates(*node), None)
        assert int(free * share) == sum(parts(picked).values())
        assert len(picked.names) >= least
        assert 256 < len(steps) < 60_000


def total_speed(least: int, target: int) -> tuple[int, int]:
    """Return how many of the NICs are chosen, and how fast they are together."""
    picked = CostOpt(target, lambda nic: MANY[nic.name][0], {}, least).pick(candidates(*MANY), None)
    assert target == sum(parts(picked).values())
    return len(picked.names), sum(MANY[name][0] for name in picked.names)


@pytest.mark.parametrize("least", [1, 100])
def test_256_nics_of_256_speeds_are_chosen_in_few_steps(least: int, steps: list[None]) -> None:
    """Then the set may be a little faster than the slowest one, but never by much."""
    speeds = sorted((speed for speed, _, _ in MANY.values()), reverse=True)
    assert 256 == len(set(speeds))
    for share in (0.2, 0.3, 0.5):
        steps.clear()
        target = int(sum(speeds) * share)
        number, speed = total_speed(least, target)
        assert len(steps) < 100_000
        fewest = next(n for n in range(257) if sum(speeds[:n]) >= target)
        assert number == max(least, fewest)
        # No set can be below the target: this one is at most a hundredth above it.
        assert target <= speed <= max(target, sum(speeds[-number:])) * 1.01


def test_other_search_is_never_worse_than_the_first_set(monkeypatch: pytest.MonkeyPatch) -> None:
    target = sum(speed for speed, _, _ in MANY.values()) // 3
    monkeypatch.setattr(cheapest, "MOST_STEPS", 0)
    _, good = total_speed(100, target)
    monkeypatch.setattr(cheapest, "FEW", 0)
    _, first = total_speed(100, target)
    assert target <= good <= first
