from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_selectors.devices import is_pci_address, nics_of_device

if TYPE_CHECKING:
    from pathlib import Path

VF = "0000:3b:00.2"


@pytest.mark.parametrize("text", [VF, "0000:41:00.0", "10A0:FF:1f.7"])
def test_pci_addresses(text: str) -> None:
    assert is_pci_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3b:00.2",
        "0000:3b:00.2 ",
        "0000:3b:00.g",
        "0000:3b:00.22",
        "000:3b:000.2",
        "0000:3b/00.2",
        "../../../../x",
        "mlx5_core.sf.4",
        "\u0660000:3b:00.2",
    ],
)
def test_what_is_no_pci_address(text: str) -> None:
    assert not is_pci_address(text)


def device(sysfs: Path, *nics: str, below: str = "") -> Path:
    folder = sysfs / "bus" / "pci" / "devices" / VF
    for nic in nics:
        (folder / below / "net" / nic).mkdir(parents=True)
    return folder


def test_nic_of_a_function(tmp_path: Path) -> None:
    device(tmp_path, "ens3f0v2")
    assert ["ens3f0v2"] == nics_of_device(VF, str(tmp_path))
    assert ["ens3f0v2"] == nics_of_device(VF.upper(), str(tmp_path))


def test_ports_of_one_function_come_in_order(tmp_path: Path) -> None:
    device(tmp_path, "ib1", "ib0")
    assert ["ib0", "ib1"] == nics_of_device(VF, str(tmp_path))


def test_virtio_nic_hangs_one_level_deeper(tmp_path: Path) -> None:
    device(tmp_path, "ens3", below="virtio0")
    assert ["ens3"] == nics_of_device(VF, str(tmp_path))


def test_function_without_a_nic(tmp_path: Path) -> None:
    device(tmp_path).mkdir(parents=True)
    assert [] == nics_of_device(VF, str(tmp_path))


def test_no_such_function(tmp_path: Path) -> None:
    assert [] == nics_of_device(VF, str(tmp_path))
