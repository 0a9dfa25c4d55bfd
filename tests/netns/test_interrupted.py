"""Calls that end early, delegates that hang, answers that nobody reads."""

from __future__ import annotations

import json
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
    from tests.pytest_netns import Namespace, Runtime

DELEGATE_FAILED, NAME_TAKEN, TRY_AGAIN = 104, 102, 11


def test_running_delegates_get_a_moment_when_the_call_is_cancelled(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """SIGTERM while macvlan works: it ends, and then all is undone by its own DEL."""
    delegates.write("macvlan", "[ $CNI_COMMAND != ADD ] || sleep 0.5; real")
    conf = runtime.conf(**ranges(1, 2) | {"cniVersion": "1.0.0"})
    attachment = delegates.used_by(runtime).attachment(pod, conf)
    with attachment.started("ADD") as process:
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
    with attachment.started("ADD") as process:
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
    with adding.started("ADD") as process:
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
    with attachment.started("ADD") as process:
        delegates.wait_for("ADD net1 macvlan")
        process.kill()

    with ThreadPoolExecutor(2) as pool:
        for answer in pool.map(lambda _: attachment.delete(), range(2)):
            answer.succeeded()

    assert state.left() == []


def test_delegate_that_hangs_at_its_del_too_has_bounds(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """A second, two of grace, five of roll-back, two of grace: then the link goes all the same."""
    delegates.write("macvlan", "[ $CNI_COMMAND != ADD ] || real; exec sleep 1000")
    conf = runtime.conf(timeout=1, **ranges(1) | {"cniVersion": "1.0.0"})

    answer = delegates.used_by(runtime).attachment(pod, conf).call("ADD")

    assert "deadline" in answer.error(DELEGATE_FAILED)
    assert answer.seconds < 15
    assert pod.links() == {}
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
    with attachment.started("ADD") as process:
        assert process.stdout is not None
        process.stdout.close()
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
