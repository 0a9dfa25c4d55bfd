"""`perfOpt`: the NICs with the most free bandwidth."""

from __future__ import annotations

from multinic_selectors.bandwidth import format_bandwidth
from multinic_selectors.nics import natural_order
from multinic_selectors.policies.free_bandwidth import ByBandwidth, divided
from multinic_selectors.selection import Picked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_selectors.candidates import Choice


class PerfOpt(ByBandwidth):
    """Chooses by free bandwidth. It refuses nobody: what cannot be reached gets what there is."""

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
        why = [(candidates[index].nic.name, meters[index].words) for index in sorted(chosen)]
        unknown = [candidates[index].nic.name for index in chosen if not meters[index].speed]
        notes = [_unknown_speeds(unknown)] if unknown else []
        parts = divided(candidates, chosen, self._target or 0)
        return Picked(parts, passed, why=why, notes=notes)

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


def _unknown_speeds(names: Sequence[str]) -> str:
    listed = ", ".join(sorted(names, key=natural_order))
    return (
        f"perfOpt counts unknown speeds as nothing, and takes all such NICs for any target: say"
        f' those of {listed} in the node\'s node.json, "speeds"'
    )
