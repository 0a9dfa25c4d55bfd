"""The order in which the kernel lists NICs changes no strategy's choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from multinic_selectors.candidates import Admin, SelectionError, Wish
from multinic_selectors.loads import Load
from multinic_selectors.policies.cost_opt import CostOpt
from multinic_selectors.policies.perf_opt import PerfOpt
from multinic_selectors.policies.topology import Topology
from multinic_selectors.selection import first, select
from tests.unit.nics import nic
from tests.unit.test_topology_model import LOCATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from multinic_selectors.locations import Location
    from multinic_selectors.nics import Nic
    from multinic_selectors.selection import Pick

NAMES = ["eth1", "eth2", "eth10", "a", "ens3f0", "ens3f1"]


def six(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(strategy, min_size=6, max_size=6)


@settings(max_examples=200)
@given(
    six(st.none() | st.sampled_from([10, 25, 100])),
    six(st.integers(0, 2)),
    six(st.none() | LOCATIONS),
    st.lists(LOCATIONS, max_size=3),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_order_does_not_matter(  # noqa: PLR0917 - what there is of a node
    speeds: list[int | None],
    attached: list[int],
    locations: list[Location | None],
    devices: list[Location],
    limit: int,
    chance: Random,
) -> None:
    loads = {name: Load(number, number * 5) for name, number in zip(NAMES, attached, strict=True)}
    speed_of = dict(zip(NAMES, speeds, strict=True))
    places = dict(zip(NAMES, locations, strict=True))
    node = [nic(name) for name in NAMES]
    shuffled = list(node)
    chance.shuffle(shuffled)
    for pick in (
        first,
        Topology(devices, lambda nic: places[nic.name], loads).pick,
        PerfOpt(30, lambda nic: speed_of[nic.name], loads).pick,
        CostOpt(15, lambda nic: speed_of[nic.name], loads).pick,
    ):
        assert said(node, limit, pick) == said(shuffled, limit, pick)


def said(node: Sequence[Nic], limit: int, pick: Pick) -> object:
    """Return what is said of each NIC; a target may be out of reach."""
    try:
        selection = select(node, Admin(nics=limit), Wish(), pick=pick)
    except SelectionError as error:
        return str(error), error.reasons
    return (
        [(each.nic.name, each.place, each.megabits) for each in selection.chosen],
        selection.refused,
        selection.unhealthy,
        list(selection.why),
        list(selection.notes),
    )
