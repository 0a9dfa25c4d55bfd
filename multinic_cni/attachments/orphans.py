"""Delegates that have outlived their call and hang: how a DEL that waits for them goes on."""

from __future__ import annotations

import _signal
import os

from multinic_cni.log import log

PROC = "/proc"
OWN_EXECUTABLE = f"{PROC}/self/exe"


def end_orphans(lock_file: str, container_id: str) -> bool:
    """Kill the delegates that have a lock's file open; tell whether that was all who have.

    Nothing is killed unless each of them was executed for this container, as its environment tells,
    and none is a call of the plugin: that one is alive, and ends by its own deadline.
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
    mark = f"CNI_CONTAINERID={container_id}".encode()
    if not holders or not all(_is_delegate(process, mark, own) for process in holders):
        return False
    for process in holders:
        log.warning("killing what a delegate left behind", pid=process)
        try:
            os.kill(int(process), _signal.SIGKILL)
        except ProcessLookupError:
            continue
    return True


def _is_delegate(process: str, mark: bytes, own: str) -> bool:
    try:
        with open(f"{PROC}/{process}/environ", "rb") as file:
            environment = file.read().split(b"\0")
        return mark in environment and os.readlink(f"{PROC}/{process}/exe") != own
    except OSError:
        return True  # it has ended since


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
