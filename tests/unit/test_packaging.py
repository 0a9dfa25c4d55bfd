"""The distribution holds what the repository holds, and pins what it is built with."""

from __future__ import annotations

import configparser
import email
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from multinic_cni import __version__

PROJECT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = {
    "multinic_cni": PROJECT,
    "multinic_ipam": PROJECT / "ipam",
    "multinic_selectors": PROJECT / "selectors",
}
METADATA = f"multinic_cni-{__version__}.dist-info"
PINNED = re.compile(r"[a-z0-9-]+==[a-z0-9.]+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?| *#.*|")


def tracked(*folders: Path | str) -> list[Path]:
    """Name what git tracks there; before the first commit, what it would take."""
    listing: list[str] = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    for options in ((), ("--others", "--exclude-standard")):
        command = [*listing, *options, "--", *map(str, folders)]
        names = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True)
        if names.stdout:
            return [Path(name) for name in names.stdout.rstrip("\0").split("\0")]
    pytest.fail(f"git knows no file in {folders}")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the sdist from the tracked files alone, and the wheel from that sdist."""
    checkout = tmp_path_factory.mktemp("checkout")
    for path in tracked("."):
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / path, checkout / path)
    command = [sys.executable, "-m", "build", "--no-isolation", str(checkout)]
    built = subprocess.run(command, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "Deprecat" not in built.stdout + built.stderr
    (path,) = checkout.glob("dist/*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.process
def test_wheel_holds_what_git_tracks(wheel: zipfile.ZipFile) -> None:
    expected = {
        (PROJECT / path).relative_to(root).as_posix()
        for package, root in SOURCE_ROOTS.items()
        for path in tracked(root / package)
    }
    packed = {name for name in wheel.namelist() if not name.startswith(METADATA)}
    assert expected == packed


@pytest.mark.process
def test_wheel_metadata(wheel: zipfile.ZipFile) -> None:
    metadata = email.message_from_bytes(wheel.read(f"{METADATA}/METADATA"))
    assert ("multinic-cni", __version__) == (metadata["Name"], metadata["Version"])
    assert (PROJECT / "LICENSE").read_bytes() == wheel.read(f"{METADATA}/licenses/LICENSE")
    assert (
        "[console_scripts]\nmultinic-cni = multinic_cni.edge:main\n"
        == wheel.read(f"{METADATA}/entry_points.txt").decode()
    )


def test_every_package_is_listed() -> None:
    setup = configparser.ConfigParser()
    setup.read(PROJECT / "setup.cfg")
    expected = {
        ".".join(path.parent.relative_to(root).parts)
        for package, root in SOURCE_ROOTS.items()
        for path in (root / package).rglob("*.py")
    }
    assert expected == set(setup["options"]["packages"].split())


@pytest.mark.parametrize("root", ["ipam", "selectors"])
def test_source_roots_are_no_packages(root: str) -> None:
    # A package called `selectors` would stand before the standard library's.
    assert not list((PROJECT / root).glob("*.py"))


def test_metadata_stand_in_setup_cfg_alone() -> None:
    assert {"build-system", "tool"} == set(tomllib.loads((PROJECT / "pyproject.toml").read_text()))


@pytest.mark.parametrize("name", ["build.txt", "test.txt"])
def test_requirements_are_pinned_and_name_no_place(name: str) -> None:
    lines = (PROJECT / "requirements" / name).read_text().splitlines()
    assert [] == [line for line in lines if not PINNED.fullmatch(line)]
    assert [] == [line for line in lines if "/" in line.replace("requirements/", "")]
