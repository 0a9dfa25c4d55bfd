"""A second ADD without a DEL between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import ranges
from tests.pytest_netns import execute

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Namespaces, Node, Runtime

ALREADY_ATTACHED, NAME_TAKEN = 103, 102


def test_of_a_living_attachment_is_an_error(runtime: Runtime, pod: Namespace, state: State) -> None:
    attachment = runtime.attachment(pod, runtime.conf(**ranges(1, 2)))
    attachment.add()
    pod_before, state_before = pod.facts(), state.files()

    message = attachment.call("ADD").error(ALREADY_ATTACHED)

    assert f"c-{pod.name} net1 is attached to network rails already" in message
    assert pod.facts() == pod_before
    assert state.files() == state_before
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert state.left() == []


def test_of_a_living_attachment_under_another_netns_path(
    runtime: Runtime, pod: Namespace, other_pod: Namespace, state: State
) -> None:
    """The first pod lives: its attachment stays, whatever netns the second ADD names."""
    attachment = runtime.attachment(pod, runtime.conf(**ranges(1)))
    attachment.add()
    state_before = state.files()

    attachment.call("ADD", CNI_NETNS=other_pod.path).error(ALREADY_ATTACHED)

    assert other_pod.links() == {}
    assert state.files() == state_before
    attachment.check().succeeded()


def test_while_a_process_holds_the_netns_whose_path_is_gone(
    runtime: Runtime, namespaces: Namespaces, pod: Namespace, state: State
) -> None:
    """Unmounting the path does not end a pod in which a process runs."""
    attachment = runtime.attachment(pod, runtime.conf(**ranges(1)))
    attachment.add()
    state_before = state.files()
    with namespaces.process_in(pod):
        execute("ip", "netns", "delete", pod.name)
        successor = namespaces.make("pod")

        attachment.call("ADD", CNI_NETNS=successor.path).error(ALREADY_ATTACHED)

    assert successor.links() == {}
    assert state.files() == state_before


@pytest.mark.parametrize("same_path", [True, False])
def test_after_the_netns_has_died_clears_what_is_left(
    runtime: Runtime, namespaces: Namespaces, node: Node, state: State, same_path: bool
) -> None:
    pod = namespaces.make("pod")
    attachment = runtime.attachment(pod, runtime.conf(**ranges(1, 2)))
    attachment.add()
    execute("ip", "netns", "delete", pod.name)
    successor = pod if same_path else namespaces.make("pod")
    if same_path:
        execute("ip", "netns", "add", pod.name)

    result = attachment.call("ADD", CNI_NETNS=successor.path).result()

    # Next-fit: .100 of the dead pod rests.
    assert [ip["address"] for ip in result["ips"]] == ["10.1.0.101/24", "10.2.0.101/24"]
    owner = f"c-{pod.name} net1"
    assert state.addresses() == {"10.1.0.101": owner, "10.2.0.101": owner}
    assert successor.links().keys() == {"net1", "net1-1"}
    attachment.delete(CNI_NETNS=successor.path).succeeded()
    assert successor.links() == {}
    assert state.left() == []
    assert node.links().keys() == {"rail1", "rail2", "rail3", "rail4"}


def test_under_a_name_that_another_attachment_has(
    runtime: Runtime, pod: Namespace, state: State
) -> None:
    """Two networks, one CNI_IFNAME: the second is refused, the first keeps its interfaces."""
    first = runtime.attachment(pod, runtime.conf(name="one", **ranges(1, 2)))
    first.add()
    before = pod.facts()

    second = runtime.attachment(pod, runtime.conf(name="two", **ranges(1, 2)))
    message = second.call("ADD").error(NAME_TAKEN)
    second.delete().succeeded()

    assert "net1, net1-1" in message
    assert pod.facts() == before
    first.check().succeeded()
    first.delete().succeeded()
    assert state.left() == []
