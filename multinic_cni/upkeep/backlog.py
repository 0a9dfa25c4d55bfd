"""Attachments whose addresses are free again but whose delegates have had no DEL yet.

    <dataDir>/backlog       a line each: <network>/<containerID>:<ifname>

After a boot there may be hundreds: each ADD does two of them, so that none pays for all.
"""

from __future__ import annotations

import os

from multinic_ipam.folders import plain

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
    lines = _lines(attachments)
    if not lines:
        return
    descriptor = root.data_file(BACKLOG, create=True)
    try:
        size = os.fstat(descriptor).st_size
        torn = size and os.pread(descriptor, 1, size - 1) != b"\n"  # a full disk
        os.pwrite(descriptor, b"\n" + lines if torn else lines, size)
    finally:
        os.close(descriptor)


def take(root: Folder, count: int) -> list[tuple[str, str]]:
    """Take some from the end, (network, key) each; the store's lock is held.

    Whoever is killed with them in hand leaves their records: `gc` finds those. A line that is none
    of ours is dropped.
    """
    try:
        descriptor = root.data_file(BACKLOG, create=False)
    except FileNotFoundError:
        return []
    try:
        size = os.fstat(descriptor).st_size
        begin = max(0, size - count * LONGEST_LINE)
        tail = os.pread(descriptor, size - begin, begin)
        lines = tail.splitlines(keepends=True)[-count:]
        left = size - sum(map(len, lines))
        if left and lines:
            os.truncate(descriptor, left)
        else:
            root.remove(BACKLOG)
    finally:
        os.close(descriptor)
    pairs = (line.decode("utf-8", "replace").strip().partition("/") for line in lines)
    return [(network, key) for network, _, key in pairs if _is_name(network) and _is_name(key)]


def put_back(root: Folder, attachments: Iterable[tuple[str, str]]) -> None:
    """Put some where they are taken last, so that others have their turn; the lock is held."""
    try:
        others = root.read(BACKLOG)
    except FileNotFoundError:
        others = b""
    root.write(BACKLOG, _lines(attachments) + others)


def _lines(attachments: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{network}/{key}\n" for network, key in attachments).encode()


def _is_name(text: str) -> bool:
    try:
        return bool(plain(text))
    except ValueError:
        return False
