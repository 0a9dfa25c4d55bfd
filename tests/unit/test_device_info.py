"""The file of device information that a runtime names."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import pytest

from multinic_cni.device_info import DeviceInfo, device_info
from tests.unit.machines import machine

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.host import Host

DOCUMENT: dict[str, object] = {
    "type": "pci",
    "version": "1.1.0",
    "pci": {"pci-address": "0000:3b:00.2"},
}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return machine("sriov-host", tmp_path)


def info(folder: Path, path: object) -> DeviceInfo:
    return DeviceInfo(folder=str(folder), path=str(path), document=DOCUMENT)


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_virtual_function(host: Host) -> None:
    path = f"{host.paths.device_info}/cni/net1"
    found = device_info(path, host, "ens1f0v0", "0000:3b:00.2")
    assert found is not None
    assert {
        "type": "pci",
        "version": "1.1.0",
        "pci": {
            "pci-address": "0000:3b:00.2",
            "rdma-device": "mlx5_2",
            "pf-pci-address": "0000:3b:00.0",
        },
    } == found.document
    assert (path, host.paths.device_info) == (found.path, found.folder)


def test_function_without_more(tmp_path: Path) -> None:
    host = machine("laptop", tmp_path)
    nic = next(nic.name for nic in host.nics if host.sysfs.pci_address(nic.name))
    address = host.sysfs.pci_address(nic)
    found = device_info("/x", host, nic, address)
    assert found is not None
    assert {"pci-address": address} == found.document["pci"]


@pytest.mark.parametrize("path", [None, "", 1, ["/x"], {}])
def test_nobody_names_a_file(host: Host, path: object) -> None:
    assert device_info(path, host, "ens1f0v0", "0000:3b:00.2") is None


def test_file_and_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "run/devinfo/cni/a/net1"
    info(tmp_path / "run/devinfo", path).write()
    assert DOCUMENT == json.loads(path.read_text())
    assert 0o644 == path.stat().st_mode & 0o777
    assert 0o755 == path.parent.stat().st_mode & 0o777


def test_file_that_is_there_stays(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A device plugin's, which the runtime has copied."""
    path = tmp_path / "net1"
    path.write_text("{}")
    info(tmp_path, path).write()
    assert "{}" == path.read_text()
    assert "" == capfd.readouterr().err


def test_folder_by_another_name(tmp_path: Path) -> None:
    """/var/run is a link to /run: runtimes say either."""
    (tmp_path / "run").mkdir()
    (tmp_path / "var").mkdir()
    (tmp_path / "var/run").symlink_to("../run")
    info(tmp_path / "var/run", tmp_path / "run/net1").write()
    info(tmp_path / "var/run", tmp_path / "var/run/net2").write()
    assert {"net1", "net2"} == names_in(tmp_path / "run")


@pytest.mark.parametrize(
    "path",
    [
        "net1",
        "/etc/passwd2",
        "{}",
        "{}/",
        "{}/../net1",
        "{}/cni/../../net1",
        "{}/./net1",
        "{}//net1",
        "{}x/net1",
        "{}/cni/",
        "{}/a\0b",
        "/",
    ],
)
def test_path_outside_is_refused(
    tmp_path: Path, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "devinfo"
    folder.mkdir()
    info(folder, path.format(folder)).write()
    assert {"devinfo"} == names_in(tmp_path)
    assert set() == names_in(folder)
    assert "CNIDeviceInfoFile is not below" in capfd.readouterr().err


def test_links_below_the_folder_lead_nowhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, outside = tmp_path / "devinfo", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "cni").symlink_to(outside)
    (folder / "net1").symlink_to(outside / "net1")
    info(folder, folder / "cni/net1").write()
    info(folder, folder / "net1").write()
    assert set() == names_in(outside)
    assert "is not written" in capfd.readouterr().err


def test_what_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And no half a file is left."""
    write = os.write

    def full(descriptor: int, content: bytes) -> int:
        if descriptor == 2:
            return write(descriptor, content)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    info(tmp_path, tmp_path / "net1").write()
    assert set() == names_in(tmp_path)
    assert "No space left on device" in capfd.readouterr().err


def test_file_in_the_folders_place(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "devinfo").write_text("")
    info(tmp_path / "devinfo", tmp_path / "devinfo/net1").write()
    (tmp_path / "cni").write_text("")
    info(tmp_path, tmp_path / "cni/net1").write()
    assert 2 == capfd.readouterr().err.count("is not written")
