"""Virtual functions that come back with another permanent MAC than they had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.handover import returning
from multinic_cni.handover.returning import find_nic
from tests.unit.test_handover import DEVICE, HARDWARE, OTHER_MAC, REAL, link, recorded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the NIC's PCI function below a made-up /sys."""
    monkeypatch.setattr(returning, "DEVICES", f"{tmp_path}/{{}}/{{}}")
    folder = tmp_path / DEVICE
    folder.mkdir(parents=True)
    return folder


CHANGED: dict[str, Any] = {**REAL, "permanent_mac": OTHER_MAC}


def test_virtual_function_is_known_by_its_address_alone(function: Path) -> None:
    """The physical function has given it another MAC, which its driver calls permanent."""
    (function / "physfn").mkdir()
    links = [link("rail1"), link("x", 9, **CHANGED), link("y", 10, kind="ipoib", **CHANGED)]
    found = find_nic(links, recorded(), HARDWARE)
    assert found
    assert found.name == "x"


def test_other_functions_may_have_several_nics(function: Path) -> None:
    assert function.is_dir()
    assert find_nic([link("x", **CHANGED)], recorded(), HARDWARE) is None
