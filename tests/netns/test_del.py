"""DEL, whatever has become of the pod, the node and the net conf since ADD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import SHARED_SUBNET, ranges
from tests.pytest_netns import execute, rail_net, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Namespace, Namespaces, Node, Runtime

NAMES = {"net1", "net1-1", "net1-2", "net1-3"}


@pytest.fixture
def added(runtime: Runtime, pod: Namespace) -> Attachment:
    """Return an attachment of four NICs that is there."""
    attachment = runtime.attachment(pod, runtime.conf(**SHARED_SUBNET))
    attachment.add()
    assert pod.links().keys() == NAMES
    return attachment


@pytest.fixture
def neighbour(runtime: Runtime, other_pod: Namespace) -> Attachment:
    """Return an attachment of another pod to the same network, under the same name."""
    attachment = runtime.attachment(other_pod, runtime.conf(**SHARED_SUBNET))
    attachment.add()
    return attachment


def held_by(attachment: Attachment, state: State) -> set[str]:
    owner = f"c-{attachment.pod.name} net1"
    return {address for address, holder in state.addresses().items() if holder == owner}


def test_del_twice(added: Attachment, neighbour: Attachment, state: State) -> None:
    added.delete().succeeded()
    assert added.pod.links() == {}
    after = state.files()

    added.delete().succeeded()

    assert state.files() == after
    assert held_by(added, state) == set()
    neighbour.check().succeeded()


def test_empty_netns_removes_the_links_of_a_pod_that_lives(
    added: Attachment, neighbour: Attachment, state: State
) -> None:
    """An empty CNI_NETNS says nothing of the pod; the record knows where it is."""
    added.delete(CNI_NETNS="").succeeded()

    assert added.pod.links() == {}
    assert held_by(added, state) == set()
    neighbour.check().succeeded()


@pytest.mark.parametrize("netns", ["", "/run/netns/mn-never-was", None])
def test_unset_netns_and_pod_gone(
    added: Attachment, neighbour: Attachment, state: State, netns: str | None
) -> None:
    execute("ip", "netns", "delete", added.pod.name)

    added.delete(CNI_NETNS=netns).succeeded()

    assert held_by(added, state) == set()
    assert state.records().keys() == {f"c-{neighbour.pod.name}:net1"}
    neighbour.check().succeeded()


def test_vanished_netns(added: Attachment, neighbour: Attachment, state: State) -> None:
    execute("ip", "netns", "delete", added.pod.name)

    added.delete().succeeded()

    assert held_by(added, state) == set()
    assert state.records().keys() == {f"c-{neighbour.pod.name}:net1"}


def test_netns_that_is_another_pods_now(added: Attachment, state: State, node: Node) -> None:
    """The path was taken by a new pod that has an interface of the same name."""
    pod = added.pod
    execute("ip", "netns", "delete", pod.name)
    execute("ip", "netns", "add", pod.name)
    for name in sorted(NAMES):
        node.ip(f"link add {name} netns {pod.name} link rail1 type macvlan mode bridge")
        pod.ip(f"address add 10.1.0.77/24 dev {name}", f"link set {name} up")
    before = pod.facts()

    added.delete().succeeded()

    assert pod.facts() == before
    assert state.left() == []


def test_netns_path_of_the_neighbour(
    added: Attachment, neighbour: Attachment, state: State
) -> None:
    """A runtime that mixes up two pods: neither DEL touches the other's interfaces."""
    before = neighbour.pod.facts()

    added.delete(CNI_NETNS=neighbour.pod.path).succeeded()

    assert neighbour.pod.facts() == before
    assert added.pod.links() == {}
    assert held_by(added, state) == set()
    neighbour.check().succeeded()


def test_own_netns_of_the_node(added: Attachment, node: Node, state: State) -> None:
    before = node.facts()

    added.delete(CNI_NETNS=node.path).succeeded()

    assert node.facts() == before
    assert added.pod.links() == {}
    assert state.left() == []


def test_without_prev_result(added: Attachment, state: State) -> None:
    added.call("DEL").succeeded()

    assert added.pod.links() == {}
    assert state.left() == []


@pytest.mark.parametrize(
    "change",
    [
        {"plugin": None},
        {"plugin": 7, "masterNets": "10.1.0.0/24", "ipam": [], "timeout": "soon", "args": 1},
        {"cniVersion": "9.9.9"},
        {"cniVersion": None},
        {"subnet": "not a network", "hosts": {"a": -1}, "unknown": {}, "logFile": 3},
        {"attachPolicy": {"strategy": "best"}, "interfaceNames": "long", "prevResult": "none"},
    ],
    ids=["no plugin", "wrong types", "future version", "no version", "wrong values", "words"],
)
def test_conf_that_is_no_longer_valid(
    added: Attachment, state: State, change: dict[str, Any]
) -> None:
    broken = added.runtime.conf(**SHARED_SUBNET | change)

    added.call("DEL", broken).succeeded()

    assert added.pod.links() == {}
    assert state.left() == []


