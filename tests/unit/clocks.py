"""The node's clock in a test's hands: it stands still until it is moved, backwards even."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

SECOND = 1_000_000


class Clock:
    """Stands for the module `time` where it is asked for the time of day, or since the boot."""

    CLOCK_BOOTTIME = time.CLOCK_BOOTTIME

    def __init__(self) -> None:
        self.microseconds = self.booted = 1_750_000_000 * SECOND

    def advance(self, seconds: float) -> None:
        self.microseconds += round(seconds * SECOND)

    def time(self) -> float:
        return self.microseconds / SECOND

    def time_ns(self) -> int:
        return self.microseconds * 1000

    def clock_gettime(self, clock: int) -> float:
        assert self.CLOCK_BOOTTIME == clock
        return (self.microseconds - self.booted) / SECOND


def clock_of_the_store(patch: pytest.MonkeyPatch) -> Clock:
    """Return the clock by which addresses rest and leave quarantine, and the node boots."""
    clock = Clock()
    for module in ("multinic_ipam.turns", "multinic_ipam.quarantine", "multinic_cni.upkeep.reboot"):
        patch.setattr(f"{module}.time", clock)
    return clock
