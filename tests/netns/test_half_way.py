"""Delegates that are killed half-way: neither their links nor the node's NICs are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.netns.confs import ranges

if TYPE_CHECKING:
    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

TRY_AGAIN, DELEGATE_FAILED = 11, 104
HOST_DEVICE = {
    "cniVersion": "1.0.0",
    "plugin": {"type": "host-device"},
    "masters": ["rail1"],
    "ipam": {"type": "multi-nic-ipam", "ranges": {"rail1": [{"subnet": "172.26.1.0/24"}]}},
}
# What the real plugins have done when they are killed at the worst moment.
MACVLAN_HALF_WAY = """case "$CNI_COMMAND" in
ADD) ip link add veth0a1b2c3d link rail1 netns $(basename $CNI_NETNS) type macvlan; kill -9 $$ ;;
esac
real"""
NIC_MOVED_NOT_RENAMED = """case "$CNI_COMMAND" in
ADD) ip link set rail1 netns $(basename $CNI_NETNS); kill -9 $$ ;;
esac
real"""


def test_temporary_link_of_a_killed_delegate(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    delegates.write("macvlan", MACVLAN_HALF_WAY)
    conf = runtime.conf(**ranges(1) | {"cniVersion": "1.0.0"})

    message = delegates.used_by(runtime).attachment(pod, conf).call("ADD").error(DELEGATE_FAILED)

    assert "killed by signal 9" in message
    assert pod.links() == {}
    assert state.left() == []


def test_temporary_name_of_somebody_else(
    runtime: Runtime, node: Node, pod: Namespace, delegates: Delegates
) -> None:
    """A link on another NIC, or of another kind, is not this ADD's."""
    node.ip(f"link add veth00000001 link rail2 netns {pod.name} type macvlan")
    pod.ip("link add veth00000002 type veth peer name other")
    delegates.write("macvlan", MACVLAN_HALF_WAY)
    conf = runtime.conf(**ranges(1) | {"cniVersion": "1.0.0"})

    delegates.used_by(runtime).attachment(pod, conf).call("ADD").error(DELEGATE_FAILED)

    assert pod.links().keys() == {"veth00000001", "veth00000002", "other"}


def test_nic_that_was_moved_and_not_renamed(
    runtime: Runtime, node: Node, pod: Namespace, delegates: Delegates, state: State
) -> None:
    delegates.write("host-device", NIC_MOVED_NOT_RENAMED)
    mac = node.links()["rail1"]["address"]
    attachment = delegates.used_by(runtime).attachment(pod, runtime.conf(**HOST_DEVICE))

    attachment.call("ADD").error(DELEGATE_FAILED)

    assert pod.links() == {}
    assert node.links()["rail1"]["address"] == mac
    assert state.left() == []


def test_nic_after_a_del_that_did_half_its_work(
    runtime: Runtime, node: Node, pod: Namespace, state: State
) -> None:
    """Renamed back and not moved: host-device finds it no more, at any DEL."""
    attachment = runtime.attachment(pod, runtime.conf(**HOST_DEVICE))
    attachment.add()
    pod.ip("link set net1 down", "link set net1 name rail1")

    attachment.delete().succeeded()

    assert pod.links() == {}
    assert "rail1" in node.links()
    assert state.left() == []


def test_link_of_the_pods_own_making_is_no_nic(
    runtime: Runtime, node: Node, pod: Namespace, state: State
) -> None:
    """A pod may give any link the NIC's name and MAC: it neither goes out nor keeps the pod."""
    attachment = runtime.attachment(pod, runtime.conf(**HOST_DEVICE))
    mac = node.links()["rail1"]["address"]
    attachment.add()
    pod.ip("link add rail1 type bridge", f"link set rail1 address {mac}")

    attachment.delete().succeeded()

    assert pod.links().keys() == {"rail1"}
    assert node.links()["rail1"]["linkinfo"]["info_kind"] == "veth"
    assert state.left() == []


def test_nic_whose_name_is_taken_on_the_node(
    runtime: Runtime, node: Node, pod: Namespace, state: State
) -> None:
    """It stays in the pod, where it is not lost, until its name is free again."""
    attachment = runtime.attachment(pod, runtime.conf(**HOST_DEVICE))
    attachment.add()
    node.ip("link add rail1 type bridge")

    message = attachment.delete().error(TRY_AGAIN)

    assert "NIC rail1 is still in the pod as" in message
    assert "the node has another link of that name" in message
    assert node.links()["rail1"]["linkinfo"]["info_kind"] == "bridge"
    node.ip("link delete rail1")
    attachment.delete().succeeded()
    assert pod.links() == {}
    assert node.links()["rail1"]["linkinfo"]["info_kind"] == "veth"
    assert state.left() == []
