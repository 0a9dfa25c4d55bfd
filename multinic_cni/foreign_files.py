"""Files of other programs, which the plugin only reads: of bounded size, and never waited for."""

from __future__ import annotations

import os
from errno import EFBIG, EINVAL
from stat import S_ISREG

CHUNK = 1 << 16


def read_foreign(path: str, most: int) -> bytes | None:
    """Return a file's content; None if there is none.

    Raises OSError, also for what is no regular file and for one with more than `most` bytes.
    """
    try:
        # O_NONBLOCK: a FIFO in its place must not hold the call.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(EINVAL, "it is no regular file", path)
        content = b""
        while chunk := os.read(descriptor, CHUNK):
            content += chunk
            if len(content) > most:
                raise OSError(EFBIG, f"it has more than {most} bytes", path)
        return content
    finally:
        os.close(descriptor)