@pytest.mark.parametrize(
    "change",
    [
        {"plugin": {"type": "host-device"}},
        {"plugin": [{"type": "bridge"}, {"type": "does-not-exist"}]},
        {"masterNets": [rail_net(4)], "masters": ["eth*"]},
        {"interfaceNames": "indexed"},
        {"subnet": "172.31.0.0/16", "hosts": {}},
        {"ipam": {"type": "host-local", "subnet": "10.9.0.0/24"}},
        {"attachPolicy": {"nics": 1, "minNics": 1}},
    ],
    ids=["delegate", "chain", "masters", "names", "subnet", "ipam", "policy"],
)
def test_conf_that_has_changed(added: Attachment, state: State, change: dict[str, Any]) -> None:
    """What was done is undone, not what the conf says now."""
    edited = added.runtime.conf(**SHARED_SUBNET | change)

    added.call("DEL", edited).succeeded()

    assert added.pod.links() == {}
    assert state.left() == []


def test_nic_that_has_vanished(added: Attachment, node: Node, state: State) -> None:
    """Its macvlan went with it; the other three are there and are removed."""
    node.ip("link delete rail2")
    wait_until(lambda: "net1-1" not in added.pod.links(), "the macvlan goes with its NIC")

    added.delete().succeeded()

    assert added.pod.links() == {}
    assert state.left() == []


def test_nic_that_was_renamed(added: Attachment, node: Node, state: State) -> None:
    node.ip("link set rail3 down", "link set rail3 name card3", "link set card3 up")

    added.delete().succeeded()

    assert added.pod.links() == {}
    assert state.left() == []


def test_interface_that_the_pod_itself_removed(added: Attachment, state: State) -> None:
    added.pod.ip("link delete net1-2")

    added.delete().succeeded()

    assert added.pod.links() == {}
    assert state.left() == []


def test_delegates_gone_from_cni_path(added: Attachment, state: State, tmp_path: Path) -> None:
    """The record knows the folders that ADD found them in."""
    added.runtime = added.runtime.but(path=str(tmp_path))

    added.delete().succeeded()

    assert added.pod.links() == {}
    assert state.left() == []


@pytest.mark.parametrize("with_folder", [False, True], ids=["no state at all", "others' state"])
def test_container_that_never_was(
    runtime: Runtime, pod: Namespace, other_pod: Namespace, state: State, with_folder: bool
) -> None:
    """DEL succeeds and leaves nothing on disk, not even a folder."""
    conf = runtime.conf(**SHARED_SUBNET)
    if with_folder:
        runtime.attachment(other_pod, conf).add()
    before = sorted(state.root.rglob("*"))

    runtime.attachment(pod, conf).delete().succeeded()
    runtime.attachment(pod, conf, ifname="net7").delete(CNI_NETNS="").succeeded()
    runtime.attachment(pod, runtime.conf(name="another")).delete().succeeded()

    assert sorted(state.root.rglob("*")) == before
    assert state.root.exists() == with_folder


def test_two_networks_of_one_pod_are_told_apart(
    runtime: Runtime, pod: Namespace, state: State
) -> None:
    """Same container, other names of network and interface: one goes, the other stays."""
    first = runtime.attachment(pod, runtime.conf(name="one", **ranges(1, 2)))
    second = runtime.attachment(pod, runtime.conf(name="two", **ranges(1, 2)), ifname="net2")
    first.add()
    second.add()

    first.delete().succeeded()

    assert pod.links().keys() == {"net2", "net2-1"}
    second.check().succeeded()
    second.delete().succeeded()
    assert state.left() == []


def test_host_device_nic_comes_back_without_netns(
    runtime: Runtime, node: Node, pod: Namespace, state: State
) -> None:
    """With an empty CNI_NETNS host-device alone would leave the NIC in the pod."""
    attachment = runtime.attachment(pod, runtime.conf(plugin={"type": "host-device"}, **ranges(2)))
    attachment.add()

    attachment.delete(CNI_NETNS="").succeeded()

    assert pod.links() == {}
    assert "rail2" in node.links()
    assert state.left() == []


def test_ipam_of_another_type_is_released_without_a_netns(
    runtime: Runtime, namespaces: Namespaces, tmp_path: Path, state: State
) -> None:
    """host-device returns before its IPAM when the netns is gone: the address must not leak."""
    pod = namespaces.make("pod")
    held = tmp_path / "host-local"
    conf = runtime.conf(
        plugin={"type": "host-device"},
        masters=["rail3"],
        ipam={"type": "host-local", "dataDir": str(held), "subnet": "10.8.0.0/24"},
    )
    attachment = runtime.attachment(pod, conf)
    attachment.add()
    assert [file.name for file in held.glob("rails/10.*")] == ["10.8.0.2"]
    execute("ip", "netns", "delete", pod.name)

    attachment.delete(CNI_NETNS="").succeeded()

    assert [file.name for file in held.glob("rails/10.*")] == []
    assert state.left() == []
