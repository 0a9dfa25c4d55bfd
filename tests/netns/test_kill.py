"""SIGKILL of the plugin, at every system call that changes something and while delegates work."""

from __future__ import annotations

import fcntl
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import ranges
from tests.netns.killing import Scene, calling, kill, settle
from tests.pytest_netns import wait_until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.netns.tracing import Point
    from tests.pytest_netns import Attachment, Namespace, Namespaces, Node, Runtime

TRY_AGAIN, ALREADY_ATTACHED = 11, 103
SOON = 6  # seconds after which a timeout of 1 has certainly not been kept
# Debian's macvlan speaks 1.0.0 at most: one delegate a NIC and verb.
CONF = ranges(1, 2, last=102) | {"cniVersion": "1.0.0"}
OPEN = {"net1", "net1-1"}


@pytest.fixture
def scene(runtime: Runtime, namespaces: Namespaces, tmp_path: Path) -> Scene:
    return Scene(runtime, namespaces, tmp_path)


def fresh(scene: Scene, pod: Namespace) -> tuple[Attachment, State]:
    """Return an attachment with a data directory that does not exist yet."""
    runtime, state = scene.fresh()
    return runtime.attachment(pod, runtime.conf(**CONF)), state


def points_of(scene: Scene, pod: Namespace, command: str) -> list[Point]:
    attachment, state = fresh(scene, pod)
    if command == "DEL":
        attachment.add()
    points = scene.points_of(attachment.runtime, calling(attachment, command))
    if command == "ADD":
        attachment.delete().succeeded()
    assert state.left() == []
    calls = {point.syscall for point in points}
    assert {"openat", "write", "pwrite64", "unlinkat", "exit_group"} <= calls
    assert {"linkat", "renameat", "mkdirat"} <= calls or command == "DEL"
    return points


def nothing_is_left(scene: Scene, attachment: Attachment, state: State) -> None:
    assert attachment.pod.links() == {}
    assert state.left() == []
    assert state.addresses() == {}
    scene.assert_in_order(state)


def a_new_life(scene: Scene, attachment: Attachment, state: State) -> None:
    """ADD again gets two addresses, and DEL leaves nothing: none was lost."""
    result = attachment.add()
    assert len(result["ips"]) == 2
    assert attachment.pod.links().keys() == OPEN
    assert len(state.addresses()) == 2
    attachment.check().succeeded()
    attachment.delete().succeeded()
    nothing_is_left(scene, attachment, state)


def every_address_in_the_pod_is_reserved(pod: Namespace, state: State) -> None:
    """Else the next pod would get it too."""
    in_pod = [each for listed in pod.addresses().values() for each in listed]
    assert {address.split("/")[0] for address in in_pod} <= state.addresses().keys()


@pytest.mark.parametrize("then", ["DEL", "ADD"])
def test_add_killed_at_every_change(scene: Scene, node: Node, pod: Namespace, then: str) -> None:
    def attempt(point: Point, pod: Namespace) -> None:
        attachment, state = fresh(scene, pod)
        kill(attachment, "ADD", point)
        if then == "DEL":
            settle(state)
            every_address_in_the_pod_is_reserved(pod, state)
        else:
            a_second_life_or_a_clear_refusal(attachment, state)
        attachment.delete().succeeded()
        nothing_is_left(scene, attachment, state)
        a_new_life(scene, attachment, state)

    before = node.facts()
    scene.try_each(points_of(scene, pod, "ADD"), attempt)
    assert node.facts() == before


@pytest.mark.parametrize("then", ["DEL", "ADD"])
def test_del_killed_at_every_change(scene: Scene, node: Node, pod: Namespace, then: str) -> None:
    def attempt(point: Point, pod: Namespace) -> None:
        attachment, state = fresh(scene, pod)
        attachment.add()
        kill(attachment, "DEL", point)
        if then == "ADD":
            a_second_life_or_a_clear_refusal(attachment, state)
        attachment.delete().succeeded()
        nothing_is_left(scene, attachment, state)
        a_new_life(scene, attachment, state)

    before = node.facts()
    scene.try_each(points_of(scene, pod, "DEL"), attempt)
    assert node.facts() == before


def a_second_life_or_a_clear_refusal(attachment: Attachment, state: State) -> None:
    """Tell what ADD had made whole, alive until DEL has ended, from all else, which gives way."""
    answer = attachment.call("ADD")
    if answer.status:
        answer.error(ALREADY_ATTACHED)
        (record,) = state.records().values()
        assert record["complete"]
        every_address_in_the_pod_is_reserved(attachment.pod, state)
    else:
        assert attachment.pod.links().keys() == OPEN
        assert len(state.addresses()) == 2


