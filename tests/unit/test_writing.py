"""Drawings that `topology --svg` writes: each whole or not at all, and over nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from multinic_cni.cli.app import app
from multinic_cni.cli.writing import replace_file
from tests.unit.machines import machine

if TYPE_CHECKING:
    from typer.testing import Result


def drawn(folder: Path, file: Path | str) -> Result:
    machine("laptop", folder)
    words = ["topology", "--sysroot", str(folder / "laptop"), "--svg", str(file)]
    return CliRunner().invoke(app, words)


def test_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "a.svg"
    victim.write_text("precious")
    link.symlink_to(victim)
    assert 0 == drawn(tmp_path, link).exit_code
    assert "precious" == victim.read_text()
    assert not link.is_symlink()
    assert link.read_text().startswith("<?xml")


def test_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("new", "plain", "dangling"):
        replace_file(tmp_path / name, "ä")
        assert "ä".encode() == (tmp_path / name).read_bytes()
        assert (tmp_path / name).stat().st_mode == (tmp_path / "new").stat().st_mode
    assert ["dangling", "new", "plain"] == sorted(each.name for each in tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["fifo", "folder", "link to a device", "stdout"])
def test_what_is_no_file_is_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.svg"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link to a device":
            path.symlink_to(os.devnull)
        case _:
            path.symlink_to("/proc/self/status")  # as /dev/stdout is one to /proc/self/fd/1
    before = path.lstat()
    ended = drawn(tmp_path, path)
    assert 1 == ended.exit_code
    assert (
        f"multinic-cni: cannot write the drawing: it is no regular file: {path}\n" == ended.stderr
    )
    assert (before.st_ino, before.st_mode) == (path.lstat().st_ino, path.lstat().st_mode)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("missing/a.svg", "No such file or directory"),
        ("laptop/ip-addr.json/a.svg", "Not a directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_place_that_takes_no_file(tmp_path: Path, file: str, reason: str) -> None:
    ended = drawn(tmp_path, tmp_path / file)
    assert 1 == ended.exit_code
    expected = f"multinic-cni: cannot write the drawing: {reason} {tmp_path / file}\n"
    assert (expected, "") == (ended.stderr, ended.stdout)


def test_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write everywhere: the kernel's refusal is put in its mouth."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    machine("laptop", tmp_path)
    monkeypatch.setattr(Path, "open", refuse)
    file = tmp_path / "a.svg"
    words = ["topology", "--sysroot", str(tmp_path / "laptop"), "--svg", str(file)]
    ended = CliRunner().invoke(app, words)
    assert 1 == ended.exit_code
    expected = f"multinic-cni: cannot write the drawing: Permission denied {file}; are you root?\n"
    assert expected == ended.stderr


def test_nothing_is_left_where_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.svg").write_text("before")

    def fill(path: Path, target: Path) -> None:
        assert path.parent == target.parent
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "replace", fill)
    with pytest.raises(OSError, match="No space left on device"):
        replace_file(tmp_path / "a.svg", "after")
    assert ["a.svg"] == [each.name for each in tmp_path.iterdir()]
    assert "before" == (tmp_path / "a.svg").read_text()
