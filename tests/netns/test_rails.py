"""Rails: one conf for nodes whose NICs have other names, slots or subnets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import masters_of
from tests.pytest_netns import on_rail, rail_net

if TYPE_CHECKING:
    from tests.netns.mounts import Mounts
    from tests.pytest_netns import Document, Namespace, Namespaces, Node, Runtime

BAD_CONF, NO_NICS = 7, 100
# Rail k, counted from 0, gets block k of four: 192.168.(64 k).0/18; the node is host 5.
BY_RAIL: dict[str, Any] = {
    "interfaceNames": "rail",
    "subnet": "192.168.0.0/16",
    "ipam": {"type": "multi-nic-ipam", "interfaceBlock": 2, "hostBlock": 6},
}


@pytest.fixture
def numbered(runtime: Runtime, mounts: Mounts) -> Runtime:
    """Return the runtime of a node whose file says that it is host 5."""
    mounts.mount_tmpfs("/etc/cni")
    mounts.seen("/etc/cni/multinic").mkdir()
    write_node_file(mounts)
    return runtime.but(wrapper=mounts.wrapper)


def write_node_file(mounts: Mounts, **keys: object) -> None:
    text = json.dumps({"hostIndex": 5, **keys})
    mounts.seen("/etc/cni/multinic/node.json").write_text(text)


def given(pod: Namespace) -> dict[str, list[str]]:
    return pod.addresses()


def test_one_conf_for_nodes_with_other_names(
    namespaces: Namespaces, numbered: Runtime, node: Node, pod: Namespace, other_pod: Namespace
) -> None:
    other = namespaces.make_node(node.wire, 4, host=2)
    for rail, name in enumerate(("ens9", "enp3s0", "eth7", "a1"), start=1):
        other.ip(
            f"link set rail{rail} down", f"link set rail{rail} name {name}", f"link set {name} up"
        )
    conf = numbered.conf(
        rails=[["rail1", "ens9"], ["rail2", "enp3s0"], [rail_net(3)], ["a1", "rail4"]], **BY_RAIL
    )
    there = numbered.but(node=other, data_dir=numbered.data_dir / "there")

    numbered.attachment(pod, conf).add()
    there.attachment(other_pod, conf | {"dataDir": str(there.data_dir)}).add()

    expected = {
        "net1": ["192.168.5.1/18"],
        "net1-1": ["192.168.69.1/18"],
        "net1-2": ["192.168.133.1/18"],
        "net1-3": ["192.168.197.1/18"],
    }
    assert given(pod) == expected
    assert given(other_pod) == expected
    assert masters_of(pod, node) == ["rail1", "rail2", "rail3", "rail4"]
    assert masters_of(other_pod, other) == ["ens9", "enp3s0", "eth7", "a1"]


def test_missing_rail_leaves_a_hole(numbered: Runtime, node: Node, pod: Namespace) -> None:
    node.ip("link set rail4 down")
    conf = numbered.conf(rails=["rail1", "absent", ["absent too", "rail3"][1:], "rail4"], **BY_RAIL)

    result = numbered.attachment(pod, conf).add()

    assert given(pod) == {"net1": ["192.168.5.1/18"], "net1-2": ["192.168.133.1/18"]}
    assert [each["name"] for each in result["interfaces"]] == ["net1", "net1-2"]


def test_node_file_names_the_rails(
    numbered: Runtime, node: Node, pod: Namespace, mounts: Mounts
) -> None:
    write_node_file(mounts, rails=["rail3", [rail_net(1)]])

    numbered.attachment(pod, numbered.conf(rails=4, **BY_RAIL)).add()

    assert given(pod) == {"net1": ["192.168.5.1/18"], "net1-1": ["192.168.69.1/18"]}
    assert masters_of(pod, node) == ["rail3", "rail1"]


@pytest.mark.parametrize(
    ("node_file", "message"),
    [
        ({}, "leaves it to node.json to name 2 rails, and it names none"),
        ({"rails": ["rail1", "rail2", "rail3"]}, "node.json names 3 rails, the net conf has 2"),
        ({"rails": ["rail*"]}, "rail 0 is not certain: rail* fits the NICs rail1, rail2"),
        ({"rails": ["rail1", "10.1.0.0/16"]}, "NIC rail1 would be rail 0 and rail 1"),
        ({"rails": ["eth7"]}, "rail 0: this node has no eth7"),
        ({"railPciAddresses": [["0000:3b:00.0"]]}, "rail 0: this node has no 0000:3b:00.0"),
    ],
    ids=["none", "too many", "several NICs", "twice", "absent", "absent function"],
)
def test_rails_that_are_not_certain(
    numbered: Runtime, pod: Namespace, mounts: Mounts, node_file: Document, message: str
) -> None:
    write_node_file(mounts, **node_file)
    answer = numbered.attachment(pod, numbered.conf(rails=2, **BY_RAIL)).call("ADD")
    assert message in answer.error(NO_NICS)
    assert pod.links() == {}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"rails": ["rail1"], "masters": ["rail2"]}, "rails: stands beside masters"),
        ({"rails": ["rail1", "rail1"]}, "rails[1]: rail1 is an alternative of rail 0 already"),
        ({"rails": ["rail1", ["3b:00.0"]]}, "rails[1][0]: '3b:00.0' is no PCI address"),
        ({"rails": [on_rail(1, 0) + "/33"]}, "rails[0]: "),
        ({"rails": 1, "railPciAddresses": [["0000:3b:00.0"]]}, "keep one of them"),
        ({"rails": 5}, "ipam.interfaceBlock: 2 bits number 4 interfaces"),
    ],
    ids=["masters too", "one NIC twice", "short address", "no subnet", "both words", "no room"],
)
def test_confs_that_cannot_be(
    numbered: Runtime, pod: Namespace, keys: Document, message: str
) -> None:
    answer = numbered.attachment(pod, numbered.conf(**BY_RAIL | keys)).call("ADD")
    assert message in answer.error(BAD_CONF)


def test_pod_takes_fewer_rails_and_keeps_their_numbers(
    numbered: Runtime, node: Node, pod: Namespace
) -> None:
    args = {"cni": {"masters": ["rail2", "rail4"]}}
    conf = numbered.conf(rails=["rail1", "rail2", "rail3", "rail4"], args=args, **BY_RAIL)

    numbered.attachment(pod, conf).add()

    assert given(pod) == {"net1-1": ["192.168.69.1/18"], "net1-3": ["192.168.197.1/18"]}
    assert masters_of(pod, node) == ["rail2", "rail4"]


def test_ranges_go_by_rail(runtime: Runtime, pod: Namespace) -> None:
    of_rail = {"rail0": "172.20.0.0/24", "rail1": "172.21.0.0/24"}
    ipam = {
        "type": "multi-nic-ipam",
        "ranges": {rail: [{"subnet": subnet}] for rail, subnet in of_rail.items()},
    }
    conf = runtime.conf(rails=[[rail_net(2)], ["rail4"]], ipam=ipam)

    runtime.attachment(pod, conf).add()

    assert given(pod) == {"net1": ["172.20.0.1/24"], "net1-1": ["172.21.0.1/24"]}
