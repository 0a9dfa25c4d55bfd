"""An ADD that cannot be finished leaves the pod, the node and the store as they were."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import SHARED_SUBNET, ranges
from tests.pytest_netns import DELEGATES, execute

if TYPE_CHECKING:
    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Namespace, Node, Runtime

TRY_AGAIN, NO_ADDRESS, NAME_TAKEN, DELEGATE_FAILED = 11, 101, 102, 104
# Debian's macvlan speaks 1.0.0 at most: a script that executes it succeeds at the first try.
CONF = SHARED_SUBNET | {"cniVersion": "1.0.0"}


def what_is_reserved(state: State) -> dict[str, bytes]:
    """Everything on disk but what orders the addresses: a freed one rests."""
    return {
        name: content
        for name, content in state.files().items()
        if "last_reserved_ip" not in name and not name.startswith("turns/")
    }


@pytest.fixture
def neighbour(runtime: Runtime, other_pod: Namespace) -> Attachment:
    attachment = runtime.attachment(other_pod, runtime.conf(**CONF))
    attachment.add()
    return attachment


@pytest.mark.parametrize(
    ("script", "code", "cause"),
    [
        (
            'echo \'{"cniVersion":"1.0.0","code":11,"msg":"card asleep","details":"x"}\'; exit 1',
            11,
            "failed: card asleep",
        ),
        ('echo \'{"code":123,"msg":"its own code"}\'; exit 1', 104, "failed: its own code"),
        ('echo \'{"code":3,"msg":"unknown container"}\'; exit 1', 104, "unknown container"),
        ("echo it broke >&2; exit 7", 104, "exit status 7 and printed no error: it broke"),
        ("exit 1", 104, "exit status 1 and printed no error"),
        ("echo no JSON; exit 1", 104, "exit status 1, and its error is not JSON"),
        ("echo '{}'; exit 1", 104, "exit status 1, and its error has no msg"),
        ("kill -SEGV $$", 104, "killed by signal 11"),
        ("real; kill -KILL $$", 104, "killed by signal 9"),
        ("exit 0", 104, "its result is empty"),
        ("echo linked; exit 0", 104, "its result is not JSON"),
        ("echo '{}{}'; exit 0", 104, "its result has more than one document"),
        ("real; real; exit 0", 104, "its result has more than one document"),
        ("echo '[]'; exit 0", 104, "its result is no object"),
        ("echo '{\"interfaces\": 7}'; exit 0", 104, "interfaces is not a list"),
        ('echo \'{"code":7,"msg":"in disguise"}\'; exit 0', 7, "failed: in disguise"),
        ("head -c 2000000 /dev/zero; exit 0", 104, "printed more than 1048576 bytes"),
        ("printf '\\377'; exit 0", 104, "its result is not UTF-8"),
        ("real >/dev/null; echo gone wrong >&2; exit 1", 104, "gone wrong"),
    ],
)
def test_third_delegate_fails(
    *,
    runtime: Runtime,
    node: Node,
    pod: Namespace,
    neighbour: Attachment,
    delegates: Delegates,
    state: State,
    script: str,
    code: int,
    cause: str,
) -> None:
    delegates.write_failing(script)
    nothing, node_before, reserved = pod.facts(), node.facts(), what_is_reserved(state)
    attachment = delegates.used_by(runtime).attachment(pod, runtime.conf(**CONF))

    message = attachment.call("ADD").error(code)

    assert "delegate macvlan on NIC rail3 (net1-2)" in message
    assert cause in message
    assert pod.facts() == nothing
    assert node.facts() == node_before
    assert what_is_reserved(state) == reserved
    # Each that was started gets its DEL, the failed one too; a chain that had not begun has none.
    begun = {call.removeprefix("ADD ") for call in delegates.calls("ADD")}
    assert {call.removeprefix("DEL ") for call in delegates.calls("DEL")} == begun
    assert "net1-2 macvlan" in begun
    neighbour.check().succeeded()
    attachment.delete().succeeded()
    assert what_is_reserved(state) == reserved


def test_delegate_that_hangs_is_killed_at_the_deadline(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    delegates.write_failing("sleep 60")
    attachment = delegates.used_by(runtime).attachment(pod, runtime.conf(timeout=1, **CONF))

    answer = attachment.call("ADD")

    message = answer.error(DELEGATE_FAILED)
    assert "NIC rail3 (net1-2)" in message
    assert "deadline (timeout) passed" in message
    assert 1 <= answer.seconds < 6
    assert pod.links() == {}
    assert state.left() == []


def test_runtime_that_gives_up_gets_a_roll_back(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """SIGTERM while the third delegate works, and the others have made their links."""
    delegates.write_failing("sleep 60")
    attachment = delegates.used_by(runtime).attachment(pod, runtime.conf(**CONF))
    with attachment.started("ADD") as process:
        delegates.wait_for("ADD net1-2 macvlan")
        delegates.wait_for("ADD net1-3 macvlan ended")
        process.send_signal(signal.SIGTERM)
        stdout, _ = process.communicate(timeout=20)

    error = json.loads(stdout)
    assert process.returncode == 1
    assert "called the plugin off" in error["msg"]
    assert pod.links() == {}
    assert state.left() == []


def test_what_cannot_be_undone_stays_recorded(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """The error is ADD's own; DEL finishes the work once the delegate can."""
    stuck = delegates.folder / "stuck"
    stuck.touch()
    delegates.write(
        "hostside",
        f"""case "$CNI_COMMAND $CNI_IFNAME" in
        "ADD net1-2") echo no luck >&2; exit 1 ;;
        "DEL net1-2") [ ! -e {stuck} ] || exit 9 ;;
        esac
        echo '{{}}'""",
    )
    conf = runtime.conf(**CONF | {"plugin": [{"type": "macvlan"}, {"type": "hostside"}]})
    attachment = delegates.used_by(runtime).attachment(pod, conf)

    assert "no luck" in attachment.call("ADD").error(DELEGATE_FAILED)
    assert pod.links() == {}
    assert len(state.addresses()) == 4
    assert "exit status 9" in attachment.delete().error(DELEGATE_FAILED)
    assert len(state.addresses()) == 4

    stuck.unlink()
    attachment.delete().succeeded()
    assert state.left() == []


