"""Links of pods in an RDMA device's table of addresses: their names mean nothing to the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.machines import described, machine

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_selectors.sysfs import Sysfs

MACHINE = """\
root 0000:3a
  nic 3b:00.0 driver=mlx5_core name=rail0 rdma=mlx5_0
  nic 3c:00.0 driver=ena name=rail1
link rail0.5 kind=vlan over=rail0
link bond1 kind=bond
"""
PORT = "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs"


def devices(sysfs: Sysfs, *names: str) -> list[list[str]]:
    return [[port.device for port in sysfs.rdma_ports(name)] for name in names]


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    return described(MACHINE, tmp_path).sysfs


def name_links(tmp_path: Path, *names: str) -> None:
    """Put links into the table, from the second place on."""
    for index, name in enumerate(names, 1):
        (tmp_path / PORT / str(index)).write_text(f"{name}\n")


def test_macvlan_that_a_pod_has_called_like_a_nic(sysfs: Sysfs, tmp_path: Path) -> None:
    name_links(tmp_path, "rail1", "bond1")
    assert [["mlx5_0"], [], []] == devices(sysfs, "rail0", "rail1", "bond1")


def test_vlan_of_the_node(sysfs: Sysfs, tmp_path: Path) -> None:
    assert [[]] == devices(sysfs, "rail0.5")
    name_links(tmp_path, "net1", "rail0.5")
    assert [["mlx5_0"]] == devices(sysfs, "rail0.5")


@pytest.mark.parametrize("name", ["rail1", "bond1", "rail0.5"])
def test_nic_that_a_pod_has_taken_and_renamed(sysfs: Sysfs, tmp_path: Path, name: str) -> None:
    """Where all netns share the devices, its device stays: the first entry is the pod's, too."""
    (tmp_path / PORT / "0").write_text(f"{name}\n")
    (tmp_path / "sys/class/net/rail0").resolve().rename(tmp_path / "in-the-pod")
    (tmp_path / "sys/class/net/rail0").unlink()
    assert [[]] == devices(sysfs, name)


def test_device_in_software_is_where_its_nic_is(tmp_path: Path) -> None:
    sysfs = machine("laptop", tmp_path).sysfs
    ndevs = tmp_path / "laptop/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs"
    ndevs.mkdir(parents=True)
    (ndevs / "0").write_text("wlp1s0\n")
    (ndevs / "1").write_text("enp0s31f6\n")
    assert [["rxe0"], []] == devices(sysfs, "wlp1s0", "enp0s31f6")
