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


@pytest.mark.parametrize("least", [1, 50, 128])
@pytest.mark.parametrize("node", [BUSY, IDLE], ids=["busy", "idle"])
def test_256_nics_are_chosen_in_few_steps(
    node: dict[str, tuple[int, int, int]], least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To look at all their sets would take for ever."""
    steps = 0

    class Counted(Purse):
        __slots__ = ()

        def __init__(self, *facts: int) -> None:
            nonlocal steps
            steps += 1
            super().__init__(*facts)

    monkeypatch.setattr(cheapest, "Purse", Counted)
    free = sum(max(0, speed - taken) for speed, taken, _ in node.values())
    loads = {name: Load(attachments, taken) for name, (_, taken, attachments) in node.items()}

    def speed_of(nic: Nic) -> int:
        return node[nic.name][0]

    for share in (0.01, 0.3, 0.5, 0.9):
        steps = 0
        picked = CostOpt(int(free * share), speed_of, loads, least).pick(candidates(*node), None)
        assert int(free * share) == sum(parts(picked).values())
        assert len(picked.names) >= least
        assert 256 < steps < 60_000
