"""NICs by where they are plugged in: near a pod's GPUs, or in the slots of a fabric's rails.

The tree of the machine stands in scripts/vm.sh.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from multinic_selectors.locations import FAR, SAME_NUMA_NODE, SAME_ROOT, SAME_SWITCH
from multinic_selectors.sysfs import Sysfs
from tests.closeness import closeness
from tests.vm.guest.node import MACVLAN, NICS, links, nics_below
from tests.vm.guest.pci import address_of, functions, gpu

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.vm.guest.node import Document, Network, Pod

# Which NICs are how near to the GPU of each NUMA node.
NEAR = {
    0: {"eth5": "switch", "eth6": "switch", "eth7": "root", "eth0": "NUMA node"},
    1: {"eth1": "root", "eth2": "root", "eth3": "root", "eth4": "root"},
}
LEAST = {"switch": SAME_SWITCH, "root": SAME_ROOT, "NUMA node": SAME_NUMA_NODE, "": FAR}
TRAINER, OTHER = "5a1c0f4e-trainer", "5a1c0f4e-other"


def test_machine_is_as_described() -> None:
    """Each NIC's MAC has its number, and lspci its NUMA node."""
    known = functions()
    for number, nic in enumerate(NICS):
        assert links()[nic]["address"] == f"52:54:00:00:00:0{number}"
        assert {known[address_of(nic)].numa} == {node for node, near in NEAR.items() if nic in near}


@pytest.mark.parametrize("node", [0, 1])
def test_closeness(node: int) -> None:
    sysfs = Sysfs()
    device = sysfs.location(gpu(node))
    for nic in NICS:
        level = LEAST[NEAR[node].get(nic, "")]
        found = closeness(device, sysfs.location(sysfs.pci_address(nic)))
        assert found >= level if level == SAME_SWITCH else found == level, nic


@pytest.fixture
def give(node_file: Callable[..., None], tmp_path: Path) -> Callable[[dict[str, list[str]]], None]:
    """Let the kubelet note devices for pods."""
    checkpoint = tmp_path / "kubelet_internal_checkpoint"
    node_file(paths={"kubeletCheckpoint": str(checkpoint)})

    def give(devices_by_pod: dict[str, list[str]]) -> None:
        entries = [
            {
                "PodUID": uid,
                "ContainerName": "main",
                "ResourceName": "example.com/gpu",
                "DeviceIDs": {"-1": devices},
                "AllocResp": "",
            }
            for uid, devices in devices_by_pod.items()
        ]
        data = {"PodDeviceEntries": entries, "RegisteredDevices": {"example.com/gpu": []}}
        checkpoint.write_text(json.dumps({"Data": data, "Checksum": 1}))

    return give


def near(**policy: object) -> Document:
    return {
        "plugin": MACVLAN,
        "masters": ["eth*"],
        "attachPolicy": {"strategy": "topology", **policy},
    }


@pytest.mark.parametrize(
    ("nodes", "count", "expected"),
    [
        pytest.param([0], 1, ["eth5"], id="the switch"),
        pytest.param([0], 2, ["eth5", "eth6"], id="all of the switch"),
        pytest.param([0], 3, ["eth5", "eth6", "eth7"], id="the root complex, too"),
        pytest.param([0], 4, ["eth0", "eth5", "eth6", "eth7"], id="the NUMA node, too"),
        pytest.param([0], 5, ["eth0", "eth1", "eth5", "eth6", "eth7"], id="a far one, too"),
        pytest.param([1], 1, ["eth1"], id="the other root complex"),
        pytest.param([0, 1], 2, ["eth1", "eth5"], id="one for each GPU"),
        pytest.param([], 2, ["eth0", "eth1"], id="no GPU"),
    ],
)
def test_nics_near_the_pods_gpus(
    *,
    nodes: list[int],
    count: int,
    expected: list[str],
    give: Callable[[dict[str, list[str]]], None],
    make_pod: Callable[..., Pod],
    make_network: Callable[..., Network],
) -> None:
    pod = make_pod("pod", TRAINER)
    give({TRAINER: [gpu(node) for node in nodes], OTHER: [gpu(1)]})
    network = make_network(**near(nics=count))
    network.add(pod)
    assert nics_below(pod) == expected
    network.delete(pod)


def test_pods_share_the_nics_of_a_switch(
    give: Callable[[dict[str, list[str]]], None],
    make_pod: Callable[..., Pod],
    make_network: Callable[..., Network],
) -> None:
    """Of the nearest, the one with fewest attachments; never a farther one."""
    pods = [make_pod(f"pod-{number}", f"{TRAINER}-{number}") for number in range(4)]
    give({pod.uid: [gpu(0)] for pod in pods})
    network = make_network(**near(nics=1))
    for pod in pods[:3]:
        network.add(pod)
    network.delete(pods[1])
    network.add(pods[3])
    assert [nics_below(pods[number]) for number in (0, 2, 3)] == [["eth5"], ["eth5"], ["eth6"]]
    for number in (0, 2, 3):
        network.delete(pods[number])


def test_rails_by_pci_address(
    make_pod: Callable[..., Pod], make_network: Callable[..., Network]
) -> None:
    """Rail 2 is missing on this node: its number is nobody's."""
    pod = make_pod("pod")
    network = make_network(
        plugin=MACVLAN,
        railPciAddresses=[
            [address_of("eth6")],
            ["0000:fe:00.0", address_of("eth0")],
            ["0000:fe:01.0"],
            [address_of("eth3").upper()],
        ],
        interfaceNames="rail",
    )
    network.add(pod)
    node = links()
    assert {name: link["link_index"] for name, link in pod.links().items()} == {
        "net1": node["eth6"]["ifindex"],
        "net1-1": node["eth0"]["ifindex"],
        "net1-3": node["eth3"]["ifindex"],
    }
    network.delete(pod)


def test_rails_of_the_nodes_own_file(
    node_file: Callable[..., None],
    make_pod: Callable[..., Pod],
    make_network: Callable[..., Network],
) -> None:
    pod = make_pod("pod")
    node_file(railPciAddresses=[[address_of("eth4")], [address_of("eth7")]])
    network = make_network(plugin=MACVLAN, rails=2)
    network.add(pod)
    assert nics_below(pod) == ["eth4", "eth7"]
    network.delete(pod)
