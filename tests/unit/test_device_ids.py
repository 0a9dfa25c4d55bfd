"""Ids of device plugins, and the PCI functions that they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.pod_devices.functions import Functions
from tests.unit.gpus import path_of, uuid
from tests.unit.machines import described, machine

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.host import Host

# Bus numbers of a DGX A100's GPUs and of one of its NICs.
GPUS = ["0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0"]
NIC = "0000:0c:00.0"


def devices_called(names: list[str], host: Host) -> list[str]:
    return sorted(Functions(host).all_of(("", name) for name in names))


@pytest.fixture
def dgx(tmp_path: Path) -> Host:
    return machine("dgx-a100", tmp_path)


def test_ids_of_nvidia(dgx: Host, capfd: pytest.CaptureFixture[str]) -> None:
    gpu = uuid(GPUS[0], dgx)
    for name in (gpu, gpu.upper(), f"{gpu}::3", f"MIG-{gpu}/7/0"):
        assert [GPUS[0]] == devices_called([name], dgx)
    assert "" == capfd.readouterr().err
    assert [] == devices_called(["MIG-5b9d0a3b-9e6f-5d6c-8a3f-6f1c8e9a2b11"], dgx)
    assert "only NVIDIA's library knows" in capfd.readouterr().err
    assert [] == devices_called(["GPU-5b9d0a3b-9e6f-5d6c-8a3f-6f1c8e9a2b11"], dgx)
    assert "no PCI function of this node goes by: is its driver loaded?" in capfd.readouterr().err


def test_pci_addresses_in_every_form(dgx: Host) -> None:
    names = [NIC, "00000000:0F:00.0", "47:00.0", "0000:4e:00.0-slice-2"]
    assert sorted([NIC, *GPUS[1:]]) == devices_called(names, dgx)


def test_domain_with_eight_digits_in_nvidias_file(tmp_path: Path) -> None:
    host = described("node n\nroot 0000:00\n  gpu 00:05.0 id=10de:20b0\n", tmp_path / "n")
    file = path_of(f"{host.paths.nvidia}/0000:00:05.0/information")
    file.write_text("Model: \t\t NVIDIA\nGPU UUID: \t GPU-1F\nBus Location: \t 00000000:00:05.0\n")
    assert ["0000:00:05.0"] == devices_called(["GPU-1f"], host)


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"GPU UUID:\n::::\n", b"x" * (1 << 17)])
def test_broken_file_of_nvidia(dgx: Host, content: bytes) -> None:
    """One GPU is lost, the others are found."""
    ids = [uuid(gpu, dgx) for gpu in GPUS[:2]]
    path_of(f"{dgx.paths.nvidia}/{GPUS[0]}/information").write_bytes(content)
    assert [GPUS[1]] == devices_called(ids, dgx)


AMD = """\
node amd
root 0000:00
  gpu 00:03.0 id=1002:740c class=038000 driver=amdgpu
  gpu 00:04.0 id=8086:56c0 class=038000 driver=i915
"""


def drm_files(machine: Path) -> dict[str, list[str]]:
    """Return the device files of each function."""
    functions = (machine / "sys/bus/pci/devices").iterdir()
    return {each.name: sorted(file.name for file in each.glob("drm/*")) for each in functions}


def test_ids_of_amd_and_intel(tmp_path: Path) -> None:
    host = described(AMD, tmp_path / "amd")
    for function, files in drm_files(tmp_path / "amd").items():
        card, render = files
        for name in (card, render, f"{card}-0", f"{card}-12"):
            assert [function] == devices_called([name], host)


@pytest.mark.parametrize(
    "name", ["card", "card9", "card0x", "card../../x-0", "renderD", "accel7", "cards-1", "-", ""]
)
def test_names_that_are_no_device_files(tmp_path: Path, name: str) -> None:
    assert [] == devices_called([name], described(AMD, tmp_path / "amd"))