def test_link_that_its_delegate_cannot_delete(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """A macvlan is known to keep nothing but its link: the plugin deletes that itself."""
    delegates.write_failing("exit 9", command="DEL")
    attachment = delegates.used_by(runtime).attachment(pod, runtime.conf(**CONF))
    attachment.add()

    attachment.delete().succeeded()

    assert pod.links() == {}
    assert state.left() == []


def test_chain_is_undone_in_reverse(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """The second of three fails: it and the first are undone, the third is never heard of."""
    for name, body in (("first", "echo '{}'"), ("second", "[ $CNI_COMMAND = DEL ]")):
        delegates.write(name, body)
    delegates.write("third", "echo '{}'")
    conf = runtime.conf(
        plugin=[{"type": "first"}, {"type": "second"}, {"type": "third"}], masters=["rail1"]
    )

    delegates.used_by(runtime).attachment(pod, conf).call("ADD").error(DELEGATE_FAILED)

    assert delegates.calls() == [
        "ADD net1 first",
        "ADD net1 second",
        "DEL net1 second",
        "DEL net1 first",
    ]
    assert state.left() == []


def test_missing_plugin_costs_nothing(runtime: Runtime, pod: Namespace, state: State) -> None:
    conf = runtime.conf(plugin=[{"type": "macvlan"}, {"type": "no-such"}], **ranges(1, 2))

    message = runtime.attachment(pod, conf).call("ADD").error(DELEGATE_FAILED)

    assert message == f'failed to find plugin "no-such" in path [{DELEGATES}]'
    assert pod.links() == {}
    assert list(state.root.glob("pools/*/*")) == []
    assert state.left() == []


def test_missing_ipam_plugin(runtime: Runtime, pod: Namespace, state: State) -> None:
    conf = runtime.conf(masters=["rail1"], ipam={"type": "no-such-ipam"})

    message = runtime.attachment(pod, conf).call("ADD").error(DELEGATE_FAILED)

    assert 'failed to find plugin "no-such-ipam"' in message
    assert state.left() == []


def test_inner_name_is_taken_in_the_pod(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State
) -> None:
    """The other's interface survives: no delegate is executed, nor its DEL."""
    pod.ip("link add net1-2 type bridge", "address add 10.66.0.1/24 dev net1-2")
    delegates.write_failing("exit 1", nic="no-nic")
    before = pod.facts()
    attachment = delegates.used_by(runtime).attachment(pod, runtime.conf(**CONF))

    message = attachment.call("ADD").error(NAME_TAKEN)

    assert "net1-2" in message
    attachment.delete().succeeded()
    assert delegates.calls() == []
    assert pod.facts() == before
    assert state.left() == []


def test_pool_that_runs_out_gives_nothing(
    runtime: Runtime, pod: Namespace, other_pod: Namespace, state: State
) -> None:
    """All or none: rail1 has addresses, rail2 only one."""
    conf = runtime.conf(**ranges(1, 2))
    conf["ipam"]["ranges"]["10.2.0.0/24"][0]["rangeEnd"] = "10.2.0.100"
    runtime.attachment(other_pod, conf).add()
    held = state.addresses()

    message = runtime.attachment(pod, conf).call("ADD").error(NO_ADDRESS)

    assert "NIC rail2: pool 10.2.0.100-10.2.0.100 of 10.2.0.0/24 is exhausted" in message
    assert "1 of its 1 addresses" in message
    assert pod.links() == {}
    assert state.addresses() == held
    assert len(state.records()) == 1


@pytest.mark.parametrize("netns", ["/run/netns/mn-never-was", "/etc/hostname", "/etc"])
def test_netns_that_is_none(runtime: Runtime, pod: Namespace, state: State, netns: str) -> None:
    message = runtime.attachment(pod, runtime.conf(**ranges(1))).call("ADD", CNI_NETNS=netns)

    assert netns in message.error(4)
    assert state.left() == []


def test_netns_dies_while_delegates_work(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State, node: Node
) -> None:
    """The pod is deleted at once after its creation: nothing of it stays on the node."""
    hold = f"while [ -e {pod.path} ]; do sleep 0.02; done"
    delegates.write("macvlan", f"[ $CNI_COMMAND = DEL ] || {hold}; real")
    attachment = delegates.used_by(runtime).attachment(pod, runtime.conf(**ranges(1, 2)))
    before = node.facts()
    with attachment.started("ADD") as process:
        delegates.wait_for("ADD net1-1 macvlan")
        execute("ip", "netns", "delete", pod.name)
        stdout, _ = process.communicate(timeout=20)

    assert process.returncode == 1
    assert "failed to open netns" in json.loads(stdout)["msg"]
    attachment.delete().succeeded()
    assert node.facts() == before
    assert state.left() == []
