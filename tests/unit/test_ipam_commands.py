"""What all commands on the store have in common: one clear line for an error, help, no colours."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from multinic_cni.admin import stock
from multinic_cni.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = {
    "list": ["ipam", "list"],
    "show": ["ipam", "show", "10.1.0.1"],
    "release": ["ipam", "release", "10.1.0.1"],
    "check": ["ipam", "check"],
    "repair": ["ipam", "check", "--repair"],
    "gc": ["gc"],
    "gc --dry-run": ["gc", "--dry-run"],
}
IMPORT = ["ipam", "import", "/nonexistent", "--subnet", "10.1.0.0/24"]


def failure(*words: str) -> str:
    """Execute a command that must fail; return its one line on stderr."""
    ended = CliRunner().invoke(app, list(words))
    assert isinstance(ended.exception, SystemExit), ended.exception
    assert (1, "") == (ended.exit_code, ended.stdout)
    (line,) = ended.stderr.splitlines()
    return line


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("as_json", [False, True])
def test_no_data_directory(tmp_path: Path, words: list[str], as_json: bool) -> None:
    folder = tmp_path / "none"
    line = failure(*words, *(["--json"] if as_json else []), "--data-dir", str(folder))
    assert line.startswith(f"multinic-cni: no data directory {folder}")
    assert not folder.exists()


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_not_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    def refuse(*_words: object) -> None:
        raise PermissionError(13, os.strerror(13), str(tmp_path))

    monkeypatch.setattr(stock, "take_stock", refuse)
    line = failure(*words, "--data-dir", str(tmp_path))
    expected = f"multinic-cni: cannot use the address store: Permission denied {tmp_path}"
    assert f"{expected}; are you root?" == line


def test_import_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    line = failure(*IMPORT, "--data-dir", str(tmp_path / "none"))
    assert line == "multinic-cni: cannot import the folder: No such file or directory /nonexistent"
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("words", [*COMMANDS.values(), IMPORT])
def test_help_has_an_example(words: list[str]) -> None:
    ended = CliRunner().invoke(app, [*words, "--help"])
    assert ended.exit_code == 0
    name = " ".join(word for word in words if word.isalpha())
    assert f"Example: multinic-cni {name}" in ended.output
    assert "/var/lib/cni/multinic" in ended.output


@pytest.mark.parametrize(
    "words",
    [
        ["ipam", "release"],
        ["ipam", "release", "10.1.0.0/24"],
        ["ipam", "import", "/tmp"],  # noqa: S108 - no file is made
        ["ipam", "import", "/tmp", "--subnet", "10.1.0.1/24"],  # noqa: S108
        ["ipam", "nonsense"],
        ["gc", "now"],
    ],
    ids=" ".join,
)
def test_usage_mistakes_are_status_2(words: list[str]) -> None:
    assert 2 == CliRunner().invoke(app, words).exit_code
