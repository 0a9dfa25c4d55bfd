"""What the plugin knows of the node's NICs, against lspci and ip on real PCI functions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from multinic_cni.host import Host
from multinic_selectors.sysfs import Sysfs
from tests.vm.guest.node import NICS, execute, ip
from tests.vm.guest.pci import address_of, functions, gpu, paths_to_functions, virtual_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_selectors.nics import Nic
    from tests.vm.guest.node import Document
    from tests.vm.guest.pci import Sriov

INTEL, PHYSICAL_FUNCTION, VIRTUAL_FUNCTION = "8086", "10c9", "10ca"


@pytest.fixture
def sysfs() -> Sysfs:
    return Sysfs()


def shown_by_ip() -> dict[str, Document]:
    return {link["ifname"]: link for link in json.loads(execute("ip", "-d", "-j", "link"))}


def nics() -> dict[str, Nic]:
    return {nic.name: nic for nic in Host().nics}


def test_pci_functions(sysfs: Sysfs, sriov: Sriov) -> None:
    """Virtio NICs among them, whose own device is virtioN on the function."""
    known = functions()
    names = (*NICS, *sriov.nics)
    assert set(names) == set(nics()) - {"lo"}
    for name in names:
        address = sysfs.pci_address(name)
        function, location = known[address_of(name)], sysfs.location(address)
        assert address == address_of(name)
        assert sysfs.nics(address) == [name]
        assert sysfs.vendor(address) == function.vendor
        assert sysfs.product(address) == function.product
        assert sysfs.device_class(address) == f"{function.device_class}00"
        assert sysfs.driver(name) == sysfs.driver_of(address) == function.driver
        assert location is not None
        assert location.numa == function.numa


def test_every_function_has_lspcis_path(sysfs: Sysfs) -> None:
    paths = paths_to_functions()
    assert set(paths) == set(functions())
    for address, path in paths.items():
        location = sysfs.location(address)
        assert location is not None
        assert [*location.bridges, location.address] == path
        assert location.root == f"pci{path[0][: len('0000:00')]}"


def test_virtual_functions(sysfs: Sysfs, sriov: Sriov) -> None:
    expected = virtual_functions(sriov.address)
    assert len(expected) == len(shown_by_ip()[sriov.nic]["vfinfo_list"]) == 2
    assert sysfs.virtual_functions(sriov.address) == expected
    assert [sysfs.physical_function(each) for each in expected] == [sriov.address] * 2
    assert [sysfs.nics(each) for each in expected] == [[name] for name in sriov.virtual_nics]
    assert [sysfs.product(each) for each in expected] == [VIRTUAL_FUNCTION] * 2
    assert (sysfs.vendor(sriov.address), sysfs.product(sriov.address)) == (INTEL, PHYSICAL_FUNCTION)
    assert sysfs.physical_function(sriov.address) == ""
    assert sysfs.virtual_functions(address_of("eth0")) == []


def test_device_without_a_nic(sysfs: Sysfs) -> None:
    address = gpu(0)
    assert sysfs.exists(address)
    assert sysfs.nics(address) == []
    assert sysfs.driver_of(address) == functions()[address].driver == ""


def test_speed(sysfs: Sysfs, sriov: Sriov) -> None:
    """An igb has one gigabit; virtio NICs do not tell theirs."""
    assert (sysfs.speed(sriov.nic), sysfs.duplex(sriov.nic)) == (1000, "full")
    assert {sysfs.speed(name) for name in NICS} == {None}


@pytest.fixture
def other_macs(sriov: Sriov) -> Iterator[list[str]]:
    """Give a NIC of each driver another MAC for a while."""
    names = ["eth3", sriov.nic]
    own = [shown_by_ip()[name]["address"] for name in names]
    for number, name in enumerate(names):
        ip("link", "set", name, "address", f"02:00:00:00:00:0{number}")
    yield names
    for name, mac in zip(names, own, strict=True):
        ip("link", "set", name, "address", mac)


def test_permanent_macs(other_macs: list[str]) -> None:
    known, shown = nics(), shown_by_ip()
    for number, name in enumerate(other_macs):
        assert known[name].mac == shown[name]["address"] == f"02:00:00:00:00:0{number}"
        assert known[name].permanent_mac == shown[name]["permaddr"]
        assert known[name].permanent_mac.startswith("52:54:")


RELATIONS = {
    "bond": "type bond mode active-backup",
    "bridge": "type bridge",
    "on-zero": "link eth0 type ipvlan mode l3",
    "on-zero-too": "link eth0 type ipvlan mode l3",
    "on-one": "link eth1 type macvlan mode bridge",
    "on-bond": "link bond type vlan id 7",
    "on-vlan": "link on-bond type ipvlan mode l3s",
}
PORTS = {"eth2": "bridge", "eth6": "bond", "eth7": "bond"}


@pytest.fixture
def relations() -> Iterator[None]:
    """Make links of every kind that can stand on a NIC, or have one as a port."""
    execute("modprobe", "bonding", "max_bonds=0")
    for name, words in RELATIONS.items():
        ip("link", "add", "name", name, *words.split())
    for nic, holder in PORTS.items():
        ip("link", "set", nic, "down")
        ip("link", "set", nic, "master", holder)
    yield
    for name in reversed(RELATIONS):
        ip("link", "delete", name)


@pytest.mark.usefixtures("relations")
def test_relations() -> None:
    known, shown = nics(), shown_by_ip()
    assert set(known) == set(shown)
    for name, link in shown.items():
        assert known[name].kind == link.get("linkinfo", {}).get("info_kind", "")
        assert known[name].enslaved_to == link.get("master", "")
        assert known[name].stands_on == link.get("link", "")
        assert uppers_of(known[name]) == {
            (above, info["info_kind"], mode_of(info))
            for above, each in shown.items()
            if each.get("link") == name
            for info in [each["linkinfo"]]
        }
    assert uppers_of(known["eth0"]) == {
        ("on-zero", "ipvlan", "l3"),
        ("on-zero-too", "ipvlan", "l3"),
    }
    assert {name: known[name].enslaved_to for name in PORTS} == PORTS


def uppers_of(nic: Nic) -> set[tuple[str, str, str]]:
    return {(upper.name, upper.kind, upper.mode) for upper in nic.uppers}


def mode_of(info: Document) -> str:
    return str(info["info_data"].get("mode", ""))


@pytest.fixture
def rdma() -> Iterator[dict[str, str]]:
    """Make an RDMA device in software on each of two NICs."""
    execute("modprobe", "rdma_rxe")
    devices = {"eth4": "roce4", "eth5": "roce5"}
    for nic, device in devices.items():
        execute("rdma", "link", "add", device, "type", "rxe", "netdev", nic)
    yield devices
    for device in devices.values():
        execute("rdma", "link", "delete", device)
    execute("modprobe", "-r", "rdma_rxe")


def test_rdma_devices(sysfs: Sysfs, rdma: dict[str, str]) -> None:
    ip("link", "set", "eth5", "down")
    shown = {link["netdev"]: link for link in json.loads(execute("rdma", "-j", "link"))}
    assert set(shown) == set(rdma)
    for nic, link in shown.items():
        (port,) = sysfs.rdma_ports(nic)
        assert (port.device, port.number) == (link["ifname"], link["port"]) == (rdma[nic], 1)
        assert port.state == link["state"] == {"eth4": "ACTIVE", "eth5": "DOWN"}[nic]
    assert sysfs.rdma_ports("eth0") == []
    assert execute("rdma", "system").split()[:2] == ["netns", "shared"]
    assert sysfs.rdma_netns_exclusive() is False
