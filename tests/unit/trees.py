"""A folder at one moment, for comparing before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def tree_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return mode, time of change and content of everything below a folder, and of itself."""
    paths = [folder, *folder.rglob("*")]
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in paths
    }
