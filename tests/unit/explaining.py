"""`multinic-cni explain` on a DGX A100 of tests/machines, whose pods are recorded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from multinic_cni.cli.app import app
from tests.unit.machines import machine
from tests.unit.records import BOOT, attach, say_boot

if TYPE_CHECKING:
    from pathlib import Path

RAILS = ["rail*"]
NEAR_DEVICES: dict[str, Any] = {
    "masterNets": None,
    "masters": RAILS,
    "attachPolicy": {"strategy": "topology", "nics": 2},
}
DATA = "var/lib/cni/multinic"


def dgx_in(tmp_path: Path) -> Path:
    """Return the folder of a DGX A100, whose GPU 0000:87:00.0 has the UUID GPU-of-the-fifth."""
    machine("dgx-a100", tmp_path)
    folder = tmp_path / "dgx-a100"
    information = folder / "proc/driver/nvidia/gpus/0000:87:00.0/information"
    lines = [line for line in information.read_text().splitlines() if "UUID" not in line]
    information.write_text("\n".join([*lines, "GPU UUID: \t GPU-of-the-fifth", ""]))
    say_boot(folder)
    return folder


def run(folder: Path, conf: object, *options: str) -> tuple[int, dict[str, Any]]:
    file = folder.parent / "20-rails.conf"
    file.write_text(json.dumps(conf))
    words = ["explain", "--json", "--sysroot", str(folder), *options, str(file)]
    ended = CliRunner().invoke(app, words)
    (found,) = json.loads(ended.stdout)
    return ended.exit_code, found


def printed(folder: Path, conf: object, *options: str) -> list[str]:
    """Return the lines that are for people."""
    file = folder.parent / "20-rails.conf"
    file.write_text(json.dumps(conf))
    words = ["explain", "--sysroot", str(folder), *options, str(file)]
    return CliRunner().invoke(app, words).stdout.splitlines()


def names(found: dict[str, Any]) -> list[str]:
    return [each["nic"] for each in found["nics"]]


def attach_pods(
    folder: Path, nic: str, count: int = 1, megabits: int = 0, boot_id: str = BOOT
) -> None:
    """Record attachments of that many pods on one NIC of the node."""
    for number in range(count):
        attach(folder / DATA, f"{nic}-{number}", nic, megabits, boot_id)
