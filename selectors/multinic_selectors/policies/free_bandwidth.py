"""What is free of each NIC's bandwidth, and who takes which part of a target."""

from __future__ import annotations

from multinic_selectors.bandwidth import format_bandwidth
from multinic_selectors.candidates import Choice
from multinic_selectors.loads import NONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from multinic_selectors.loads import Load
    from multinic_selectors.nics import Nic

UNKNOWN = 'its speed is unknown: say it in the node\'s node.json, "speeds"'


class Reading:
    """Of one NIC: its speed, 0 if unknown, what is free of it, and how many have a part of it.

    Speed and free bandwidth are in Mbit/s. Targets of pods may have taken more than the speed,
    once it has sunk: then nothing is free.
    """

    __slots__ = ("attachments", "free", "speed")

    def __init__(self, speed: int, load: Load) -> None:
        self.speed = speed
        self.free = max(0, speed - load.megabits)
        self.attachments = load.attachments

    @property
    def rank(self) -> tuple[int, int]:
        """What sorts NICs: those with the most free bandwidth come first, then the emptiest."""
        return -self.free, self.attachments

    @property
    def facts(self) -> tuple[int, int, int]:
        """What there is to compare of a NIC: two with the same differ by their places alone."""
        return self.speed, self.free, self.attachments

    @property
    def words(self) -> str:
        if not self.speed:
            return UNKNOWN
        return f"{format_bandwidth(self.free)} of {format_bandwidth(self.speed)} are free"


class Meter:
    """Reads each NIC once, however often a strategy is asked."""

    def __init__(self, speed_of: Callable[[Nic], int | None], loads: Mapping[str, Load]) -> None:
        self._speed_of = speed_of
        self._loads = loads
        self._readings: dict[str, Reading] = {}

    def read(self, nic: Nic) -> Reading:
        if nic.name not in self._readings:
            load = self._loads.get(nic.name, NONE)
            self._readings[nic.name] = Reading(self._speed_of(nic) or 0, load)
        return self._readings[nic.name]


class ByBandwidth:
    """A strategy that looks for a `target` in Mbit/s; None where only a number of NICs counts.

    `least` NICs are chosen even if fewer reach the target.
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


def divided(candidates: Sequence[Choice], chosen: Mapping[int, int], target: int) -> list[Choice]:
    """Return the chosen candidates, in their order, each with its part of the target.

    `chosen` are their free Mbit/s by index. Parts are whole Mbit/s in proportion to these, so that
    none is more than is free; what rounding leaves goes to the largest fractions.
    """
    total = sum(chosen.values())
    taken = min(target, total)
    parts = {index: taken * free // total if total else 0 for index, free in chosen.items()}
    by_fraction = sorted(chosen, key=lambda index: (-(taken * chosen[index] % (total or 1)), index))
    for index in by_fraction[: taken - sum(parts.values())]:
        parts[index] += 1
    return [Choice(candidates[i].nic, candidates[i].place, parts[i]) for i in sorted(chosen)]
