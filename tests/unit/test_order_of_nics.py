"""The order in which the kernel lists NICs changes no strategy's choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from multinic_selectors.candidates import Admin, Wish
from multinic_selectors.loads import Load
from multinic_selectors.policies.cost_opt import CostOpt
from multinic_selectors.policies.perf_opt import PerfOpt
from multinic_selectors.policies.topology import Topology
from multinic_selectors.selection import first, select
from tests.unit.nics import nic
from tests.unit.policies import at

if TYPE_CHECKING:
    from random import Random

    from multinic_selectors.selection import Selection

NAMES = ["eth1", "eth2", "eth10", "a", "ens3f0", "ens3f1"]
SPEEDS = st.lists(st.none() | st.sampled_from([10, 25, 100]), min_size=6, max_size=6)
SPEEDS = SPEEDS.filter(any)  # or nothing would be free for costOpt
LOADS = st.lists(st.integers(0, 2), min_size=6, max_size=6)
ROOTS = st.lists(st.sampled_from(["", "pci0", "pci1"]), min_size=6, max_size=6)


@given(SPEEDS, LOADS, ROOTS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_order_does_not_matter(
    speeds: list[int | None], attached: list[int], roots: list[str], limit: int, chance: Random
) -> None:
    loads = {name: Load(number, number * 5) for name, number in zip(NAMES, attached, strict=True)}
    speed_of = dict(zip(NAMES, speeds, strict=True))
    places = {name: at(root) for name, root in zip(NAMES, roots, strict=True)}
    node = [nic(name) for name in NAMES]
    shuffled = list(node)
    chance.shuffle(shuffled)
    for pick in (
        first,
        Topology([at("pci1"), at("pci0")], lambda nic: places[nic.name], loads).pick,
        PerfOpt(30, lambda nic: speed_of[nic.name], loads).pick,
        CostOpt(5, lambda nic: speed_of[nic.name], {}).pick,
    ):
        one, other = (
            said(select(listed, Admin(nics=limit), Wish(), pick=pick))
            for listed in (node, shuffled)
        )
        assert one == other


def said(selection: Selection) -> object:
    return (
        [(each.nic.name, each.place, each.megabits) for each in selection.chosen],
        selection.refused,
        selection.unhealthy,
    )
