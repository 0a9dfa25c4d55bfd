"""Make system calls of the product fail, as a full disk or a missing right would, or kill it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.descriptors import OPEN, open_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What the product changes files with.
CALLS = (
    "open",
    "write",
    "pwrite",
    "truncate",
    "link",
    "rename",
    "unlink",
    "mkdir",
    "rmdir",
)


class KilledError(BaseException):
    """Stands for the end of the process; no handler of the product takes it for an error."""


class Fault:
    """Lets the nth of these calls fail; `met` says which one it was, empty if it never came."""

    def __init__(self, calls: tuple[str, ...], nth: int, number: int) -> None:
        self._calls = calls
        self._left = nth
        self._number = number
        self.met = ""

    def during(self, work: Callable[[], object]) -> OSError | None:
        """Do the work with the fault in it; return the error that came out of it."""
        with self:
            try:
                work()
            except OSError as error:
                return error
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self._left} calls, met: {self.met}>"

    @property
    def met_a_hint(self) -> bool:
        """Whether it struck what may be lost at any time: whose turn it is."""
        return "/turns" in self.met

    def __enter__(self) -> None:
        self._patch = pytest.MonkeyPatch()
        for name in self._calls:
            self._patch.setattr(os, name, self._failing(name, getattr(os, name)))

    def __exit__(self, *_error: object) -> None:
        self._patch.undo()

    def _failing(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def fail_at_its_time(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - any call
            self._left -= 1
            if self._left == 0:
                self.met = f"{name} {_path(arguments, options)}"
            if self.strikes:
                raise self.error
            return call(*arguments, **options)

        return fail_at_its_time

    @property
    def strikes(self) -> bool:
        return self._left == 0

    @property
    def error(self) -> BaseException:
        return OSError(self._number, os.strerror(self._number))


class Kill(Fault):
    """Ends the process just before the nth changing call: no cleaning up changes anything."""

    def __init__(self, nth: int) -> None:
        super().__init__(CALLS, nth, 0)

    @property
    def strikes(self) -> bool:
        return self._left <= 0

    @property
    def error(self) -> BaseException:
        return KilledError(self.met)


@contextmanager
def process_that_may_be_killed() -> Iterator[None]:
    """Close what a killed process had open, its locks among it, and go on behind the block."""
    before = open_descriptors()
    try:
        yield
    except KilledError:
        for descriptor in open_descriptors() - before:
            os.close(int(descriptor))


def _path(arguments: tuple[Any, ...], options: dict[str, Any]) -> str:
    """Return the path of a call's first argument: a descriptor, or a name in a folder."""
    first = arguments[0]
    if isinstance(first, int):
        return str((OPEN / str(first)).readlink())
    folder = options.get("dir_fd") or options.get("src_dir_fd")
    return str(first if folder is None else (OPEN / str(folder)).readlink() / first)
