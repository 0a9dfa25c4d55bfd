"""The linters are tests, so that nobody has to remember them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.process
@pytest.mark.parametrize(
    "linter", [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]], ids=" ".join
)
def test_linter_finds_nothing(linter: list[str]) -> None:
    command = [sys.executable, "-m", *linter]
    found = subprocess.run(command, cwd=PROJECT, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
