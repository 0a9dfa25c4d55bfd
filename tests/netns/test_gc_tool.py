"""`multinic-cni gc`: pods that have gone without a DEL, with their delegates."""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import ranges
from tests.netns.tools import findings, tool

if TYPE_CHECKING:
    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Namespace, Namespaces, Runtime

BUSY = "a call is at work on it, or a delegate that such a call has left running"


@pytest.fixture
def noting(runtime: Runtime, delegates: Delegates) -> Runtime:
    """Return a runtime whose macvlan is the real one and notes its calls."""
    delegates.write("macvlan", "real")
    return delegates.used_by(runtime)


def added(runtime: Runtime, pod: Namespace) -> Attachment:
    attachment = runtime.attachment(pod, runtime.conf(**ranges(1, 2)))
    attachment.add()
    return attachment


def cleared(attachment: Attachment, host: int, error: str | None = None) -> dict[str, Any]:
    return {
        "network": "rails",
        "attachment": f"c-{attachment.pod.name}:net1",
        "pod": f"c-{attachment.pod.name}",
        "addresses": [f"10.1.0.{host}", f"10.2.0.{host}"],
        "error": error,
    }


NOTHING_ELSE: dict[str, Any] = {"addresses": [], "quarantine": [], "unfinished": [], "vlans": []}


def test_pod_that_has_gone(
    noting: Runtime, pod: Namespace, namespaces: Namespaces, delegates: Delegates, state: State
) -> None:
    """Its delegates get their DEL, found where they were at the ADD; the living pod has none."""
    live, gone = added(noting, pod), added(noting, namespaces.make("pod"))
    namespaces.remove(gone.pod)
    expected = {"attachments": [cleared(gone, 101)], **NOTHING_ELSE}
    before = state.files()

    preview = tool(noting, "gc", "--dry-run", "--json").document()

    assert preview == {"dryRun": True, **expected}
    assert state.files() == before
    assert delegates.calls("DEL") == []

    assert tool(noting, "gc", "--json").document() == {"dryRun": False, **expected}

    assert sorted(delegates.calls("DEL")) == ["DEL net1 macvlan", "DEL net1-1 macvlan"]
    assert set(state.addresses().values()) == {f"c-{pod.name} net1"}
    assert findings(noting) == set()
    live.check().succeeded()
    assert tool(noting, "gc").lines() == ["nothing to clear"]
    live.delete().succeeded()
    assert state.left() == []


def test_pods_of_an_earlier_boot(
    noting: Runtime, pod: Namespace, namespaces: Namespaces, delegates: Delegates, state: State
) -> None:
    old = [added(noting, namespaces.make("pod")) for _ in range(3)]
    for attachment in old:
        namespaces.remove(attachment.pod)
    state.reboot()
    fresh = added(noting, pod)  # frees the addresses, and clears two of the three
    assert len(delegates.calls("DEL")) == 4
    assert len(state.addresses()) == 2

    document = tool(noting, "gc", "--json").document()

    (attachment,) = document["attachments"]
    assert attachment["error"] is None
    assert attachment["attachment"] in {f"c-{each.pod.name}:net1" for each in old}
    assert len(delegates.calls("DEL")) == 6
    assert state.records().keys() == {f"c-{pod.name}:net1"}
    assert findings(noting) == set()
    fresh.check().succeeded()


def test_first_call_after_a_boot_is_gc(
    noting: Runtime, pod: Namespace, namespaces: Namespaces, delegates: Delegates, state: State
) -> None:
    old = [added(noting, each) for each in (pod, namespaces.make("pod"))]
    for attachment in old:
        namespaces.remove(attachment.pod)
    state.reboot()

    document = tool(noting, "gc", "--json").document()

    expected = [cleared(each, 100 + host) for host, each in enumerate(old)]
    assert document == {"dryRun": False, "attachments": expected, **NOTHING_ELSE}
    assert len(delegates.calls("DEL")) == 4
    assert state.addresses() == {}
    assert state.records() == {}
    assert findings(noting) == set()


def test_busy_attachment_is_left_alone(
    noting: Runtime, pod: Namespace, namespaces: Namespaces, delegates: Delegates, state: State
) -> None:
    gone = added(noting, pod)
    namespaces.remove(pod)
    (lock_file,) = state.root.glob("attachments/rails/*.lock")
    with lock_file.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        document = tool(noting, "gc", "--json").document(1)

    assert document["attachments"] == [cleared(gone, 100, BUSY)]
    assert delegates.calls("DEL") == []
    assert len(state.addresses()) == 2


def test_delegate_that_fails_keeps_its_attachment(
    runtime: Runtime, pod: Namespace, namespaces: Namespaces, delegates: Delegates, state: State
) -> None:
    """A type that may keep something on the node: a retry can help, so nothing is forgotten."""
    failing = 'case $CNI_COMMAND in DEL) exit 3 ;; esac; echo "{}"'
    delegates.write("hostside", failing)
    runtime = delegates.used_by(runtime)
    plugin = [{"type": "macvlan"}, {"type": "hostside"}]
    runtime.attachment(pod, runtime.conf(**ranges(1) | {"plugin": plugin})).add()
    namespaces.remove(pod)

    ended = tool(runtime, "gc")

    assert ended.status == 1
    assert f"rails c-{pod.name}:net1: pod c-{pod.name}: " in ended.stdout
    assert "hostside" in ended.stdout
    assert len(state.addresses()) == 1
    delegates.write("hostside", "true")
    tool(runtime, "gc").lines()
    assert state.left() == []


def test_delegate_that_has_moved(
    runtime: Runtime, pod: Namespace, namespaces: Namespaces, delegates: Delegates, state: State
) -> None:
    """It is not where it was at the ADD: --plugin-path says where to find it."""
    delegates.write("hostside", 'echo "{}"')
    runtime = delegates.used_by(runtime)
    plugin = [{"type": "macvlan"}, {"type": "hostside"}]
    runtime.attachment(pod, runtime.conf(**ranges(1) | {"plugin": plugin})).add()
    namespaces.remove(pod)
    moved = delegates.folder.rename(delegates.folder.with_name("moved"))
    (moved / "calls.log").unlink()
    delegates.folder.mkdir()
    tool(runtime, "gc").lines(1)
    assert len(state.addresses()) == 1

    tool(runtime, "gc", "--plugin-path", f"/nonexistent:{moved}").lines()

    assert delegates.calls("DEL") == ["DEL net1 hostside"]
    assert state.left() == []
