"""Partitions of AMD's GPUs: only the compute driver's topology leads to the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_selectors.gpus import GpuFiles

if TYPE_CHECKING:
    from pathlib import Path

GPU, OTHER = "0000:0c:00.0", "0001:15:00.0"


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """Two GPUs, of which the first has a partition beside itself."""
    for address in (GPU, OTHER):
        folder = tmp_path / f"devices/pci{address[:7]}/{address}"
        folder.mkdir(parents=True)
        link(tmp_path / f"bus/pci/devices/{address}", folder)
    partition = tmp_path / "devices/platform/amdgpu_xcp_1/drm"
    for file in ("card2", "renderD130"):
        (partition / file).mkdir(parents=True)
        link(tmp_path / f"class/drm/{file}", partition / file)
        link(partition / file / "device", partition.parent)
    node(tmp_path, 0, "cpu_cores_count 96", "drm_render_minor 0")
    # location_id: bus 0x0c, device 0, function 0
    node(tmp_path, 1, "location_id 3072", "domain 0", "drm_render_minor 128")
    return tmp_path


def link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def node(sysfs: Path, number: int, *properties: str) -> None:
    folder = sysfs / f"class/kfd/kfd/topology/nodes/{number}"
    folder.mkdir(parents=True)
    (folder / "properties").write_text("".join(f"{each}\n" for each in properties))


@pytest.mark.parametrize(
    ("location", "function"),
    [
        (0x0C00, GPU),
        (0x1000_0C00, GPU),  # the partition's number above the 16 bits
        (0x0C01, GPU),  # or instead of the function's, in some releases
    ],
)
def test_partition(sysfs: Path, location: int, function: str) -> None:
    node(sysfs, 2, f"location_id {location}", "domain 0", "drm_render_minor 130")
    assert function == GpuFiles(str(sysfs)).function_of("amdgpu_xcp_1")
    assert function == GpuFiles(str(sysfs)).function_of("renderD130")


def test_partition_in_another_domain(sysfs: Path) -> None:
    node(sysfs, 2, f"location_id {0x1500}", "domain 1", "drm_render_minor 130")
    assert OTHER == GpuFiles(str(sysfs)).function_of("amdgpu_xcp_1")


@pytest.mark.parametrize(
    "properties",
    [
        (),
        ("drm_render_minor 130",),
        ("drm_render_minor 130", "location_id x", "domain 0"),
        ("drm_render_minor 130", "location_id 3072", "domain -1"),
        ("drm_render_minor 130", f"location_id {0xFE00}", "domain 0"),
        ("drm_render_minor 130", "location_id 3072", "domain 99999999999"),
    ],
)
def test_partition_of_nobody_knows_what(sysfs: Path, properties: tuple[str, ...]) -> None:
    node(sysfs, 2, *properties)
    assert "" == GpuFiles(str(sysfs)).function_of("amdgpu_xcp_1")


@pytest.mark.parametrize(
    "name", ["amdgpu_xcp_", "amdgpu_xcp_2", "card2", "renderD", "x/renderD130"]
)
def test_names_without_a_function(sysfs: Path, name: str) -> None:
    assert "" == GpuFiles(str(sysfs)).function_of(name)


def test_no_compute_driver(tmp_path: Path) -> None:
    assert "" == GpuFiles(str(tmp_path)).function_of("renderD128")
