"""Attachments whose addresses are free again but whose delegates have had no DEL yet.

    <dataDir>/backlog       a line each: <network>/<containerID>:<ifname>

After a boot there may be hundreds: each ADD does two of them, so that none pays for all.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from multinic_ipam.folders import Folder

BACKLOG = "backlog"
LONGEST_LINE = 1024  # network, containerID and ifname are file names


def is_empty(data_dir: str) -> bool:
    """Tell, without a lock, whether there is nothing to do."""
    try:
        os.stat(f"{data_dir}/{BACKLOG}")
    except OSError:
        return True
    return False


def append(root: Folder, attachments: Iterable[tuple[str, str]]) -> None:
    """Add (network, key) each; the store's lock is held."""
    lines = "".join(f"{network}/{key}\n" for network, key in attachments)
    if not lines:
        return
    descriptor = root.data_file(BACKLOG, create=True)
    try:
        os.pwrite(descriptor, lines.encode(), os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def take(root: Folder, count: int) -> list[tuple[str, str]]:
    """Take some from the end, (network, key) each; the store's lock is held.

    Whoever is killed with them in hand leaves their records: a sweep or `gc` finds those.
    """
    try:
        descriptor = root.data_file(BACKLOG, create=False)
    except FileNotFoundError:
        return []
    try:
        size = os.fstat(descriptor).st_size
        begin = max(0, size - count * LONGEST_LINE)
        tail = os.pread(descriptor, size - begin, begin)
        lines = tail.split(b"\n")[:-1][-count:]
        left = size - sum(len(line) + 1 for line in lines)
        if left and lines:
            os.truncate(descriptor, left)
        else:
            root.remove(BACKLOG)
    finally:
        os.close(descriptor)
    pairs = (line.decode("utf-8", "replace").partition("/") for line in lines)
    return [(network, key) for network, _, key in pairs if network and key]
