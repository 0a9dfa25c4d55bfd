"""The cheapest so many NICs that reach a target: an exact search that looks at few sets.

Of NICs of one speed the best ones are taken, so that only how many of each speed is to be found
out: speed by speed, every set is kept that may still become the best one. Where these are too many,
as with hundreds of speeds, a second search keeps the most promising ones alone.
"""

from __future__ import annotations

from itertools import accumulate, islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from multinic_selectors.policies.free_bandwidth import Reading

    Readings = Mapping[int, Reading]
    _Group = tuple[list["Purse"], "_Limits"]

MOST_STEPS = 60_000  # sets that the exact search may look at: a tenth of a second of CPU
FEW = 32  # sets of each speed that the other search keeps


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

    def with_all(self, other: Purse) -> Purse:
        return Purse(
            self.size + other.size,
            self.speed + other.speed,
            self.free + other.free,
            self.attachments + other.attachments,
            self.members | other.members,
        )

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """What sorts sets of one size: the slower one comes first, and so on."""
        return self.speed, -self.free, self.attachments, -self.members


class Price:
    """A price for free bandwidth, by which sets can be told that cannot become the best one.

    A NIC costs its speed, less the price of what it has free: `times` the one, `less` times the
    other, in whole numbers. No set that reaches the target is slower than the cheapest by this
    cost, whatever the price is.
    """

    def __init__(self, times: int, less: int) -> None:
        self.times = times
        self.less = less

    def cost(self, speed: int, free: int) -> int:
        return self.times * speed - self.less * free

    def cheapest(self, readings: Readings, number: int) -> set[int]:
        """Return so many NICs that cost the least together, of equal ones those with most free."""
        costs = {
            index: (self.cost(each.speed, each.free), -each.free)
            for index, each in readings.items()
        }
        return set(sorted(costs, key=costs.__getitem__)[:number])

    def least(self, readings: Iterable[Reading]) -> list[int]:
        """Return the least that 0, 1, 2 … of these cost."""
        costs = sorted(self.cost(each.speed, each.free) for each in readings)
        return list(accumulate(costs, initial=0))


def cheapest(
    readings: Sequence[Reading], usable: Sequence[int], number: int, target: int
) -> set[int]:
    """Return the best so many NICs that reach the target; `usable` are sorted by rank.

    The `number` that have the most free must reach it. If it takes more than MOST_STEPS to find the
    best ones, they are good ones: never worse than those that one price and exchanges lead to.
    """
    known = {index: readings[index] for index in usable}
    prices, good = _prices(known, number, target)
    bits = {index: 1 << (len(readings) - index) for index in usable}
    first = _bests(known, sorted(good), bits)[-1]
    demand = _Demand(prices, number, target, first.speed)
    groups = list(_groups(known, bits, demand))
    found = _exact(groups, number)
    best = min(
        [first, *(_promising(groups, number) if found is None else found)],
        key=lambda purse: purse.rank,
    )
    return {index for index in usable if best.members & bits[index]}


def _exact(groups: Sequence[_Group], number: int) -> list[Purse] | None:
    """Return the best set; None if too many would have to be looked at."""
    purses, left = [Purse()], MOST_STEPS
    for bests, limits in groups:
        pairs = list(islice(_pairs(purses, bests, number), left + 1))
        left -= len(pairs)
        if left < 0:
            return None
        purses = _undominated(p.with_all(best) for p, best in pairs if limits.allow(p, best))
    return purses


def _promising(groups: Sequence[_Group], number: int) -> list[Purse]:
    """Return a good set, or none: of each speed only those are kept that could become cheapest."""
    purses = [Purse()]
    for bests, limits in groups:
        pairs = _pairs(purses, bests, number)
        purses = _undominated(p.with_all(best) for p, best in pairs if limits.allow(p, best))
        purses = sorted(purses, key=limits.promise)[:FEW]
    return purses


def _pairs(
    purses: Iterable[Purse], bests: Sequence[Purse], number: int
) -> Iterator[tuple[Purse, Purse]]:
    return ((purse, best) for purse in purses for best in bests[: number - purse.size + 1])


