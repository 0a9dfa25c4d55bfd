"""Names that pods give to NICs and to other links: NICs come back under their own all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.handing import HOST_DEVICE, AsSeen, furnish, is_as_before, restoring

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

TRY_AGAIN, NAME_TAKEN = 11, 102


@pytest.fixture
def furnished(node: Node) -> Node:
    """Return a node whose rail1 has all that a NIC may have."""
    furnish(node)
    return node


def test_nic_that_was_renamed_in_the_pod(
    runtime: Runtime, furnished: Node, pod: Namespace, state: State
) -> None:
    before = AsSeen.on(furnished)
    attachment = restoring(runtime, pod)
    attachment.add()
    pod.ip("link set net1 down", "link set net1 name eth7", "link property add dev eth7 altname x")

    attachment.delete().succeeded()

    is_as_before(furnished, before)
    assert pod.links() == {}
    assert state.left() == []


def test_altname_of_the_pods_own(runtime: Runtime, node: Node, pod: Namespace) -> None:
    """With the name of a NIC that the node has it would keep this one in the pod for ever."""
    attachment = restoring(runtime, pod)
    attachment.add()
    pod.ip("link property add dev net1 altname rail2")

    attachment.delete().succeeded()

    assert "altnames" not in node.links()["rail1"]
    assert pod.links() == {}


def test_alias_of_the_pods_own(runtime: Runtime, node: Node, pod: Namespace, state: State) -> None:
    """host-device gives the NIC the name that stands there."""
    attachment = restoring(runtime, pod)
    attachment.add()
    pod.ip("link set net1 alias docker0")

    attachment.delete().succeeded()

    assert sorted(node.links()) == ["rail1", "rail2", "rail3", "rail4"]
    assert state.left() == []


def test_other_link_in_the_nics_place(
    runtime: Runtime, furnished: Node, pod: Namespace, state: State
) -> None:
    """host-device would put it on the node, under any name that the pod likes."""
    before = AsSeen.on(furnished)
    attachment = restoring(runtime, pod)
    attachment.add()
    pod.ip(
        "link set net1 down",
        "link set net1 name eth7",
        "link add net1 type bridge",
        "link set net1 alias docker0",
    )

    attachment.delete().succeeded()

    is_as_before(furnished, before)
    assert sorted(furnished.links()) == ["rail1", "rail2", "rail3", "rail4"]
    assert pod.links().keys() == {"net1"}
    assert state.left() == []


@pytest.mark.parametrize(
    ("in_pod", "words"),
    [
        (["link add rail1 type bridge"], "its name rail1 is that of rail1 there"),
        (
            ["link add br9 type bridge", "link property add dev br9 altname rail1"],
            "its name rail1 is that of br9 there",
        ),
        (["link add fabric1 type bridge"], "its name fabric1 is that of fabric1 there"),
    ],
)
def test_name_that_the_pod_has_already(
    *, runtime: Runtime, node: Node, pod: Namespace, state: State, in_pod: list[str], words: str
) -> None:
    node.ip("link property add dev rail1 altname fabric1")
    pod.ip(*in_pod)
    before, inside = node.facts(), pod.facts()

    message = restoring(runtime, pod).call("ADD").error(NAME_TAKEN)

    assert f"NIC rail1 cannot go into the pod: {words}" in message
    assert (node.facts(), pod.facts()) == (before, inside)
    assert state.left() == []


def test_inner_name_that_is_the_nics_altname(
    runtime: Runtime, node: Node, pod: Namespace, state: State
) -> None:
    node.ip("link property add dev rail1 altname net1")

    message = restoring(runtime, pod).call("ADD").error(NAME_TAKEN)

    assert "NIC rail1 cannot be called net1 in the pod: that is its altname" in message
    assert "rail1" in node.links()
    assert state.left() == []


def test_inner_name_that_is_another_nics_name(
    runtime: Runtime, node: Node, pod: Namespace, state: State
) -> None:
    """rail1 would be rail2 in the pod, where rail2 itself comes through at the same time."""
    conf = runtime.conf(**HOST_DEVICE | {"masters": ["rail1", "rail2"], "ipam": None})

    message = runtime.attachment(pod, conf, ifname="rail2").call("ADD").error(NAME_TAKEN)

    assert "NIC rail2 cannot go into the pod: its name rail2 is that of NIC rail1 there" in message
    assert {"rail1", "rail2"} <= node.links().keys()
    assert state.left() == []


def test_name_that_the_node_has_given_away(
    runtime: Runtime, furnished: Node, pod: Namespace, state: State
) -> None:
    before = AsSeen.on(furnished)
    attachment = restoring(runtime, pod)
    attachment.add()
    furnished.ip("link add rail1 type bridge")

    answer = attachment.delete()

    message = answer.error(TRY_AGAIN)
    assert "NIC rail1 is still in the pod as" in message
    assert "rename or delete that link (bridge, index" in answer.document["details"]
    furnished.ip("link delete rail1")
    attachment.delete().succeeded()
    is_as_before(furnished, before)
    assert state.left() == []
