"""The call's end from outside: SIGTERM and SIGINT become a flag that waits look at.

A runtime that gives up sends SIGTERM. An exception from the handler could strike between a file and
its record; so every wait of the plugin (locks, delegates) asks `cancelled()` instead.
"""

from __future__ import annotations

import _signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

SIGNALS = (_signal.SIGTERM, _signal.SIGINT)

_received: list[int] = []
_ignored: list[int] = []


def watch() -> None:
    """Catch the signals from now on, whatever the caller had blocked: masks outlive exec."""
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    for number in SIGNALS:
        _signal.signal(number, _note)


def cancelled() -> bool:
    return bool(_received) and not _ignored


def ignore_from_now_on() -> None:
    """Let the roll-back run to its end: the wish to stop has been understood, also if repeated."""
    _ignored.extend(SIGNALS)


def _note(number: int, _frame: FrameType | None) -> None:
    _received.append(number)
