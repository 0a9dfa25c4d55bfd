"""Delegates that are killed half-way, or hang: neither their links nor the NICs are lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.netns.confs import ranges
from tests.pytest_netns import EXECUTABLE, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Namespace, Node, Runtime

DELEGATE_FAILED, NAME_TAKEN, TRY_AGAIN = 104, 102, 11
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


def test_running_delegates_get_a_moment_when_the_call_is_cancelled(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """SIGTERM while macvlan works: it ends, and then all is undone by its own DEL."""
    delegates.write("macvlan", "[ $CNI_COMMAND != ADD ] || sleep 0.5; real")
    conf = runtime.conf(**ranges(1, 2) | {"cniVersion": "1.0.0"})
    attachment = delegates.used_by(runtime).attachment(pod, conf)
    with attachment.runtime.start(environment(attachment, "ADD")) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(conf).encode())
        process.stdin.close()
        delegates.wait_for("ADD net1 macvlan")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 1
        assert process.stdout is not None
        assert json.load(process.stdout)["code"] == TRY_AGAIN

    assert "ADD net1 macvlan ended" in delegates.log.read_text().splitlines()
    assert pod.links() == {}
    assert state.left() == []


def test_delegate_that_hangs_for_ever_does_not_make_the_pod_undeletable(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """The runtime has killed the plugin over it. DEL waits most of its time, then ends it."""
    delegates.write("macvlan", "[ $CNI_COMMAND != ADD ] || exec sleep 1000; real")
    conf = runtime.conf(timeout=3, **ranges(1) | {"cniVersion": "1.0.0"})
    attachment = delegates.used_by(runtime).attachment(pod, conf)
    with attachment.runtime.start(environment(attachment, "ADD")) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(conf).encode())
        process.stdin.close()
        delegates.wait_for("ADD net1 macvlan")
        process.kill()

    attachment.delete().succeeded()

    assert pod.links() == {}
    assert state.left() == []


def test_live_call_of_another_version_is_not_ended(
    runtime: Runtime, pod: Namespace, delegates: Delegates, tmp_path: Path
) -> None:
    """During an upgrade the executable of a DEL is not that of the ADD it waits for."""
    delegates.write("macvlan", "[ $CNI_COMMAND != ADD ] || sleep 4; real")
    older = tmp_path / "older"
    shutil.copytree(EXECUTABLE.parent, older)
    conf = runtime.conf(**ranges(1) | {"cniVersion": "1.0.0"})
    now = delegates.used_by(runtime)
    adding = now.but(executable=older / EXECUTABLE.name).attachment(pod, conf)
    deleting = now.attachment(pod, conf | {"timeout": 3})
    with adding.runtime.start(environment(adding, "ADD")) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(conf).encode())
        process.stdin.close()
        delegates.wait_for("ADD net1 macvlan")

        assert "is busy" in deleting.delete().error(TRY_AGAIN)

        assert process.wait(30) == 0
    assert pod.links().keys() == {"net1"}
    deleting.delete().succeeded()
    assert pod.links() == {}


def test_two_dels_behind_one_orphan(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    delegates.write("macvlan", "[ $CNI_COMMAND != ADD ] || exec sleep 1000; real")
    conf = runtime.conf(timeout=6, **ranges(1) | {"cniVersion": "1.0.0"})
    attachment = delegates.used_by(runtime).attachment(pod, conf)
    with attachment.runtime.start(environment(attachment, "ADD")) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(conf).encode())
        process.stdin.close()
        delegates.wait_for("ADD net1 macvlan")
        process.kill()

    with ThreadPoolExecutor(2) as pool:
        for answer in pool.map(lambda _: attachment.delete(), range(2)):
            answer.succeeded()

    assert state.left() == []


def test_del_waits_for_a_helper_that_its_delegate_leaves_for_a_moment(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    delegates.write(
        "macvlan", "[ $CNI_COMMAND != DEL ] || sleep 0.4 </dev/null >/dev/null 2>&1 & real"
    )
    conf = runtime.conf(**ranges(1) | {"cniVersion": "1.0.0"})
    attachment = delegates.used_by(runtime).attachment(pod, conf)
    attachment.add()

    attachment.delete().succeeded()

    assert state.left() == []


def test_altname_in_the_pod_is_taken(runtime: Runtime, pod: Namespace, state: State) -> None:
    """A delegate's DEL would look the name up and remove the other's interface."""
    pod.ip("link add eth0 type veth peer name pe0", "link property add dev eth0 altname net1-1")

    message = runtime.attachment(pod, runtime.conf(**ranges(1, 2))).call("ADD").error(NAME_TAKEN)

    assert "net1-1" in message
    assert pod.links().keys() == {"eth0", "pe0"}
    assert state.left() == []


def test_answer_that_nobody_reads_is_undone(runtime: Runtime, pod: Namespace, state: State) -> None:
    """The runtime has gone: it knows of no pod that it would have to delete."""
    conf = runtime.conf(**ranges(1))
    attachment = runtime.attachment(pod, conf)
    with attachment.runtime.start(environment(attachment, "ADD")) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(json.dumps(conf).encode())
        process.stdin.close()
        assert process.wait(30) == 1

    wait_until(lambda: pod.links() == {}, "the pod is as before")
    assert state.left() == []


def test_stdout_that_is_closed(runtime: Runtime, pod: Namespace, state: State) -> None:
    closed = runtime.but(wrapper=("sh", "-c", 'exec "$0" >&-'))

    answer = closed.attachment(pod, runtime.conf(**ranges(1))).call("ADD")

    assert answer.status == 1
    assert pod.links() == {}
    assert state.left() == []


def test_signals_that_the_runtime_has_blocked(
    runtime: Runtime, pod: Namespace, delegates: Delegates
) -> None:
    """Masks outlive exec: a delegate's end would go unnoticed until the deadline."""
    delegates.write("macvlan", "real; exec >&- 2>&-; sleep 0.3")
    blocked = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
os.execv(sys.argv[1], sys.argv[1:])"""
    wrapped = delegates.used_by(runtime).but(wrapper=("/usr/bin/python3", "-c", blocked))
    attachment = wrapped.attachment(
        pod, runtime.conf(timeout=20, **ranges(1) | {"cniVersion": "1.0.0"})
    )

    answer = attachment.call("ADD")

    answer.result()
    assert answer.seconds < 10


def environment(attachment: Attachment, command: str) -> dict[str, str]:
    return attachment.runtime.environment(command, **attachment.variables()) | {
        "PATH": os.environ["PATH"]
    }
