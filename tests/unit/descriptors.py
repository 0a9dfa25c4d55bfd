"""What a process has open, as the kernel says it."""

from __future__ import annotations

from pathlib import Path

OPEN = Path("/proc/self/fd")


def open_descriptors() -> set[str]:
    """Return the numbers of this process's descriptors, less the one that reads them."""
    listed = {each.name for each in OPEN.iterdir()}
    return {number for number in listed if (OPEN / number).is_symlink()}