def _groups(known: Readings, bits: Mapping[int, int], demand: _Demand) -> Iterator[_Group]:
    """Return speed by speed, the highest first, the best sets of it and the limits after it."""
    left = dict(known)
    for speed in sorted({each.speed for each in known.values()}, reverse=True):
        own = [index for index in left if left[index].speed == speed]
        left = {index: each for index, each in left.items() if each.speed != speed}
        yield _bests(known, own, bits), _Limits(left.values(), demand)


def _bests(readings: Readings, own: Sequence[int], bits: Mapping[int, int]) -> list[Purse]:
    """Return the first none, one, two … of these NICs: the best ones, if they have one speed."""
    ones = (
        Purse(1, readings[each].speed, readings[each].free, readings[each].attachments, bits[each])
        for each in own
    )
    return list(accumulate(ones, Purse.with_all, initial=Purse()))


class _Demand:
    """What the best set is to be: so many NICs with the target free, no slower than a known set."""

    def __init__(self, prices: Sequence[Price], number: int, target: int, slowest: int) -> None:
        self.number = number
        self.target = target
        self.costs = [(price, price.cost(slowest, target)) for price in prices]


class _Limits:
    """What a set must be like, so that NICs that are left can make it the best one."""

    def __init__(self, left: Iterable[Reading], demand: _Demand) -> None:
        readings = list(left)
        self._number = demand.number
        self._target = demand.target
        self._most = list(accumulate((each.free for each in readings), initial=0))
        self._costs = [
            (price.times, price.less, price.least(readings), most) for price, most in demand.costs
        ]

    def allow(self, purse: Purse, more: Purse) -> bool:
        missing = self._number - purse.size - more.size
        free = purse.free + more.free
        if missing >= len(self._most) or free + self._most[missing] < self._target:
            return False
        speed = purse.speed + more.speed
        return all(
            times * speed - less * free + least[missing] <= most
            for times, less, least, most in self._costs
        )

    def promise(self, purse: Purse) -> tuple[int, tuple[int, int, int, int]]:
        """Return what sorts sets: the one that could become the cheapest comes first."""
        times, less, least, _ = self._costs[-1]
        cost = times * purse.speed - less * purse.free + least[self._number - purse.size]
        return cost, purse.rank


def _prices(readings: Readings, number: int, target: int) -> tuple[list[Price], set[int]]:
    """Return prices that tell sets apart, and a set that is nearly the best one.

    From the slowest set and the freest one the price is sought at which both cost the same and
    nothing costs less: by no other price can more be told (LARAC, of Jüttner and others, does so).
    """
    nothing = Price(1, 0)
    slow = nothing.cheapest(readings, number)
    free = set(list(readings)[:number])  # they are sorted by it
    if _free(readings, slow) >= target:
        return [nothing], slow
    while True:
        price = Price(
            _free(readings, free) - _free(readings, slow),
            _speed(readings, free) - _speed(readings, slow),
        )
        found = price.cheapest(readings, number)
        if _cost(price, readings, found) == _cost(price, readings, slow):
            return [nothing, price], _slowed(readings, free, target)
        if _free(readings, found) >= target:
            free = found
        else:
            slow = found


def _slowed(readings: Readings, chosen: set[int], target: int) -> set[int]:
    """Return a set that reaches the target as well, with slower NICs in the place of others."""
    spare = _free(readings, chosen) - target
    result = set(chosen)
    for fast in sorted(chosen, key=lambda index: -readings[index].speed):
        others = (
            index
            for index, each in readings.items()
            if index not in result
            and each.speed < readings[fast].speed
            and readings[fast].free - each.free <= spare
        )
        slow = min(
            others, key=lambda index: (readings[index].speed, -readings[index].free), default=fast
        )
        spare -= readings[fast].free - readings[slow].free
        result = result - {fast} | {slow}
    return result


def _free(readings: Readings, chosen: Iterable[int]) -> int:
    return sum(readings[index].free for index in chosen)


def _speed(readings: Readings, chosen: Iterable[int]) -> int:
    return sum(readings[index].speed for index in chosen)


def _cost(price: Price, readings: Readings, chosen: Iterable[int]) -> int:
    return price.cost(_speed(readings, chosen), _free(readings, chosen))


def _undominated(purses: Iterator[Purse]) -> list[Purse]:
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
