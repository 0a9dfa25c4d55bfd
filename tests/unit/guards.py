"""What no unit test may do unasked: execute a program, open netlink, read the node's /sys.

An audit hook sees system calls of C modules too, which patched functions would miss. It cannot be
removed, so it stays for the process and looks at what is forbidden at the moment.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from socket import AF_NETLINK
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROCESS, NETLINK, SYSFS = "execute a process", "open netlink", "read /sys"

EXECUTING = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    }
)
READING = frozenset({"open", "os.chdir", "os.listdir", "os.scandir"})

_forbidden: frozenset[str] = frozenset()


class ForbiddenError(BaseException):
    """A test did what its guards forbid; no `except Exception` of the product can hide it."""


@contextmanager
def forbidding(*deeds: str) -> Iterator[None]:
    """Raise ForbiddenError for these deeds until the block ends."""
    global _forbidden  # noqa: PLW0603 - the hook is the process's, and so is this
    before, _forbidden = _forbidden, frozenset(deeds)
    try:
        yield
    finally:
        _forbidden = before


def is_in_sysfs(path: object) -> bool:
    """Tell whether a path, as given to a system call, leads into /sys."""
    if isinstance(path, int) or not isinstance(path, (str, bytes, os.PathLike)):
        return False  # a descriptor: its opening was looked at
    text = os.path.normpath(os.fsdecode(path))
    return text == "/sys" or text.startswith("/sys/")


def _deed(event: str, arguments: tuple[object, ...]) -> str:
    if event in EXECUTING:
        return PROCESS
    if event == "socket.__new__" and arguments[1] == AF_NETLINK:
        return NETLINK
    if event in READING and is_in_sysfs(arguments[0]):
        return SYSFS
    return ""


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if not _forbidden:
        return
    deed = _deed(event, arguments)
    if deed in _forbidden:
        message = f"a unit test must not {deed} ({event} {arguments[:2]})"
        raise ForbiddenError(message)


sys.addaudithook(_watch)
