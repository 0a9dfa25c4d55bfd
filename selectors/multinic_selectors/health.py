"""What probers say of NICs, in files that anyone who is trusted may write.

    <folder>/<NIC>.json     {"healthy": false, "reason": "BER too high", "expires": 1796126400}

`expires` is a moment of RFC 3339 ("2026-12-01T12:00:00Z"), or seconds since 1970. A file that has
expired, or says no end, says nothing: the word of a prober that has died must not last. Nor does
one that is damaged, too large, or anything but a plain file.
"""

from __future__ import annotations

import os
import time

from multinic_selectors.foreign_files import read_foreign
from multinic_selectors.moments import seconds_since_1970

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 64 << 10
LONGEST_REASON = 200


class Health:
    """The folder of such files. `decode` reads a JSON document; None where it is none."""

    def __init__(
        self,
        folder: str,
        decode: Callable[[bytes], object],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._decode = decode
        self._now = now

    def word_on(self, nic: str) -> str | None:
        """Return why a NIC is sick, "" if it is well whatever the kernel says, None if unsaid."""
        path = f"{self._folder}/{nic}.json"
        content = b"" if "/" in nic else _content(path)  # no NIC has such a name
        match self._decode(content):
            case {"healthy": bool(healthy), "expires": expires, **others}:
                reason = others.get("reason", "")
                if not isinstance(reason, str) or not self._lasts(expires):
                    return None
                return "" if healthy else f"{_plain(reason) or 'it is unhealthy'} (says {path})"
            case _:
                return None

    def _lasts(self, expires: object) -> bool:
        if isinstance(expires, str):
            expires = seconds_since_1970(expires)
        return type(expires) in (int, float) and self._now() < expires  # type: ignore[operator]


def _content(path: str) -> bytes:
    """Return a plain file's content; empty for anything else, and for what is too large."""
    try:
        return read_foreign(path, LARGEST, os.O_NOFOLLOW) or b""
    except (OSError, ValueError):
        return b""


def _plain(reason: str) -> str:
    """Return a reason that does no harm to a log or a terminal: one short line of characters."""
    text = "".join(each if each.isprintable() else " " for each in reason)
    return " ".join(text.split())[:LONGEST_REASON]
