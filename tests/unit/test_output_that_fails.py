"""Commands whose output nobody takes: one line and exit status 1, or a quiet end; no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.machines import machine

pytestmark = pytest.mark.process

PROJECT = Path(__file__).resolve().parents[2]
PATHS = ":".join(str(PROJECT / folder) for folder in (".", "ipam", "selectors"))
CONF = str(next((PROJECT / "conf-examples").iterdir()))
COMMANDS = {
    "nics": "nics --sysroot SYSROOT",
    "nics as JSON": "nics --json --sysroot SYSROOT",
    "topology": "topology --sysroot SYSROOT",
    "validate": f"validate {CONF}",
    "explain": f"explain {CONF} --sysroot SYSROOT",
    "schema": "schema",
    "ipam list": "ipam list --data-dir SYSROOT",
    "gc": "gc --dry-run --data-dir SYSROOT",
    "version": "--version",
    "help": "nics --help",
}


def ended(command: str, tmp_path: Path, shell: str) -> tuple[int, str]:
    """Execute a command as the shell's "$@"; return the exit status and what stderr gets."""
    machine("laptop", tmp_path)
    words = command.replace("SYSROOT", str(tmp_path / "laptop")).split()
    done = subprocess.run(
        ["/bin/sh", "-c", shell, "sh", sys.executable, "-m", "multinic_cni", *words],
        check=False,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": PATHS},
        cwd=tmp_path,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_full_disk(command: str, tmp_path: Path) -> None:
    expected = "multinic-cni: cannot print the answer: No space left on device\n"
    assert (1, expected) == ended(command, tmp_path, '"$@" >/dev/full')


@pytest.mark.parametrize("name", ["nics as JSON", "validate", "help"])
def test_closed_pipe(name: str, tmp_path: Path) -> None:
    # A pipe whose only reader has gone before the command begins.
    shell = 'mkfifo fifo; exec 3<>fifo 4>fifo 3<&-; "$@" >&4 4>&-'
    assert (1, "") == ended(COMMANDS[name], tmp_path, shell)


def test_nowhere_to_say_it(tmp_path: Path) -> None:
    assert (1, "") == ended("schema", tmp_path, '"$@" >/dev/full 2>/dev/full')
