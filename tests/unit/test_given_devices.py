"""Devices that a runtime has given to a pod: these NICs, all of them, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni import host as host_facts
from multinic_cni.attachments import holders
from multinic_cni.choosing import choose
from multinic_cni.errors import NO_NICS, CniError
from multinic_cni.host import Host
from tests.unit.confs import net_conf
from tests.unit.machines import machine

if TYPE_CHECKING:
    from pathlib import Path

ALL: dict[str, Any] = {"masterNets": None, "masters": ["ens*", "en3*"]}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return machine("sriov-host", tmp_path)


def chosen(host: Host, **keys: object) -> list[str]:
    conf = net_conf(**ALL | {"plugin": {"type": "sriov"}} | keys)
    return [choice.nic.name for choice in choose(conf, host, lambda: (), dict).chosen]


def refusal(host: Host, **keys: object) -> str:
    with pytest.raises(CniError) as raised:
        chosen(host, **keys)
    assert NO_NICS == raised.value.code
    return raised.value.message


@pytest.mark.parametrize(
    "device",
    ["0000:3b:00.3", "00000000:3b:00.3", "3b:00.3", "0000:3B:00.3"],
    ids=["as sysfs has it", "8 digits of domain", "no domain", "upper case"],
)
@pytest.mark.parametrize(
    "where",
    ["deviceID", "pciBusID", "deviceIDs", "runtimeConfig", "template"],
)
def test_every_form_and_place(host: Host, device: str, where: str) -> None:
    keys: dict[str, Any] = {where: device}
    if where == "deviceIDs":
        keys = {where: [device]}
    elif where == "runtimeConfig":
        keys = {where: {"deviceID": device}}
    elif where == "template":
        keys = {"plugin": {"type": "host-device", "pciBusID": device}}
    assert ["ens1f0v1"] == chosen(host, **keys)


def test_several_devices_are_taken_whatever_the_number(host: Host) -> None:
    given = ["0000:3b:00.4", "0000:3b:00.2"]
    assert ["ens1f0v0", "ens1f0v2"] == chosen(host, deviceIDs=given, attachPolicy={"nics": 1})


def test_scalable_function_goes_by_its_auxiliary_device(host: Host) -> None:
    given = {"plugin": {"type": "host-device"}, "deviceID": "mlx5_core.sf.2"}
    assert ["en3b00f1s88"] == chosen(host, **given)


@pytest.mark.parametrize("device", ["no such thing", "3b:00", "0000:3b:00.8x", "mlx5_2", "x" * 999])
@pytest.mark.parametrize("kind", ["sriov", "host-device"])
def test_what_is_no_device_never_means_any(host: Host, kind: str, device: str) -> None:
    message = refusal(host, plugin={"type": kind}, deviceID=device)
    assert "is no PCI address, nor an auxiliary device's name" in message
    assert len(message) < 200


def test_template_that_names_no_device(host: Host) -> None:
    message = refusal(host, plugin={"type": "macvlan", "pciBusID": "eth0"})
    assert 'the device "eth0" is no PCI address' in message


def test_shared_resource_is_no_nic(host: Host, capfd: pytest.CaptureFixture[str]) -> None:
    conf = {"plugin": {"type": "macvlan"}, "masters": ["ens5"], "deviceID": "rdma-shared-7"}
    assert ["ens5"] == chosen(host, **conf)
    assert 'devices of the pod that are no NICs devices="rdma-shared-7"' in capfd.readouterr().err


def test_device_outside_the_conf(host: Host) -> None:
    message = refusal(host, masters=["ens1f0v0", "ens1f0v2"], deviceID="0000:3b:00.3")
    assert message == (
        "the runtime has given the pod NIC ens1f0v1, which this network does not allow; allowed"
        " here: ens1f0v0, ens1f0v2"
    )


def test_device_that_is_sick_is_not_replaced(host: Host) -> None:
    host.nics[[nic.name for nic in host.nics].index("ens1f0v1")].carrier = False
    message = refusal(host, deviceID="0000:3b:00.3")
    assert message.startswith("1 NIC needed, 0 usable on this node (")
    assert "ens1f0v1: it has no carrier" in message


def test_records_that_cannot_be_read_do_not_hide_the_error(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: str) -> str:
        raise PermissionError

    monkeypatch.setattr(Host, "is_this_node", True)
    monkeypatch.setattr(holders, "holder_of", fail)
    monkeypatch.setattr(holders, "holders_of", lambda *_arguments: ())
    monkeypatch.setattr(host_facts, "boot_id", lambda: "boot")
    message = refusal(host, plugin={"type": "host-device"}, deviceID="0000:3b:00.7")
    assert "0000:3b:00.7 (pciBusID or deviceID) has no NIC on this node: there is no" in message
