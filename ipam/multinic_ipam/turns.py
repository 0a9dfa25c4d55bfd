"""Whose turn is next: addresses never given before, then those freed longest ago.

    <dataDir>/turns/<first address of a page>    eight bytes for each of its 65,536 addresses

A word says when its address was freed (microseconds since 1970): 0 if it was never given, all ones
while it is reserved. The words are hints, so that a crowded pool needs no look at each address; the
files of the addresses are the truth. So words may be lost, stale or damaged: whoever takes an
address looks for its file, and `learn` corrects the words before a pool is called exhausted.
"""

from __future__ import annotations

import os
import time
from _struct import Struct

from multinic_ipam.networks import format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from multinic_ipam.folders import Folder
    from multinic_ipam.pools import Pool, Run

TURNS = "turns"
PAGE_BITS = 16
PAGE = 1 << PAGE_BITS
U64 = Struct("=Q")
WORD = U64.size
SECOND = 1_000_000
FREED_LONG_AGO = 1
RESERVED = (1 << 8 * WORD) - 1


def now() -> int:
    """Return the word of this moment. By the second, some pods' addresses would rest equally."""
    return time.time_ns() // 1000


class Window:
    """At most a page's length of a pool's words; what is struck out is not offered any more."""

    def __init__(self, first: int, words: bytearray) -> None:
        self.first = first
        self.words = words

    @property
    def last(self) -> int:
        return self.first + len(self.words) // WORD - 1

    def strike_out(self, first: int, last: int) -> None:
        """Take a run of addresses out, as far as it lies in the window."""
        low, high = max(first, self.first), min(last, self.last)
        if low <= high:
            at = (low - self.first) * WORD
            self.words[at : at + (high - low + 1) * WORD] = b"\xff" * ((high - low + 1) * WORD)

    def strike_out_all(self, runs: Iterable[Run]) -> None:
        for first, last in runs:
            self.strike_out(first, last)

    def next_never_given(self, number: int) -> int | None:
        """Return the first never given address from `number` on, then from the window's start."""
        middle = max(0, min(number - self.first, len(self.words) // WORD)) * WORD
        at = self._find_zero(middle, len(self.words))
        if at is None:
            at = self._find_zero(0, middle)
        return None if at is None else self.first + at // WORD

    def longest_rested(self) -> tuple[int, int] | None:
        """Return the address that was freed first, and when; None if all are reserved."""
        words = memoryview(self.words).cast("Q")
        freed = min(words, default=RESERVED)
        if freed == RESERVED:
            return None
        at = self._find(U64.pack(freed), 0, len(self.words))
        return None if at is None else (self.first + at // WORD, freed)

    def count_freed_after(self, moment: int) -> int:
        words = memoryview(self.words).cast("Q")
        return sum(1 for word in words if moment < word < RESERVED)

    def learn(self, reserved: Collection[int]) -> None:
        """Correct the words by the files: `reserved` are the addresses that have one."""
        words = memoryview(self.words).cast("Q")
        moment = now()
        for index, word in enumerate(words):
            if self.first + index in reserved:
                words[index] = RESERVED
            elif word > moment:
                # Freed by a stranger, or by a call that was killed; or the clock was set back.
                words[index] = FREED_LONG_AGO

    def _find_zero(self, start: int, end: int) -> int | None:
        return self._find(bytes(WORD), start, end)

    def _find(self, word: bytes, start: int, end: int) -> int | None:
        at = self.words.find(word, start, end)
        while at >= 0 and at % WORD:  # across the border of two words
            at = self.words.find(word, at + WORD - at % WORD, end)
        return at if at >= 0 else None


class Turns:
    """The words of all addresses; the store's lock is held."""

    def __init__(self, root: Folder) -> None:
        self._root = root
        self._folder: Folder | None = None
        self._pages: dict[str, int] = {}

    def windows(self, pool: Pool, last: int | None) -> Iterator[Window]:
        """Yield a pool's words, from the window in which the last given address lies on, around."""
        count = -(-pool.size // PAGE)
        begin = 0 if last is None else (last - pool.start) // PAGE
        yield from self._windows_between(pool, begin, count)
        yield from self._windows_between(pool, 0, begin)

    def _windows_between(self, pool: Pool, at: int, until: int) -> Iterator[Window]:
        """Yield windows by their places, less those that an exclusion covers.

        It may cover more of an IPv6 pool than could ever be looked at.
        """
        while at < until:
            first = pool.start + at * PAGE
            last = min(first + PAGE - 1, pool.end)
            covers = [end for start, end in pool.never_given() if start <= first and last <= end]
            if covers:
                at = max(at + 1, (max(covers) + 1 - pool.start) // PAGE)
            else:
                yield self.window(pool.block.version, first, last)
                at += 1

    def window(self, version: int, first: int, last: int) -> Window:
        words = bytearray()
        at = first
        while at <= last:
            until = min(last, at | (PAGE - 1))
            size = (until - at + 1) * WORD
            found = self._read(version, at, size)
            words += found + bytes(size - len(found))
            at = until + 1
        return Window(first, words)

    def store(self, version: int, window: Window) -> None:
        """Write a window's words back."""
        at = window.first
        while at <= window.last:
            until = min(window.last, at | (PAGE - 1))
            here = slice((at - window.first) * WORD, (until + 1 - window.first) * WORD)
            self._write(version, at, bytes(window.words[here]))
            at = until + 1

    def note(self, version: int, number: int, word: int) -> None:
        """Write an address's word. Raises nothing: a lost hint is found out."""
        self._write(version, number, U64.pack(word))

    def close(self) -> None:
        for descriptor in self._pages.values():
            os.close(descriptor)
        self._pages.clear()
        if self._folder is not None:
            self._folder.close()

    def _read(self, version: int, number: int, size: int) -> bytes:
        try:
            page = self._page(version, number, create=False)
            return os.pread(page, size, number % PAGE * WORD)
        except OSError:
            return b""  # mostly there is no page yet

    def _write(self, version: int, number: int, words: bytes) -> None:
        try:
            page = self._page(version, number, create=True)
            os.pwrite(page, words, number % PAGE * WORD)
        except OSError:
            return  # a full disk must keep no address from being freed

    def _page(self, version: int, number: int, *, create: bool) -> int:
        name = format_address(version, number >> PAGE_BITS << PAGE_BITS)
        if name not in self._pages:
            if self._folder is None:
                self._folder = self._root.child(TURNS, create=create)
            self._pages[name] = self._folder.data_file(name, create=create)
        return self._pages[name]
