"""Files that commands write for people, each whole or not at all."""

from __future__ import annotations

import os
from errno import EINVAL
from pathlib import Path
from stat import S_ISREG

KERNELS_OWN = "/proc/"  # where /dev/stdout leads


def replace_file(path: Path, text: str) -> None:
    """Put a file there in the place of another, or of a link to one; raises OSError.

    It is written beside and renamed: a link that somebody has planted there changes no other file.
    """
    _refuse_what_is_no_file(path)
    beside = path.with_name(f".{os.urandom(8).hex()}.new")
    try:
        # "x" follows no link either.
        with beside.open("x", encoding="utf-8") as file:
            file.write(text)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def _refuse_what_is_no_file(path: Path) -> None:
    """Raise OSError where a rename would take the place of a device, a pipe, or /dev/stdout."""
    try:
        is_file = S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        is_file = True  # a link that leads nowhere can go
    if not is_file or (path.is_symlink() and os.readlink(path).startswith(KERNELS_OWN)):
        raise OSError(EINVAL, "it is no regular file:", str(path))
