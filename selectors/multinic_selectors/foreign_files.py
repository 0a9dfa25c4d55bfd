"""Files of other programs, which are only read: of bounded size, and never waited for."""

from __future__ import annotations

import os
from _stat import S_ISREG
from errno import EFBIG, EINVAL

CHUNK = 1 << 16
MOST_DIGITS = 18


class ForeignFileError(OSError):
    """It is no regular file, or a larger one than anybody should have written."""


def read_foreign(path: str, most: int, flags: int = 0) -> bytes | None:
    """Return a file's content; None if there is none. `flags` are more of open's own.

    Raises OSError; ForeignFileError for one with more than `most` bytes, and for what is no file.
    """
    try:
        # O_NONBLOCK: a FIFO in its place must not hold the call.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise ForeignFileError(EINVAL, "it is no regular file", path)
        content = bytearray()
        while chunk := os.read(descriptor, CHUNK):
            content += chunk
            if len(content) > most:
                raise ForeignFileError(EFBIG, f"it has more than {most} bytes", path)
        return bytes(content)
    finally:
        os.close(descriptor)


def small_number(text: str) -> int | None:
    """Read a number that counts things; None for anything else, and for thousands of digits."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(text) if is_number else None
