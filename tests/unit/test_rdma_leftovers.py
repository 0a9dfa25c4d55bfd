"""A DEL of rdma that fails: whether its device is still in the pod, by the node's sysfs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.compensation import may_have_left
from multinic_selectors import attributes
from tests.unit.machines import machine
from tests.unit.records import conf, record

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.attachments.record import NicRecord


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the node be one with VFs: 3b:00.3 has mlx5_3, 3b:00.5 has no RDMA device here."""
    machine("sriov-host", tmp_path)
    monkeypatch.setattr(attributes, "SYSFS", str(tmp_path / "sriov-host/sys"))


def chain(*devices: str) -> NicRecord:
    rdma = [conf("rdma", **({"deviceID": device} if device else {})) for device in devices]
    return record().nics[0].but(confs=(conf("host-device", device="rail0"), *rdma))


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        (["0000:3b:00.3"], False),
        (["0000:3B:00.3"], False),
        (["0000:3b:00.5"], True),
        (["0000:3b:00.3", "0000:3b:00.5"], True),
        (["0000:ff:00.0"], True),
        (["../../class/net"], True),
        (["mlx5_core.sf.2"], True),  # nobody has looked for these
        ([""], True),
    ],
)
def test_device_is_here_or_in_the_pod(devices: list[str], expected: bool) -> None:
    assert expected is may_have_left("rdma", chain(*devices))


def test_other_types_are_known_or_not() -> None:
    nic = chain("0000:3b:00.5")
    assert [False, True] == [may_have_left(kind, nic) for kind in ("host-device", "my-own")]
