"""host-device: the NIC itself goes into the pod and comes back under its own name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.vm.guest.node import NICS, ip, links, on_rail, rail, ranges, ranges_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.vm.guest.node import Document, Network, Pod


def pci_address(nic: str) -> str:
    """Return the PCI function, which is above the device itself (virtio4, say)."""
    return Path(f"/sys/class/net/{nic}/device").resolve().parent.name


def by_name() -> Document:
    return {"plugin": {"type": "host-device"}}


def by_pci_address() -> Document:
    return {"plugin": {"type": "host-device", "pciBusID": pci_address("eth5")}}


@pytest.mark.parametrize("chosen", [by_name, by_pci_address])
def test_one_nic(
    chosen: Callable[[], Document],
    make_pod: Callable[[str], Pod],
    make_network: Callable[..., Network],
) -> None:
    pod = make_pod("pod")
    network = make_network(masters=["eth5"], ipam=ranges_by({"eth5": rail(5)}), **chosen())
    nic = links()["eth5"]
    result = network.add(pod)
    assert result == {
        "cniVersion": "1.0.0",
        "interfaces": [{"name": "net1", "mac": nic["address"], "sandbox": pod.netns}],
        "ips": [{"address": f"{on_rail(5, 2)}/24", "interface": 0}],
    }
    assert "eth5" not in links()
    assert pod.links()["net1"]["address"] == nic["address"]
    assert pod.addresses() == {"net1": [f"{on_rail(5, 2)}/24"]}
    network.check(pod)
    network.delete(pod)
    assert pod.links() == {}
    assert links()["eth5"]["address"] == nic["address"]
    assert network.state() == set()


def test_pods_on_one_wire(pods: tuple[Pod, Pod], make_network: Callable[..., Network]) -> None:
    """Two NICs of each rail, one for each pod, as the pods themselves choose."""
    for index in (2, 3):
        ip("address", "add", f"{on_rail(index, 2)}/24", "dev", f"eth{index + 2}")
    network = make_network(
        plugin={"type": "host-device"}, masterNets=[rail(2), rail(3)], ipam=ranges(2, 3)
    )
    network.add(pods[0], args={"cni": {"masters": ["eth2", "eth3"]}})
    network.add(pods[1], args={"cni": {"masters": ["eth4", "eth5"]}})
    assert pods[0].addresses() == {
        "net1": [f"{on_rail(2, 100)}/24"],
        "net1-1": [f"{on_rail(3, 100)}/24"],
    }
    assert not {"eth2", "eth3", "eth4", "eth5"} & set(links())
    pods[0].ping("net1", on_rail(2, 101))
    pods[0].ping("net1-1", on_rail(3, 101))
    for pod in pods:
        network.delete(pod)
        assert pod.links() == {}
    assert {"eth2", "eth3", "eth4", "eth5"} <= set(links())
    assert network.state() == set()


def test_nic_serves_the_next_pod(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    """A NIC falls back as a bare link, which is down: host-device sets it up in the pod."""
    network = make_network(masters=["eth5"], ipam=ranges_by({"eth5": rail(5)}), **by_name())
    for pod in pods:
        network.add(pod)
        assert "eth5" not in links()
        assert "UP" in pod.links()["net1"]["flags"]
        network.delete(pod)
        assert "eth5" in links()
    assert network.state() == set()


def test_device_id_of_another_nic(
    make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    """What comes with a pod brings no NIC that the conf does not allow."""
    pod = make_pod("pod")
    network = make_network(
        masters=["eth5"],
        ipam=ranges_by({"eth5": rail(5)}),
        capabilities={"deviceID": True},
        **by_name(),
    )
    message = network.call("ADD", pod, runtimeConfig={"deviceID": pci_address("eth4")}).error()
    assert "NIC eth4, which this network does not allow" in message
    assert "allowed here: eth5" in message
    assert pod.links() == {}
    assert set(NICS) <= set(links())
    assert network.state() == set()


@pytest.mark.parametrize("key", ["device", "pciBusID"])
def test_template_of_another_nic(
    key: str, make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    """eth5 is allowed and would get the address: a delegate that moved eth4 would be wrong."""
    pod = make_pod("pod")
    names = {"device": "eth4", "pciBusID": pci_address("eth4")}
    network = make_network(
        masters=["eth5"],
        ipam=ranges_by({"eth5": rail(5)}),
        plugin={"type": "host-device", key: names[key]},
    )
    message = network.call("ADD", pod).error()
    expected = {"device": "plugin.device: must not be given", "pciBusID": "allowed here: eth5"}
    assert expected[key] in message
    assert set(NICS) <= set(links())
    assert pod.links() == {}
    assert network.state() == set()


def test_device_of_the_runtime(
    make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    """What a device plugin gave the pod is taken where the conf names no NIC, and nothing else."""
    pod = make_pod("pod")
    network = make_network(ipam={}, **by_name())
    network.add(pod, deviceID=pci_address("eth6"), pciBusID=pci_address("eth6"))
    assert set(pod.links()) == {"net1"}
    assert set(NICS) - set(links()) == {"eth6"}
    network.delete(pod)
    assert set(NICS) <= set(links())
