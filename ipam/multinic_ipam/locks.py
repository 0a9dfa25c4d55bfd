"""Locks between processes: a blocking flock with a deadline."""

from __future__ import annotations

import _signal
import time
from fcntl import LOCK_EX, LOCK_NB, flock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

# Each tick makes the waiter leave the kernel's queue and join it again at the end: few of them.
TICK_SECONDS = 0.25


class LockTimeoutError(Exception):
    """The lock stayed with another process until the deadline, or the wait was called off."""


def never() -> bool:
    return False


def lock(descriptor: int, deadline: float, called_off: Callable[[], bool] = never) -> None:
    """Take an exclusive flock; `deadline` is on the monotonic clock.

    The wait sleeps in the kernel: with many waiters, polling makes the unlucky ones wait six times
    longer. Python retries flock after a signal whose handler returns, so the deadline is a handler
    that raises. The timer ticks on because its first signal may fall just before the system call.
    Raises LockTimeoutError. The caller opens and closes the descriptor.
    """
    if try_lock(descriptor):
        return
    waiting = True

    def tick(_signal_number: int, _frame: FrameType | None) -> None:
        if waiting and (time.monotonic() >= deadline or called_off()):
            raise LockTimeoutError

    before = _signal.signal(_signal.SIGALRM, tick)
    try:
        first = min(TICK_SECONDS, max(deadline - time.monotonic(), 0.001))
        _signal.setitimer(_signal.ITIMER_REAL, first, TICK_SECONDS)
        try:
            flock(descriptor, LOCK_EX)
        finally:
            # A tick from here on belongs to nobody: it must not raise into the caller's code.
            waiting = False
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, before)


def try_lock(descriptor: int) -> bool:
    """Take the lock if it is free; never waits."""
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True
