"""What `perfOpt` and `costOpt` say for and against NICs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multinic_selectors.policies.cost_opt import CostOpt
from tests.unit.policies import reasons
from tests.unit.test_bandwidth_policies import cost, perf, pick

if TYPE_CHECKING:
    from tests.unit.test_bandwidth_policies import Facts


def test_perf_says_why() -> None:
    limited = reasons(perf(limit=2))
    assert limited["c"] == "40 Mbit/s of 40 Mbit/s are free; 2 with as much or more will do"
    assert limited["f"] == "0 Mbit/s of 25 Mbit/s are free; 2 with as much or more will do"
    assert limited["e"].startswith("its speed is unknown: say it in the node's node.json")
    enough = "2 with as much or more: 160 Mbit/s, enough for 150 Mbit/s"
    assert reasons(perf(150))["d"] == f"40 Mbit/s of 40 Mbit/s are free; {enough}"
    scarce = "one with as much or more: 100 Mbit/s for 150 Mbit/s, but no more may be taken"
    assert reasons(perf(150, limit=1))["d"] == f"40 Mbit/s of 40 Mbit/s are free; {scarce}"


def test_perf_says_what_speaks_for_the_chosen() -> None:
    picked = perf(limit=2)
    assert [
        ("a", "60 Mbit/s of 100 Mbit/s are free"),
        ("b", "100 Mbit/s of 100 Mbit/s are free"),
    ] == picked.why
    assert [] == list(picked.notes)


def test_perf_notes_that_it_takes_nics_of_unknown_speed() -> None:
    (note,) = perf(1000).notes
    assert 'say those of e in the node\'s node.json, "speeds"' in note


def test_cost_says_why() -> None:
    why = reasons(cost(101))
    assert why["a"] == "60 Mbit/s of 100 Mbit/s are free; 2 are chosen: 140 Mbit/s"
    assert [
        ("b", "100 Mbit/s of 100 Mbit/s are free"),
        ("d", "40 Mbit/s of 40 Mbit/s are free"),
    ] == cost(101).why
    assert [] == list(cost(101).notes)
    assert why["e"].startswith('its speed is unknown: say it in the node\'s node.json, "speeds"')


def test_cost_says_who_won_a_tie() -> None:
    alike: dict[str, Facts] = {**dict.fromkeys("abc", (40, 0, 0)), "d": (40, 0, 1)}
    why = reasons(pick(CostOpt, alike, 80))
    free = "40 Mbit/s of 40 Mbit/s are free; 2 are chosen: 80 Mbit/s"
    assert {"c": f"{free}; a is like it and comes first", "d": free} == why