def waits_for_a_lock(process: subprocess.Popen[bytes]) -> bool:
    """Look into /proc/locks, which marks those that wait with an arrow."""
    locks = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    return any("-> FLOCK" in line and f" {process.pid} " in line for line in locks)


@pytest.fixture
def gate(delegates: Delegates) -> Iterator[Path]:
    """Make the delegates' ADD wait until the file is removed."""
    gate = delegates.folder / "gate"
    gate.touch()
    delegates.write(
        "macvlan",
        f"while [ $CNI_COMMAND = ADD ] && [ -e {gate} ]; do sleep 0.02; done; real",
    )
    yield gate
    gate.unlink(missing_ok=True)


@pytest.fixture
def orphaned(runtime: Runtime, pod: Namespace, delegates: Delegates, gate: Path) -> Attachment:
    """Return an attachment whose ADD was killed while both delegates stand at the gate."""
    assert gate.exists()
    attachment = delegates.used_by(runtime).attachment(pod, runtime.conf(timeout=20, **CONF))
    with attachment.started("ADD") as process:
        delegates.wait_for("ADD net1 macvlan")
        delegates.wait_for("ADD net1-1 macvlan")
        process.kill()
        assert process.wait() == -signal.SIGKILL
    return attachment


def test_del_at_once_waits_for_orphaned_delegates(
    orphaned: Attachment, delegates: Delegates, gate: Path, state: State
) -> None:
    """What they make late is removed too: nothing appears afterwards."""
    with orphaned.started("DEL") as process:
        wait_until(lambda: waits_for_a_lock(process), "DEL waits for the lock")
        assert delegates.calls("DEL") == []
        gate.unlink()
        stdout, stderr = process.communicate(timeout=30)

    assert (process.returncode, stdout) == (0, b""), stderr
    lines = delegates.log.read_text().splitlines()
    last_add = max(i for i, line in enumerate(lines) if line.startswith("ADD"))
    first_del = min(i for i, line in enumerate(lines) if line.startswith("DEL"))
    assert last_add < first_del
    assert orphaned.pod.links() == {}
    assert state.left() == []


def test_add_at_once_waits_for_orphaned_delegates(
    orphaned: Attachment, gate: Path, state: State
) -> None:
    with orphaned.started("ADD") as process:
        wait_until(lambda: waits_for_a_lock(process), "ADD waits for the lock")
        gate.unlink()
        stdout, stderr = process.communicate(timeout=30)

    assert process.returncode == 0, stderr
    assert [ip["address"] for ip in json.loads(stdout)["ips"]] == ["10.1.0.101/24", "10.2.0.101/24"]
    assert state.addresses().keys() == {"10.1.0.101", "10.2.0.101"}
    assert orphaned.pod.links().keys() == OPEN
    orphaned.delete().succeeded()
    assert state.left() == []


def test_lock_held_too_long(runtime: Runtime, pod: Namespace, state: State) -> None:
    """The attachment's lock with a stranger: code 11 at the deadline, and he is left alone."""
    attachment = runtime.attachment(pod, runtime.conf(timeout=1, **CONF))
    attachment.add()
    (lock_file,) = state.root.glob("attachments/*/*.lock")
    with lock_file.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in ("DEL", "ADD"):
            answer = attachment.call(command)
            assert f"c-{pod.name}:net1 is busy" in answer.error(TRY_AGAIN)
            assert answer.seconds < SOON

    attachment.delete().succeeded()
    assert pod.links() == {}
    assert state.left() == []


def test_orphans_that_hang(orphaned: Attachment, state: State) -> None:
    """An ADD waits for them until its deadline; a DEL ends them when most of its time is over."""
    orphaned.conf = orphaned.conf | {"timeout": 1}

    message = orphaned.call("ADD").error(TRY_AGAIN)

    assert f"c-{orphaned.pod.name}:net1 is busy" in message
    orphaned.conf = orphaned.conf | {"timeout": 6}
    answer = orphaned.delete()
    answer.succeeded()
    assert answer.seconds > 2
    assert orphaned.pod.links() == {}
    assert state.left() == []


def test_store_locked_too_long(runtime: Runtime, pod: Namespace, state: State) -> None:
    attachment = runtime.attachment(pod, runtime.conf(timeout=1, **CONF))
    attachment.add()
    with (state.root / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        other = runtime.attachment(pod, attachment.conf, ifname="net2").call("ADD")
        deletion = attachment.call("DEL")

    for answer in (other, deletion):
        assert "the address store is locked" in answer.error(TRY_AGAIN)
        assert 0.9 < answer.seconds < SOON
    assert state.records().keys() == {f"c-{pod.name}:net1"}
    attachment.delete().succeeded()
    assert pod.links() == {}
    assert state.left() == []
