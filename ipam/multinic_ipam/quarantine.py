"""Addresses that are given to nobody for a while, since somebody on the network has them."""

from __future__ import annotations

import time

from multinic_ipam.notes import Notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_ipam.folders import Folder


LONGEST_TIME = 12  # digits


class Quarantine:
    """A note for each address: until when (seconds since 1970), and why."""

    def __init__(self, root: Folder) -> None:
        self._notes = Notes(root, "quarantine")
        self.close = self._notes.close

    def put(self, address: str, seconds: int, why: str) -> None:
        self._notes.write(address, f"{int(time.time()) + seconds} {why}")

    def why(self, address: str) -> str:
        """Return why an address is in quarantine; empty if it is not, or no longer."""
        try:
            note = self._notes.read(address)
            until, why = _read(note or "")
            if until > time.time():
                return why
            if note is not None:
                self._notes.remove(address)
        except OSError:
            return ""  # what cannot be read forbids nothing
        return ""

    def end(self, address: str) -> None:
        self._notes.remove(address)

    def notes(self) -> Iterator[tuple[str, int, str]]:
        """Walk all notes that can be read, those that have expired too: address, until, why."""
        for address in self._notes.addresses():
            try:
                note = self._notes.read(address)
            except OSError:
                continue
            if note is not None:
                yield (address, *_read(note))

    def all(self) -> Iterator[tuple[str, str]]:
        """Walk the addresses in quarantine, each with the reason."""
        now = time.time()
        return ((address, why) for address, until, why in self.notes() if until > now)


def _read(note: str) -> tuple[int, str]:
    """Return until when, and why; a damaged note has expired."""
    until, _, why = note.partition(" ")
    is_time = until.isascii() and until.isdecimal() and len(until) <= LONGEST_TIME
    return int(until) if is_time else 0, why or "unknown"
