"""`costOpt`: the fewest and slowest NICs whose free bandwidth reaches the target."""

from __future__ import annotations

from itertools import accumulate

from multinic_selectors.bandwidth import format_bandwidth
from multinic_selectors.policies.free_bandwidth import Meter, divided
from multinic_selectors.selection import Picked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from multinic_selectors.candidates import Choice
    from multinic_selectors.loads import Load
    from multinic_selectors.nics import Nic
    from multinic_selectors.policies.free_bandwidth import Reading


class CostOpt:
    """Chooses the cheapest NICs that give the `target`, in Mbit/s.

    Of the sets of NICs that give it: the smallest, then the slowest, then the one with the most
    free bandwidth, then the one with the fewest attachments, then the first in the candidates'
    order. `least` NICs are chosen even if fewer would do. A NIC that
    has nothing free, or whose speed is unknown, is never chosen.
    """

    def __init__(
        self,
        target: int,
        speed_of: Callable[[Nic], int | None],
        loads: Mapping[str, Load],
        least: int = 1,
    ) -> None:
        self._target = target
        self._least = least
        self._meter = Meter(speed_of, loads)

    def pick(self, candidates: Sequence[Choice], limit: int | None) -> Picked:
        readings = [self._meter.read(each.nic) for each in candidates]
        usable = [index for index, reading in enumerate(readings) if reading.free]
        usable.sort(key=lambda index: readings[index].rank)
        most = len(usable) if limit is None else min(limit, len(usable))
        free = list(accumulate(readings[index].free for index in usable[:most]))
        number = next((n for n, total in enumerate(free, 1) if total >= self._target), None)
        if number is None:
            passed = [(c.nic.name, r.words) for c, r in zip(candidates, readings, strict=True)]
            return Picked([], passed, self._shortage(free, limit))
        number = min(max(number, self._least), most)
        chosen = cheapest(readings, usable, number, self._target)
        total = format_bandwidth(sum(readings[index].free for index in chosen))
        others = "one is" if number == 1 else f"{number} are"
        passed = [
            (each.nic.name, f"{readings[index].words}; {others} chosen: {total}")
            for index, each in enumerate(candidates)
            if index not in chosen
        ]
        parts = {index: readings[index].free for index in chosen}
        return Picked(divided(candidates, parts, self._target), passed)

    def _shortage(self, free: Sequence[int], limit: int | None) -> str:
        has = f"{format_bandwidth(free[-1])} are free" if free else "nothing is free"
        at_most = "" if limit is None else f" on at most {limit} NIC{'s' if limit > 1 else ''}"
        return f"target {format_bandwidth(self._target)} cannot be reached{at_most}: {has}"


class Purse:
    """Some NICs, as what they cost and give together; `members` has a bit for each.

    The first candidate's is the highest bit: of two sets of one size, the one with the larger
    number comes first in the candidates' order.
    """

    __slots__ = ("attachments", "free", "members", "size", "speed")

    def __init__(
        self, size: int = 0, speed: int = 0, free: int = 0, attachments: int = 0, members: int = 0
    ) -> None:
        self.size = size
        self.speed = speed
        self.free = free
        self.attachments = attachments
        self.members = members

    def with_nic(self, reading: Reading, bit: int) -> Purse:
        return Purse(
            self.size + 1,
            self.speed + reading.speed,
            self.free + reading.free,
            self.attachments + reading.attachments,
            self.members | bit,
        )

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """What sorts sets of one size: the slower one comes first, and so on."""
        return self.speed, -self.free, self.attachments, -self.members


def cheapest(
    readings: Sequence[Reading], usable: Sequence[int], number: int, target: int
) -> set[int]:
    """Return the best so many NICs that reach the target; `usable` are sorted by rank.

    Of NICs of one speed the best ones are taken, so that only how many of each speed is to be
    found out: speed by speed, every set is kept that may still become the best one.
    """
    bits = {index: 1 << (len(readings) - index) for index in usable}
    purses = [Purse()]
    left = list(usable)
    for speed in sorted({readings[index].speed for index in usable}, reverse=True):
        own = [index for index in left if readings[index].speed == speed]
        left = [index for index in left if readings[index].speed != speed]
        most = list(accumulate((readings[index].free for index in left), initial=0))
        extended: list[Purse] = []
        for purse in purses:
            extended.append(purse)
            for index in own[: number - purse.size]:
                extended.append(extended[-1].with_nic(readings[index], bits[index]))
        promising = (
            purse
            for purse in extended
            if number - purse.size < len(most) and purse.free + most[number - purse.size] >= target
        )
        purses = _undominated(promising)
    best = purses[0]  # of the only size that is left
    return {index for index in usable if best.members & bits[index]}


def _undominated(purses: Iterable[Purse]) -> list[Purse]:
    """Leave out each set than which another of its size is slower and has more free bandwidth.

    Whatever is added to both, the other one stays the better one.
    """
    by_size: dict[int, list[Purse]] = {}
    for purse in purses:
        by_size.setdefault(purse.size, []).append(purse)
    kept: list[Purse] = []
    for alike in by_size.values():
        alike.sort(key=lambda purse: purse.rank)
        most = -1
        for purse in alike:
            if purse.free > most:
                kept.append(purse)
                most = purse.free
    return kept
