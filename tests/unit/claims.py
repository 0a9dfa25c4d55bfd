"""Claims on one attachment below a test's folder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from multinic_cni.attachments.claim import Claim, claim, key_of

if TYPE_CHECKING:
    from pathlib import Path

KEY = key_of("c0ffee", "net1")


def soon(seconds: float = 5) -> float:
    return time.monotonic() + seconds


def claimed(data: Path, key: str = KEY, *, seconds: float = 5) -> Claim:
    return claim(str(data), "rails", key, soon(seconds))


def files(data: Path) -> list[str]:
    return sorted(each.name for each in (data / "attachments" / "rails").iterdir())
