"""A NIC of the kernel's and one of the same name in a sysfs that shows another netns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.host import Host
from multinic_selectors.sysfs import Sysfs
from tests.unit.machines import described
from tests.unit.nics import nic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DESCRIPTION = """
root 0000:3a numa=0
  bridge 3a:00.0
    nic 3b:00.0 id=15b3:101d driver=mlx5_core name=eth0 speed=100000 rdma=mlx5_0
      sf 1 name=eth1
root 0000:00
  nic 00:03.0 id=1af4:1041 name=eth2 speed=25000
"""


def words_of(sysfs: Sysfs, name: str) -> list[object]:
    return [
        sysfs.pci_address(name),
        sysfs.auxiliary_device(name),
        sysfs.speed(name),
        sysfs.duplex(name),
        sysfs.driver(name),
        [port.device for port in sysfs.rdma_ports(name)],
    ]


NOTHING: list[object] = ["", "", None, "", "", []]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    described(DESCRIPTION, tmp_path)
    return tmp_path / "sys"


def index_of(folder: Path, name: str) -> int:
    return int((folder / f"class/net/{name}/ifindex").read_text())


def indexes_but(folder: Path, **others: int) -> Mapping[str, int]:
    return {each: index_of(folder, each) for each in ("eth0", "eth1", "eth2")} | others


def test_kernels_own_nics(folder: Path) -> None:
    sysfs = Sysfs(str(folder), lambda: indexes_but(folder))
    unguarded = Sysfs(str(folder))
    for name in ("eth0", "eth1", "eth2"):
        assert words_of(sysfs, name) == words_of(unguarded, name) != NOTHING
    assert ["0000:3b:00.0", "", 100_000, "full", "mlx5_core", ["mlx5_0"]] == words_of(sysfs, "eth0")
    assert ["eth0"] == sysfs.nics("0000:3b:00.0")


@pytest.mark.parametrize("name", ["eth0", "eth1", "eth2"])
def test_nic_with_another_index_has_nothing(folder: Path, name: str) -> None:
    whole = Sysfs(str(folder))
    device = whole.auxiliary_device(name) or whole.pci_address(name)
    assert [name] == whole.nics(device)
    sysfs = Sysfs(str(folder), lambda: indexes_but(folder, **{name: 4711}))
    assert NOTHING == words_of(sysfs, name)
    assert [] == sysfs.nics(device)
    others = {"eth0", "eth1", "eth2"} - {name}
    assert all(words_of(sysfs, each) == words_of(whole, each) for each in others)


def test_nic_that_the_kernel_does_not_have(folder: Path) -> None:
    sysfs = Sysfs(str(folder), lambda: {"eth2": index_of(folder, "eth2")})
    assert NOTHING == words_of(sysfs, "eth0")
    assert ([], ["eth2"]) == (sysfs.nics("0000:3b:00.0"), sysfs.nics("0000:00:03.0"))


def test_functions_are_every_netnss(folder: Path) -> None:
    sysfs = Sysfs(str(folder), dict)
    assert "15b3" == sysfs.vendor("0000:3b:00.0")
    assert ["mlx5_0"] == [port.device for port in sysfs.rdma_ports_of("0000:3b:00.0")]


def test_tree_without_indexes_is_taken_at_its_word(folder: Path) -> None:
    """Trees that were collected by an earlier script have none."""
    (folder / "class/net/eth0/ifindex").unlink()
    assert 100_000 == Sysfs(str(folder), dict).speed("eth0")


def test_kernel_is_asked_once_and_only_for_a_nic_with_an_answer(folder: Path) -> None:
    asked: list[None] = []

    def indexes() -> Mapping[str, int]:
        asked.append(None)
        return indexes_but(folder)

    sysfs = Sysfs(str(folder), indexes)
    assert "" == sysfs.pci_address("lo")
    assert "1af4" == sysfs.vendor("0000:00:03.0")
    assert [] == asked
    for name in ("eth0", "eth1", "eth2", "eth0"):
        words_of(sysfs, name)
    assert [None] == asked


def test_host_compares_with_its_own_nics(folder: Path) -> None:
    own = nic("eth0", index=index_of(folder, "eth0"))
    stranger = nic("eth2", index=index_of(folder, "eth2") + 1)
    host = Host(str(folder.parent), nics=[own, stranger])
    assert (100_000, None) == (host.speed(own), host.speed(stranger))
    assert ("0000:3b:00.0", "") == tuple(map(host.sysfs.pci_address, ("eth0", "eth2")))
