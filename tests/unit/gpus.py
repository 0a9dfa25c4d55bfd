"""GPUs of a pretended machine, and the folders of its other files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multinic_cni.host import Host


def uuid(gpu: str, host: Host) -> str:
    """Return a GPU's UUID as the driver's file has it."""
    lines = Path(f"{host.paths.nvidia}/{gpu}/information").read_text("ascii").splitlines()
    (line,) = (line for line in lines if line.startswith("GPU UUID"))
    return line.split()[-1]


def path_of(path: str) -> Path:
    """Return a path whose folder is there."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file
