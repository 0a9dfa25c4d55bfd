"""Delegates that have outlived their call and hang: how a DEL that waits for them goes on."""

from __future__ import annotations

import _signal
import os

from multinic_cni.log import log

PROC = "/proc"
OWN_EXECUTABLE = f"{PROC}/self/exe"


def end_orphans(lock_file: str) -> bool:
    """Kill the processes that have a lock's file open; tell whether there were any.

    None is killed while a call of the plugin is among them: that one is alive and will end by its
    own deadline. Only an attachment's delegates, and what they started, ever inherit its lock.
    """
    try:
        status = os.stat(lock_file, follow_symlinks=False)
        own = os.readlink(OWN_EXECUTABLE)
    except OSError:
        return False
    holders = [
        process
        for process in os.listdir(PROC)
        if process.isdecimal()
        and int(process) != os.getpid()
        and _has_open(process, (status.st_dev, status.st_ino))
    ]
    if any(_executable(process) == own for process in holders):
        return False
    for process in holders:
        log.warning("killing what a delegate left behind", pid=process, exe=_executable(process))
        try:
            os.kill(int(process), _signal.SIGKILL)
        except ProcessLookupError:
            continue
    return bool(holders)


def _has_open(process: str, file: tuple[int, int]) -> bool:
    folder = f"{PROC}/{process}/fd"
    try:
        descriptors = os.listdir(folder)
    except OSError:
        return False  # it has ended since
    return any(_is(f"{folder}/{descriptor}", file) for descriptor in descriptors)


def _is(path: str, file: tuple[int, int]) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False  # it has been closed since
    return (status.st_dev, status.st_ino) == file


def _executable(process: str) -> str:
    try:
        return os.readlink(f"{PROC}/{process}/exe")
    except OSError:
        return ""
