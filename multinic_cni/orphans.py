"""Delegates that have outlived their call and hang: how a DEL that waits for them goes on.

Every delegate has in its environment which process called it, and hands that on to its children.
"""

from __future__ import annotations

import _signal
import os

from multinic_cni.log import log

PROC = "/proc"
CALLER = "MULTINIC_CNI_CALLER"
STAT_START_TIME = 19  # proc_pid_stat(5): field 22, counted from the third, which follows the ")"


def caller_of_delegates() -> dict[str, str]:
    """Return the variable by which a delegate's caller is known: this process, and its start.

    A process number alone is used again by somebody else.
    """
    return {CALLER: f"{os.getpid()}:{_start_time('self')}"}


def end_orphans(lock_file: str) -> None:
    """Kill delegates, and what they started, that have a lock's file open and whose caller is dead.

    Calls of the plugin, those of other programs, and delegates of a living call are left alone.
    """
    try:
        status = os.stat(lock_file, follow_symlinks=False)
    except OSError:
        return
    for process in os.listdir(PROC):
        if process.isdecimal():
            _end_if_orphan(process, (status.st_dev, status.st_ino))


def _end_if_orphan(process: str, lock_file: tuple[int, int]) -> None:
    try:
        # From here on the descriptor stands for this very process, whatever its number is given to.
        descriptor = os.pidfd_open(int(process))
    except OSError:
        return
    try:
        if _has_open(process, lock_file) and _is_orphan(process):
            log.warning("killing a delegate that its call has left behind", pid=process)
            _signal.pidfd_send_signal(descriptor, _signal.SIGKILL)
    except OSError:
        return  # it has ended, or may not be looked at: then nothing is known of it
    finally:
        os.close(descriptor)


def _has_open(process: str, file: tuple[int, int]) -> bool:
    folder = f"{PROC}/{process}/fd"
    return any(_is(f"{folder}/{descriptor}", file) for descriptor in os.listdir(folder))


def _is(path: str, file: tuple[int, int]) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False  # it has been closed since
    return (status.st_dev, status.st_ino) == file


def _is_orphan(process: str) -> bool:
    variables = _read(f"{PROC}/{process}/environ").split(b"\0")
    prefix = f"{CALLER}=".encode()
    for variable in variables:
        if variable.startswith(prefix):
            caller, _, start = variable.removeprefix(prefix).decode().partition(":")
            return _start_time(caller) != start
    return False


def _start_time(process: str) -> str:
    """Return when a process started, in clock ticks since the boot; empty if there is none."""
    if process != "self" and not process.isdecimal():
        return ""
    try:
        fields = _read(f"{PROC}/{process}/stat").rpartition(b")")[2].split()
    except OSError:
        return ""
    return fields[STAT_START_TIME].decode()


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
