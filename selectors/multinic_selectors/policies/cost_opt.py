"""`costOpt`: the fewest and slowest NICs whose free bandwidth reaches the target."""

from __future__ import annotations

from itertools import accumulate

from multinic_selectors.bandwidth import format_bandwidth
from multinic_selectors.policies.cheapest import cheapest
from multinic_selectors.policies.free_bandwidth import ByBandwidth, divided
from multinic_selectors.selection import Picked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_selectors.candidates import Choice


class CostOpt(ByBandwidth):
    """Chooses the cheapest NICs that give the `target`, in Mbit/s.

    Of the sets of NICs that give it: the smallest, then the slowest, then the one with the most
    free bandwidth, then the one with the fewest attachments, then the first in the candidates'
    order. A NIC that has nothing free, or whose speed is unknown, is never chosen.
    """

    def pick(self, candidates: Sequence[Choice], limit: int | None) -> Picked:
        target = self._target or 0
        readings = [self._meter.read(each.nic) for each in candidates]
        usable = [index for index, reading in enumerate(readings) if reading.free]
        usable.sort(key=lambda index: readings[index].rank)
        most = len(usable) if limit is None else min(limit, len(usable))
        free = list(accumulate(readings[index].free for index in usable[:most]))
        number = next((n for n, total in enumerate(free, 1) if total >= target), None)
        if number is None:
            passed = [(c.nic.name, r.words) for c, r in zip(candidates, readings, strict=True)]
            return Picked([], passed, _shortage(target, free, limit))
        number = min(max(number, self._least), most)
        chosen = cheapest(readings, usable, number, target)
        total = format_bandwidth(sum(readings[index].free for index in chosen))
        others = "one is" if number == 1 else f"{number} are"
        why = [(candidates[index].nic.name, readings[index].words) for index in sorted(chosen)]
        first = sorted(chosen, reverse=True)  # of several that are alike, the first stays
        equals = {readings[index].facts: candidates[index].nic.name for index in first}
        passed = []
        for index, each in enumerate(candidates):
            if index not in chosen:
                reason = f"{readings[index].words}; {others} chosen: {total}"
                equal = equals.get(readings[index].facts)
                tie = f"; {equal} is like it and comes first" if equal else ""
                passed.append((each.nic.name, reason + tie))
        parts = {index: readings[index].free for index in chosen}
        return Picked(divided(candidates, parts, target), passed, why=why)


def _shortage(target: int, free: Sequence[int], limit: int | None) -> str:
    has = f"{format_bandwidth(free[-1])} are free" if free else "nothing is free"
    at_most = "" if limit is None else f" on at most {limit} NIC{'s' if limit > 1 else ''}"
    return f"target {format_bandwidth(target)} cannot be reached{at_most}: {has}"
