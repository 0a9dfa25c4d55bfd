"""The node's clock in a test's hands: it stands still until it is moved, backwards even."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

SECOND = 1_000_000


class Clock:
    """Stands for the module `time` where it is asked for the time of day."""

    def __init__(self) -> None:
        self.microseconds = 1_750_000_000 * SECOND

    def advance(self, seconds: float) -> None:
        self.microseconds += round(seconds * SECOND)

    def time(self) -> float:
        return self.microseconds / SECOND

    def time_ns(self) -> int:
        return self.microseconds * 1000


def clock_of_the_store(patch: pytest.MonkeyPatch) -> Clock:
    """Return the clock by which a store's addresses rest and leave quarantine from now on."""
    clock = Clock()
    for module in ("turns", "quarantine"):
        patch.setattr(f"multinic_ipam.{module}.time", clock)
    return clock
