"""What a runtime's call imports: C modules, __future__ and our own, as the figures demand.

tests/netns/test_hot_path.py sees the files that the shipped executable opens; this one sees the
modules that are built into the interpreter, too.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
ROOTS = [str(PROJECT), str(PROJECT / "ipam"), str(PROJECT / "selectors")]
OWN = ("multinic_cni", "multinic_ipam", "multinic_selectors")
# Each costs less than a millisecond; `os` and what it needs are there when the interpreter starts.
ALLOWED = {
    "__future__",
    "_ctypes",
    "_json",
    "_signal",
    "_socket",
    "_struct",
    "errno",
    "fcntl",
    "itertools",
    "select",
    "time",
}
PROGRAM = """
import sys, os
before = set(sys.modules)
sys.path[:0] = {roots!r}
import multinic_cni.edge, {module}
import _json
print(_json.encode_basestring_ascii(" ".join(sorted(set(sys.modules) - before))))
"""


def imported_by(module: str) -> set[str]:
    program = PROGRAM.format(roots=ROOTS, module=module)
    done = subprocess.run(
        ["/usr/bin/python3", "-I", "-S", "-E", "-c", program],
        check=True,
        capture_output=True,
        text=True,
    )
    return {name for name in json.loads(done.stdout).split() if name.split(".")[0] not in OWN}


@pytest.mark.process
@pytest.mark.parametrize("verb", ["add", "check", "delete", "gc", "status", "version"])
def test_verb_imports_what_is_allowed(verb: str) -> None:
    assert imported_by(f"multinic_cni.verbs.{verb}") <= ALLOWED


@pytest.mark.process
def test_way_of_looking_sees_what_is_not_allowed() -> None:
    assert {"json", "re"} <= imported_by("json")
