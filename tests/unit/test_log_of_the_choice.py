"""What an ADD logs of its choice: what an admin should hear of without having asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multinic_cni.choosing import choose
from multinic_cni.preparation import _log
from tests.unit.confs import net_conf
from tests.unit.machines import machine

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from multinic_cni.host import Host


def logged(host: Host, capfd: pytest.CaptureFixture[str], level: str, **conf: object) -> list[str]:
    _log(choose(net_conf(masterNets=None, logLevel=level, **conf), host, list, dict))
    return [line.partition("] ")[2] for line in capfd.readouterr().err.splitlines()]


def test_unknown_speeds_are_a_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    policy = {"strategy": "perfOpt", "target": "100G"}
    host = machine("vpc-guest-small", tmp_path)
    lines = logged(host, capfd, "warning", masters=["ens3", "ens4"], attachPolicy=policy)
    (line,) = lines
    assert "say those of ens3, ens4 in the node's node.json" in line


def test_missing_rail_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    host = machine("dgx-a100", tmp_path)
    lines = logged(host, capfd, "info", rails=[["rail0"], ["rail9"]])
    assert ["rail 1: this node has no rail9", "NICs chosen nics=enp12s0"] == lines


def test_why_is_told_at_debug_only(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    host = machine("dgx-a100", tmp_path)
    policy = {"strategy": "perfOpt", "nics": 1}
    masters = ["rail0", "rail1"]
    lines = logged(host, capfd, "info", masters=masters, attachPolicy=policy)
    assert ["NICs chosen nics=enp12s0"] == lines
    lines = logged(host, capfd, "debug", masters=masters, attachPolicy=policy)
    assert "NIC enp12s0 taken: 200 Gbit/s of 200 Gbit/s are free" in lines
