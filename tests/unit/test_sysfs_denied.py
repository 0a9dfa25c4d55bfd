"""Files of sysfs that the kernel refuses to open or to read say nothing, as missing ones do."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from multinic_selectors.sysfs import Sysfs
from tests.unit.test_sysfs_faults import FACTS, whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize("call", ["open", "read"])
@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_file_that_cannot_be_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fact: tuple[str, Callable[[Sysfs], object], object],
    call: str,
    number: int,
) -> None:
    path, read, expected = fact
    whole(tmp_path)
    file = os.path.realpath(tmp_path / "sys" / path)
    really_open, really_read = os.open, os.read
    opened: dict[int, str] = {}
    met: list[str] = []

    def failing_open(name: str, flags: int) -> int:
        if call == "open" and os.path.realpath(name) == file:
            met.append(name)
            raise OSError(number, os.strerror(number), name)
        descriptor = really_open(name, flags)
        opened[descriptor] = os.path.realpath(name)
        return descriptor

    def failing_read(descriptor: int, most: int) -> bytes:
        if call == "read" and opened.get(descriptor) == file:
            met.append(file)
            raise OSError(number, os.strerror(number))
        return really_read(descriptor, most)

    monkeypatch.setattr(os, "open", failing_open)
    monkeypatch.setattr(os, "read", failing_read)
    assert expected == read(Sysfs(str(tmp_path / "sys")))
    assert met
