"""The examples of docs/seeing.md: what the commands print on the machines of tests/machines."""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from multinic_cni.cli.app import app
from tests.unit.machines import machine

if TYPE_CHECKING:
    import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/seeing.md"
MARGIN = "    "


def examples(command: str) -> list[str]:
    """Return the texts that are set apart below a command's heading."""
    section = DOCUMENT.read_text().split(f"\n## `multinic-cni {command}`\n")[1].split("\n## ")[0]
    groups = groupby(section.splitlines(), key=lambda line: line.startswith(MARGIN))
    return [
        "".join(f"{line.removeprefix(MARGIN)}\n" for line in lines)
        for is_example, lines in groups
        if is_example
    ]


def run(*words: str) -> str:
    ended = CliRunner().invoke(app, list(words))
    assert 0 == ended.exit_code, ended.output
    return ended.stdout


def test_nics(tmp_path: Path) -> None:
    machine("bond-vlans", tmp_path)
    (example,) = examples("nics")
    assert example == run("nics", "--sysroot", str(tmp_path / "bond-vlans"))


def test_topology(tmp_path: Path) -> None:
    machine("dgx-a100", tmp_path)
    (example,) = examples("topology")
    beginning, end = example.split("…\n")
    assert "" == end
    assert len(beginning.splitlines()) > 10
    assert run("topology", "--sysroot", str(tmp_path / "dgx-a100")).startswith(beginning)


def test_explain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine("dgx-a100", tmp_path)
    conf, command, output = examples("explain")
    program, *words = shlex.split(command)
    assert "multinic-cni" == program
    monkeypatch.chdir(tmp_path)
    Path("near.conf").write_text(conf)
    assert output == run(*words, "--sysroot", "dgx-a100")
    (again,) = (
        line.strip()
        for line in DOCUMENT.read_text().splitlines()
        if "explain --devices 0000" in line
    )
    assert output == run(*shlex.split(again)[1:], "--sysroot", "dgx-a100")
