"""Who may know whom: the contracts stand in pyproject.toml."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.process
def test_contracts_are_kept() -> None:
    roots = os.pathsep.join(str(PROJECT / root) for root in ("", "ipam", "selectors"))
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    checked = subprocess.run(
        command,
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": roots},
        check=False,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
