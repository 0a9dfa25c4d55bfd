"""The machines of tests/machines, each as a node whose files lie in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from multinic_cni.admin.sysroot import host_of_sysroot
from scripts.sysroot import write_sysroot

if TYPE_CHECKING:
    from multinic_cni.host import Host

FOLDER = Path(__file__).parent.parent / "machines"
NAMES = sorted(file.stem for file in FOLDER.glob("*.machine"))


def machine(name: str, tmp_path: Path) -> Host:
    """Return a machine of tests/machines as a node."""
    return described((FOLDER / f"{name}.machine").read_text(), tmp_path / name)


def described(description: str, folder: Path) -> Host:
    """Return the node of a description, its files below a folder."""
    write_sysroot(description, folder)
    return host_of_sysroot(str(folder))
