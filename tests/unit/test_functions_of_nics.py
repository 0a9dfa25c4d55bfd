"""Who learns a NIC's PCI function: the result, delegates, and the file of device information."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.choosing import choose
from multinic_cni.delegates import chain_confs
from multinic_cni.errors import NO_NICS, CniError
from multinic_cni.preparation import _device_info, functions_of
from tests.unit.confs import net_conf
from tests.unit.machines import machine

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.host import Host
    from multinic_selectors.candidates import Choice

PF, VFS = "0000:3b:00.0", ["0000:3b:00.2", "0000:3b:00.3", "0000:3b:00.4"]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return machine("sriov-host", tmp_path)


def conf_of(kind: str, masters: list[str] | None, **words: object) -> NetConf:
    return net_conf(plugin={"type": kind}, masterNets=None, masters=masters, **words)


def chosen(conf: NetConf, host: Host) -> list[Choice]:
    return list(choose(conf, host, list, dict).chosen)


def functions(conf: NetConf, host: Host) -> list[str]:
    return functions_of(conf, host, chosen(conf, host))


def test_new_results_have_the_function_of_each_nic(host: Host) -> None:
    conf = conf_of("macvlan", ["ens1f0np0", "ens5"], cniVersion="1.1.0")
    assert [PF, "0000:87:00.0"] == functions(conf, host)


@pytest.mark.parametrize("version", ["0.4.0", "1.0.0"])
def test_old_results_have_no_such_field(host: Host, version: str) -> None:
    assert [""] == functions(conf_of("macvlan", ["ens5"], cniVersion=version), host)


def test_interfaces_that_stand_on_no_nic_have_no_function(host: Host) -> None:
    assert [""] == functions(conf_of("bridge", ["ens5"], cniVersion="1.1.0"), host)


def test_nic_that_is_no_pci_device(tmp_path: Path) -> None:
    host = machine("azure-nd", tmp_path)
    assert [""] == functions(conf_of("macvlan", ["eth0"], cniVersion="1.1.0"), host)


def test_sriov_gets_the_functions_of_the_nics(host: Host) -> None:
    conf = conf_of("sriov", ["ens1f0v*"])
    choices = chosen(conf, host)
    found = functions_of(conf, host, choices)
    assert VFS == found
    heads = [
        chain_confs(conf, choice.nic.name, None, function=function)[0]
        for choice, function in zip(choices, found, strict=True)
    ]
    assert VFS == [head["deviceID"] for head in heads]


@pytest.mark.parametrize("nic", ["ens1f0np0", "en3b00f1s88"])
def test_sriov_takes_no_other_nics(host: Host, nic: str) -> None:
    conf = conf_of("sriov", [nic])
    with pytest.raises(CniError) as raised:
        chosen(conf, host)
    assert NO_NICS == raised.value.code
    reason = f"{nic}: it is no virtual function, and plugin sriov takes no other NICs"
    assert reason in raised.value.message
    assert raised.value.message.startswith("1 NIC needed, 0 usable on this node")


@pytest.mark.parametrize("kind", ["sriov", "sriov-cni", "ib-sriov", "ib-sriov-cni"])
def test_virtual_functions_take_the_place_of_others(host: Host, kind: str) -> None:
    """A class does so before NICs are counted, and this is one."""
    conf = conf_of(kind, ["ens1f0*", "en3b00f1s88", "ens5"])
    assert VFS == functions(conf, host)
    two = conf_of(kind, ["ens1f0*"], attachPolicy={"nics": 2})
    assert VFS[:2] == functions(two, host)


def test_template_that_names_its_function_is_not_judged(host: Host) -> None:
    """Whoever named it knows, and the plugin says what is wrong with it."""
    conf = net_conf(plugin={"type": "sriov", "deviceID": PF}, masterNets=None)
    assert ["ens1f0np0"] == [each.nic.name for each in chosen(conf, host)]


@pytest.mark.parametrize(
    "words",
    [
        {"runtimeConfig": {"deviceID": VFS[1]}},
        {"deviceID": VFS[1]},
        {"pciBusID": VFS[1], "deviceID": VFS[1]},  # so Multus says it
        {"deviceIDs": [VFS[1]]},
        {"runtimeConfig": {"deviceIDs": [VFS[1], VFS[1]]}},
    ],
    ids=range(5),
)
def test_device_of_the_runtime_is_the_one(host: Host, words: dict[str, Any]) -> None:
    """Without masters, the network allows whatever the device plugin's pool has."""
    conf = conf_of("sriov", None, **words)
    assert [VFS[1]] == functions(conf, host)


def test_device_of_the_template_is_the_one(host: Host) -> None:
    plugin = {"type": "sriov", "deviceID": VFS[2]}
    conf = net_conf(plugin=plugin, masterNets=None, deviceID=VFS[0], cniVersion="1.1.0")
    assert [VFS[2]] == functions(conf, host)


def test_several_devices_give_several_nics(host: Host) -> None:
    conf = conf_of("sriov", None, deviceIDs=[VFS[2], VFS[0]])
    names = [choice.nic.name for choice in chosen(conf, host)]
    assert {"ens1f0v0", "ens1f0v2"} == set(names)
    assert {VFS[0], VFS[2]} == set(functions(conf, host))


def test_device_that_the_network_does_not_allow(host: Host) -> None:
    conf = conf_of("sriov", ["ens1f0v0"], deviceIDs=[VFS[2]])
    with pytest.raises(CniError, match="ens1f0v2, which this network does not allow"):
        functions(conf, host)


FILE = "/var/run/k8s.cni.cncf.io/devinfo/cni/net1"


def test_device_information_is_of_the_first_nic_with_a_function(host: Host) -> None:
    runtime = {"CNIDeviceInfoFile": FILE}
    conf = conf_of("host-device", ["ens1f0v1", "ens5"], runtimeConfig=runtime)
    choices = chosen(conf, host)
    info = _device_info(conf, host, choices, ["", "0000:87:00.0"])
    assert info is not None
    pci = info.document["pci"]
    assert isinstance(pci, dict)
    assert "0000:87:00.0" == pci["pci-address"]
    assert FILE == info.path


def test_no_device_information(host: Host) -> None:
    for runtime in ({}, {"CNIDeviceInfoFile": ""}, {"CNIDeviceInfoFile": FILE}):
        conf = conf_of("host-device", ["ens5"], runtimeConfig=runtime)
        assert _device_info(conf, host, chosen(conf, host), [""]) is None
