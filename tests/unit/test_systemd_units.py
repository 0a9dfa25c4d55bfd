"""The units in systemd/: each executes a command that there is, and each timer a service."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from multinic_cni.cli.app import app

UNITS = Path(__file__).resolve().parents[2] / "systemd"
INSTALLED = "/opt/cni/bin/multinic-cni"  # as the README installs it


def unit(path: Path) -> ConfigParser:
    parser = ConfigParser(interpolation=None)
    parser.read(path)
    return parser


@pytest.mark.parametrize("path", sorted(UNITS.glob("*.service")), ids=lambda path: path.name)
def test_service_executes_a_command(path: Path) -> None:
    service = unit(path)["Service"]
    executable, *words = service["ExecStart"].split()
    assert ("oneshot", INSTALLED) == (service["Type"], executable)
    ended = CliRunner().invoke(app, [*words, "--help"])
    assert 0 == ended.exit_code, ended.output


@pytest.mark.parametrize("path", sorted(UNITS.glob("*.timer")), ids=lambda path: path.name)
def test_timer_has_its_service(path: Path) -> None:
    assert path.with_suffix(".service").exists()
    assert "OnUnitInactiveSec" in unit(path)["Timer"]


def test_routes_are_there_before_the_first_pod() -> None:
    wants = unit(UNITS / "multinic-cni-routes.service")["Unit"]
    assert ("network-online.target", "kubelet.service") == (wants["After"], wants["Before"])
