"""Make one system call of the product fail, as a full disk or a missing right would."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

# What the product changes files with.
CALLS = ("open", "write", "link", "rename", "unlink", "mkdir", "rmdir")


class Fault:
    """Lets the nth of these calls fail; `met` says whether it came so far."""

    def __init__(self, calls: tuple[str, ...], nth: int, number: int) -> None:
        self._calls = calls
        self._left = nth
        self._number = number
        self.met = ""

    def during(self, work: Callable[[], object]) -> OSError | None:
        """Do the work with the fault in it; return the error that came out of it."""
        with pytest.MonkeyPatch.context() as patch:
            for name in self._calls:
                patch.setattr(os, name, self._failing(name, getattr(os, name)))
            try:
                work()
            except OSError as error:
                return error
        return None

    def _failing(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def fail_once(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - any system call
            self._left -= 1
            if self._left == 0:
                self.met = f"{name}{arguments[:1]}"
                raise OSError(self._number, os.strerror(self._number))
            return call(*arguments, **options)

        return fail_once
