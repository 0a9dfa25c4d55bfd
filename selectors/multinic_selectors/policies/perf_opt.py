"""`perfOpt`: the NICs with the most free bandwidth."""

from __future__ import annotations

from multinic_selectors.bandwidth import format_bandwidth
from multinic_selectors.policies.free_bandwidth import Meter, divided
from multinic_selectors.selection import Picked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from multinic_selectors.candidates import Choice
    from multinic_selectors.loads import Load
    from multinic_selectors.nics import Nic


class PerfOpt:
    """Chooses by free bandwidth; `target` is in Mbit/s, None where only a number of NICs counts.

    It refuses nobody: a target that cannot be reached gets what there is. `least` NICs are chosen
    even if fewer reach the target.
    """

    def __init__(
        self,
        target: int | None,
        speed_of: Callable[[Nic], int | None],
        loads: Mapping[str, Load],
        least: int = 1,
    ) -> None:
        self._target = target
        self._least = least
        self._meter = Meter(speed_of, loads)

    def pick(self, candidates: Sequence[Choice], limit: int | None) -> Picked:
        meters = [self._meter.read(each.nic) for each in candidates]
        most = len(candidates) if limit is None else limit
        least = min(self._least, most)
        chosen: dict[int, int] = {}  # from a candidate to its free bandwidth
        for index in sorted(range(len(candidates)), key=lambda index: meters[index].rank):
            reached = self._target is not None and sum(chosen.values()) >= self._target
            if len(chosen) == most or (reached and len(chosen) >= least):
                break
            chosen[index] = meters[index].free
        sufficient = self._sufficient(sum(chosen.values()), len(chosen))
        passed = [
            (each.nic.name, f"{meters[index].words}; {sufficient}")
            for index, each in enumerate(candidates)
            if index not in chosen
        ]
        return Picked(divided(candidates, chosen, self._target or 0), passed)

    def _sufficient(self, free: int, number: int) -> str:
        others = "one" if number == 1 else str(number)
        if self._target is None:
            return f"{others} with as much or more will do"
        reached, target = format_bandwidth(free), format_bandwidth(self._target)
        if free < self._target:
            return (
                f"{others} with as much or more: {reached} for {target}, but no more may be taken"
            )
        return f"{others} with as much or more: {reached}, enough for {target}"
