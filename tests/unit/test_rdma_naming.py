"""What the log says of a pod's RDMA devices, and what it costs to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multinic_cni.log import log
from multinic_cni.rdma_naming import log_attached, rdma_devices
from multinic_cni.result import IpConfig, Result
from tests.unit.machines import machine
from tests.unit.records import record

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from multinic_cni.host import Host


def found(host: Host, *names: str) -> dict[str, str]:
    nics = [nic for nic in host.nics if nic.name in names]
    assert len(names) == len(nics)
    return rdma_devices(host, nics)


def test_devices_of_hardware(tmp_path: Path) -> None:
    host = machine("sriov-host", tmp_path)
    assert {"ens1f0np0": "mlx5_0", "ens1f0v1": "mlx5_3"} == found(
        host, "ens1f0np0", "ens1f0v1", "ens5"
    )


def test_device_of_a_bond(tmp_path: Path) -> None:
    host = machine("bond-vlans", tmp_path)
    assert {"bond0": "mlx5_bond_0"} == found(host, "bond0", "bond0.100", "ens1f0")


def test_log_names_each_nic(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[dict[str, object]] = []
    monkeypatch.setattr(log, "info", lambda _event, **facts: lines.append(facts))
    first, second = record().nics[:2]
    ips = (IpConfig(address="10.1.0.9/24"), IpConfig(address="fd00::9/64"))
    log_attached(
        [first.but(result=Result(ips=ips)), second.but(result=None)], {first.nic: "mlx5_3"}
    )
    assert [
        {
            "nic": first.nic,
            "ifname": first.ifname,
            "addresses": "10.1.0.9/24,fd00::9/64",
            "rdma": "mlx5_3",
        },
        {"nic": second.nic, "ifname": second.ifname, "addresses": "none", "rdma": "none"},
    ] == lines
