from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_selectors.devices import is_auxiliary, is_pci_address, normal_pci_address
from multinic_selectors.sysfs import Sysfs

if TYPE_CHECKING:
    from pathlib import Path

VF = "0000:3b:00.2"


@pytest.mark.parametrize(
    "text", [VF, "0000:41:00.0", "10A0:FF:1f.7", "10000:e1:00.0", "fffffffe:00:00.0"]
)
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
        "000:3b:00.2",
        "00000:3b:00.2",  # so many digits only where they count
        "00010000:e1:00.0",
        "100000000:3b:00.2",
        "1000g:3b:00.2",
        "0000:0000:3b:00.2",
        ":3b:00.2",
        "3b:00.2:0000",
        "0000.3b.00.2",
        "0000.3b:00.2",
        "0000:3b:00:2",
        "0000:3b:00.",
        "0000:3b/00.2",
        "../../../../x",
        "mlx5_core.sf.4",
        "\u0660000:3b:00.2",
    ],
)
def test_what_is_no_pci_address(text: str) -> None:
    assert not is_pci_address(text)


@pytest.mark.parametrize("text", ["mlx5_core.sf.4", "ice.sf.0", "a-b.c_d.12"])
def test_auxiliary_devices(text: str) -> None:
    assert is_auxiliary(text)


@pytest.mark.parametrize(
    "text",
    ["", "..", "...", "a.b.", ".b.1", "a..1", "a.b.1.2", "a/b.c.1", "a.b.\u0661", "a.b.-1", VF],
)
def test_what_is_no_auxiliary_device(text: str) -> None:
    assert not is_auxiliary(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),  # as nvidia-smi has it
        ("0000000a:3b:00.0", "000a:3b:00.0"),
        ("3b:00.0", "0000:3b:00.0"),
        (" 0000:3b:00.0\n", "0000:3b:00.0"),
        ("00010000:E1:00.0", "10000:e1:00.0"),  # behind Intel VMD
        ("10000:e1:00.0", "10000:e1:00.0"),
        ("000000000:3b:00.0", ""),
        ("0000g000:3b:00.0", ""),
        ("00000000:0000:3b:00.0", ""),
        ("GPU-3b", ""),
        ("", ""),
    ],
)
def test_forms_of_a_pci_address(text: str, expected: str) -> None:
    assert expected == normal_pci_address(text)


def device(sysfs: Path, *nics: str, below: str = "") -> Path:
    folder = sysfs / "bus" / "pci" / "devices" / VF
    for nic in nics:
        (folder / below / "net" / nic).mkdir(parents=True)
    return folder


def test_nic_of_a_function(tmp_path: Path) -> None:
    device(tmp_path, "ens3f0v2")
    assert ["ens3f0v2"] == Sysfs(str(tmp_path)).nics(VF)
    assert ["ens3f0v2"] == Sysfs(str(tmp_path)).nics(VF.upper())


def test_ports_of_one_function_come_in_order(tmp_path: Path) -> None:
    device(tmp_path, "ib1", "ib0")
    assert ["ib0", "ib1"] == Sysfs(str(tmp_path)).nics(VF)


def test_virtio_nic_hangs_one_level_deeper(tmp_path: Path) -> None:
    device(tmp_path, "ens3", below="virtio0")
    assert ["ens3"] == Sysfs(str(tmp_path)).nics(VF)


def test_function_without_a_nic(tmp_path: Path) -> None:
    device(tmp_path).mkdir(parents=True)
    assert [] == Sysfs(str(tmp_path)).nics(VF)


def test_no_such_function(tmp_path: Path) -> None:
    assert [] == Sysfs(str(tmp_path)).nics(VF)
