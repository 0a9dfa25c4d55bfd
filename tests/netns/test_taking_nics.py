"""Delegates that move the NIC itself: pods that come and go at once take no NIC from each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Document, Namespace, Namespaces, Node, Runtime

NO_NICS = 100
RAILS = ["rail1", "rail2", "rail3", "rail4"]
ROUNDS = 6


@pytest.fixture
def slow(runtime: Runtime, delegates: Delegates) -> Runtime:
    """Return the runtime of a node where a NIC's move takes its time."""
    delegates.write("host-device", "sleep 0.2; real")
    return delegates.used_by(runtime)


def conf_of(runtime: Runtime, **words: object) -> Document:
    words = {"masters": ["rail*"], "attachPolicy": {"nics": 1}, **words}
    return runtime.conf(plugin={"type": "host-device"}, **words)


def nic_of(attachment: Attachment, state: State) -> str:
    (nic,) = state.records()[f"c-{attachment.pod.name}:net1"]["nics"]
    return str(nic["nic"])


def test_pods_at_once_get_a_nic_each(
    slow: Runtime, namespaces: Namespaces, node: Node, state: State
) -> None:
    conf = conf_of(slow)
    attachments = [slow.attachment(namespaces.make("pod"), conf) for _ in RAILS]

    with ThreadPoolExecutor(len(RAILS)) as pool:
        list(pool.map(lambda attachment: attachment.add(), attachments))

    assert sorted(nic_of(each, state) for each in attachments) == RAILS
    assert [list(each.pod.links()) for each in attachments] == [["net1"]] * len(RAILS)
    assert node.links() == {}


def test_pods_that_come_and_go_at_once(
    runtime: Runtime, namespaces: Namespaces, node: Node, state: State
) -> None:
    """Each has one NIC at most, so there is always one for it."""
    conf = conf_of(runtime)
    attachments = [runtime.attachment(namespaces.make("pod"), conf) for _ in RAILS]

    def come_and_go(attachment: Attachment) -> list[int]:
        return [attachment.call(verb).status for _ in range(ROUNDS) for verb in ("ADD", "DEL")]

    with ThreadPoolExecutor(len(RAILS)) as pool:
        answers = list(pool.map(come_and_go, attachments))

    assert answers == [[0] * 2 * ROUNDS] * len(RAILS)
    assert sorted(node.links()) == RAILS
    assert state.left() == []


def test_fewer_nics_than_pods(slow: Runtime, namespaces: Namespaces, state: State) -> None:
    """Those without one hear who has it, and no delegate has run for them."""
    conf = conf_of(slow, masters=["rail1"])
    attachments = [slow.attachment(namespaces.make("pod"), conf) for _ in RAILS]

    with ThreadPoolExecutor(len(RAILS)) as pool:
        answers = list(pool.map(lambda attachment: attachment.call("ADD"), attachments))

    (winner,) = (
        each for each, answer in zip(attachments, answers, strict=True) if not answer.status
    )
    pod = f"pod c-{winner.pod.name} of network rails"
    for answer in (each for each in answers if each.status):
        message = answer.error(NO_NICS)
        assert f"{pod} is taking it" in message or f"{pod} has rail1" in message
    assert len(state.records()) == 1


def test_nic_by_name_that_a_pod_has(
    runtime: Runtime, pod: Namespace, other_pod: Namespace, state: State
) -> None:
    conf = conf_of(runtime, masters=["rail1"])
    args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=team;K8S_POD_NAME=a"
    runtime.attachment(pod, conf | {"name": "first"}, cni_args=args).add()

    message = runtime.attachment(other_pod, conf).call("ADD").error(NO_NICS)

    assert "rail1: no NIC has this name" in message
    assert message.endswith("; pod team/a of network first has rail1")
    assert len(state.records()) == 1
