"""An (emulated) SR-IOV NIC: virtual functions given to pods, and classes that tell NICs apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.vm.guest.node import MACVLAN, NICS, execute, links, nics_below
from tests.vm.guest.pci import wait_for_carrier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.vm.guest.node import Document, Network, Pod
    from tests.vm.guest.pci import Sriov

SUBNET = "10.31.0.0/24"
HOST_DEVICE = {"type": "host-device"}
FUNCTIONS = Path("/sys/bus/pci/devices")


def given(address: str) -> Document:
    """Return what Multus writes into a conf for a device of the pod."""
    return {"deviceID": address, "pciBusID": address, "runtimeConfig": {"deviceID": address}}


@pytest.fixture
def network(make_network: Callable[..., Network], sriov: Sriov) -> Network:
    """Any virtual function is allowed; they share a network."""
    return make_network(
        plugin=HOST_DEVICE,
        capabilities={"deviceID": True},
        masters=list(sriov.virtual_nics),
        ipam={"type": "multi-nic-ipam", "ranges": shared(sriov.virtual_nics)},
    )


def shared(nics: tuple[str, ...]) -> Document:
    """Give each NIC a range of its own in one network."""
    return {
        nic: [
            {
                "subnet": SUBNET,
                "rangeStart": SUBNET.replace(".0/24", f".{number}0"),
                "rangeEnd": SUBNET.replace(".0/24", f".{number}9"),
            }
        ]
        for number, nic in enumerate(nics, start=1)
    }


def test_pods_with_a_virtual_function_each(
    network: Network, sriov: Sriov, pods: tuple[Pod, Pod]
) -> None:
    macs = [links()[nic]["address"] for nic in sriov.virtual_nics]
    # The later function to the first pod: nothing depends on their order.
    for pod, mac, address, number in zip(
        pods, reversed(macs), reversed(sriov.virtual_addresses), (2, 1), strict=True
    ):
        assert network.add(pod, **given(address)) == {
            "cniVersion": "1.0.0",
            "interfaces": [{"name": "net1", "mac": mac, "sandbox": pod.netns}],
            "ips": [{"address": f"10.31.0.{number}0/24", "interface": 0}],
        }
        assert pod.links()["net1"]["address"] == mac
        assert pod.addresses() == {"net1": [f"10.31.0.{number}0/24"]}
    assert not set(sriov.virtual_nics) & set(links())
    pods[0].ping("net1", "10.31.0.10")
    for pod in pods:
        network.check(pod)
        network.delete(pod)
        assert pod.links() == {}
    assert [links()[nic]["address"] for nic in sriov.virtual_nics] == macs
    assert network.state() == set()


def test_several_functions_for_one_pod(
    make_network: Callable[..., Network], sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    """What the runtime gave is the choice, if the conf names no NIC."""
    pod = make_pod("pod")
    network = make_network(plugin=HOST_DEVICE, ipam={}, deviceIDs=list(sriov.virtual_addresses))
    macs = [links()[nic]["address"] for nic in sriov.virtual_nics]
    network.add(pod)
    assert [pod.links()[name]["address"] for name in ("net1", "net1-1")] == macs
    assert len(pod.links()) == 2
    network.delete(pod)
    assert set(sriov.virtual_nics) <= set(links())


def test_function_that_another_pod_has(
    network: Network, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    owner, late = make_pod("owner", "uid-of-owner"), make_pod("late", "uid-of-late")
    address = sriov.virtual_addresses[0]
    network.add(owner, **given(address))
    before = network.state()
    message = network.call("ADD", late, **given(address)).error()
    assert address in message
    assert "training/owner" in message
    assert late.links() == {}
    assert network.state() == before
    network.check(owner)
    network.delete(owner)
    network.add(late, **given(address))
    network.delete(late)
    assert network.state() == set()


def test_function_that_somebody_else_moved(
    network: Network, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    thief, pod = make_pod("thief"), make_pod("pod")
    execute("ip", "link", "set", sriov.virtual_nics[1], "netns", thief.name)
    message = network.call("ADD", pod, **given(sriov.virtual_addresses[1])).error()
    assert sriov.virtual_addresses[1] in message
    assert "another netns" in message
    assert network.state() == set()
    thief.ip(f"link set {sriov.virtual_nics[1]} netns 1")


@pytest.fixture
def passed_through(sriov: Sriov) -> Iterator[str]:
    """Keep the second virtual function for a virtual machine (vfio-pci would need an IOMMU)."""
    execute("modprobe", "pci-stub")
    address = sriov.virtual_addresses[1]
    rebind(address, "pci-stub")
    yield address
    rebind(address, "igbvf")
    (FUNCTIONS / address / "driver_override").write_text("\n")


def rebind(address: str, driver: str) -> None:
    (FUNCTIONS / address / "driver/unbind").write_text(address)
    (FUNCTIONS / address / "driver_override").write_text(driver)
    Path("/sys/bus/pci/drivers_probe").write_text(address)
    assert (FUNCTIONS / address / "driver").resolve().name == driver


def test_function_without_a_nic(
    network: Network, passed_through: str, make_pod: Callable[..., Pod]
) -> None:
    pod = make_pod("pod")
    message = network.call("ADD", pod, **given(passed_through)).error()
    assert passed_through in message
    assert "pci-stub" in message
    assert network.state() == set()


def test_function_that_is_not_there(network: Network, make_pod: Callable[..., Pod]) -> None:
    pod = make_pod("pod")
    message = network.call("ADD", pod, **given("0000:fe:00.7")).error()
    assert "0000:fe:00.7" in message
    assert "no such device" in message
    assert network.state() == set()


def test_physical_function_is_not_allowed(
    network: Network, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    pod = make_pod("pod")
    message = network.call("ADD", pod, **given(sriov.address)).error()
    assert sriov.nic in message
    assert f"allowed here: {', '.join(sriov.virtual_nics)}" in message
    assert sriov.nic in links()
    assert network.state() == set()


def test_device_that_is_no_nic_gives_none(
    network: Network, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    """A display: whoever gives it to the pod does not mean a NIC of it."""
    pod = make_pod("pod")
    display = next(
        each.name for each in FUNCTIONS.iterdir() if (each / "class").read_text() == "0x038000\n"
    )
    message = network.call("ADD", pod, **given(display)).error()
    assert display in message
    assert set(sriov.virtual_nics) <= set(links())
    assert network.state() == set()


def test_result_has_the_pci_address(
    network: Network, sriov: Sriov, make_pod: Callable[..., Pod]
) -> None:
    """From cniVersion 1.1.0 on."""
    pod = make_pod("pod")
    address = sriov.virtual_addresses[0]
    result = network.add(pod, cniVersion="1.1.0", **given(address))
    assert [each["pciID"] for each in result["interfaces"]] == [address]
    network.call("DEL", pod, cniVersion="1.1.0").result()
    assert network.state() == set()


CLASSES = {
    "physical": [{"vendor": "8086", "products": ["10c9"]}],
    "virtual": [{"driver": "igbvf"}],
    "intel": [{"vendor": "8086"}],
    "gigabit": [{"minSpeed": "1Gbps"}],
    "virtio": [{"driver": "virtio-pci", "vendor": "1af4"}],
    "either": [{"driver": "igbvf"}, {"driver": "igb"}],
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("physical", [0]),
        ("virtual", [1, 2]),
        ("intel", [0, 1, 2]),
        ("either", [0, 1, 2]),
        ("virtio", []),
    ],
)
def test_class_by_what_the_device_is(
    *,
    name: str,
    expected: list[int],
    sriov: Sriov,
    make_pod: Callable[..., Pod],
    make_network: Callable[..., Network],
) -> None:
    wait_for_carrier(sriov.virtual_nics)  # host-device leaves them down
    pod = make_pod("pod")
    policy = {"strategy": "devClass", "class": name, "classes": CLASSES}
    network = make_network(plugin=MACVLAN, masters=["eth*"], attachPolicy=policy)
    network.add(pod)
    assert nics_below(pod) == ([sriov.nics[index] for index in expected] or NICS)
    network.delete(pod)


def test_class_by_speed(
    sriov: Sriov,
    node_file: Callable[..., None],
    make_pod: Callable[..., Pod],
    make_network: Callable[..., Network],
) -> None:
    """A virtio NIC tells no speed; node.json may."""
    pod = make_pod("pod")
    node_file(speeds={"eth2": "25Gbps", "eth3": "100Mbps"})
    policy = {"strategy": "devClass", "class": "gigabit", "classes": CLASSES}
    masters = ["eth2", "eth3", "eth4", sriov.nic]
    network = make_network(plugin=MACVLAN, masters=masters, attachPolicy=policy)
    network.add(pod)
    assert nics_below(pod) == ["eth2", sriov.nic]
    network.delete(pod)
