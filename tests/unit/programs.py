"""Programs that tests execute: shell scripts, and what is said of their ends."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from multinic_cni.execution import drive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from multinic_cni.execution import Task
    from multinic_cni.process import Command, Outcome

PATH = {"PATH": "/usr/bin:/bin"}
HANGING = "exec sleep 60"
Script: TypeAlias = "Callable[..., Command]"


def once(command: Command) -> Task[Outcome]:
    return (yield command)


def execute(*commands: Command, seconds: float = 30, at_once: int | None = None) -> list[Outcome]:
    return drive([once(each) for each in commands], time.monotonic() + seconds, at_once)


@contextmanager
def faster_than(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended, be it that nobody has asked for its status yet."""
    for _ in range(100):
        try:
            with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - a race that open alone tells
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False
