"""GC and STATUS."""

from __future__ import annotations

import fcntl
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import SHARED_SUBNET, ranges
from tests.pytest_netns import DELEGATES, execute

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Namespace, Runtime

NOT_AVAILABLE, LIMITED, INCOMPATIBLE = 50, 51, 1
CONF = ranges(1, 2)


@pytest.fixture
def attachments(runtime: Runtime, pod: Namespace, other_pod: Namespace) -> list[Attachment]:
    """Return two attachments of two NICs each."""
    made = [runtime.attachment(each, runtime.conf(**CONF)) for each in (pod, other_pod)]
    for attachment in made:
        attachment.add()
    return made


def listed(*attachments: Attachment) -> list[dict[str, str]]:
    return [{"containerID": f"c-{each.pod.name}", "ifname": each.ifname} for each in attachments]


def collect(runtime: Runtime, **keys: object) -> dict[str, Any]:
    return runtime.conf(**CONF | keys)


def test_gc_without_a_list_does_nothing(
    runtime: Runtime, attachments: list[Attachment], state: State
) -> None:
    """An absent list is not an empty one."""
    before = state.files()

    runtime.call("GC", collect(runtime)).succeeded()

    assert state.files() == before
    for attachment in attachments:
        attachment.check().succeeded()


@pytest.mark.parametrize("key", ["cni.dev/valid-attachments", "cni.dev/attachments"])
def test_gc_with_an_empty_list_removes_all(
    runtime: Runtime, attachments: list[Attachment], state: State, key: str
) -> None:
    runtime.call("GC", collect(runtime, **{key: []})).succeeded()

    assert [attachment.pod.links() for attachment in attachments] == [{}, {}]
    assert state.left() == []


def test_gc_keeps_what_is_listed(
    runtime: Runtime, attachments: list[Attachment], state: State
) -> None:
    """One is listed; another network's attachments are not this GC's business."""
    kept, stale = attachments
    elsewhere = runtime.attachment(
        stale.pod, runtime.conf(name="elsewhere", **ranges(3)), ifname="net5"
    )
    elsewhere.add()

    answer = runtime.call("GC", collect(runtime, **{"cni.dev/valid-attachments": listed(kept)}))

    answer.succeeded()
    assert stale.pod.links().keys() == {"net5"}
    kept.check().succeeded()
    elsewhere.check().succeeded()
    assert set(state.addresses().values()) == {
        f"c-{kept.pod.name} net1",
        f"c-{stale.pod.name} net5",
    }


def test_gc_leaves_a_busy_attachment_alone(
    runtime: Runtime, attachments: list[Attachment], state: State
) -> None:
    busy, idle = attachments
    (lock_file,) = state.root.glob(f"attachments/rails/c-{busy.pod.name}:net1.lock")
    with lock_file.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = runtime.call("GC", collect(runtime, **{"cni.dev/valid-attachments": []}))

    answer.succeeded()
    assert idle.pod.links() == {}
    busy.check().succeeded()


def test_gc_releases_orphaned_reservations(
    runtime: Runtime, attachments: list[Attachment], state: State
) -> None:
    """No record names it: a foreign program's, or one whose record somebody has removed."""
    pool = state.root / "pools/10.1.0.0-24"
    (pool / "10.1.0.150").write_bytes(b"gone\r\neth0")
    (pool / "10.1.0.151").write_bytes(b"listed\r\neth0")
    valid = [*listed(*attachments), {"containerID": "listed", "ifname": "eth0"}]

    runtime.call("GC", collect(runtime, **{"cni.dev/valid-attachments": valid})).succeeded()

    assert not (pool / "10.1.0.150").exists()
    assert (pool / "10.1.0.151").exists()
    for attachment in attachments:
        attachment.check().succeeded()


def test_gc_of_pods_that_are_gone(
    runtime: Runtime, attachments: list[Attachment], state: State
) -> None:
    for attachment in attachments:
        execute("ip", "netns", "delete", attachment.pod.name)

    runtime.call("GC", collect(runtime, **{"cni.dev/valid-attachments": []})).succeeded()

    assert state.left() == []


@pytest.mark.parametrize("valid", [[], [{"containerID": "other-nodes", "ifname": "net1"}]])
def test_gc_on_a_node_that_never_had_a_pod(
    runtime: Runtime, state: State, valid: list[dict[str, str]]
) -> None:
    runtime.call("GC", collect(runtime, **{"cni.dev/valid-attachments": valid})).succeeded()

    assert state.left() == []


def write_newer_and_older(delegates: Delegates, answer: str = "exit 0") -> Path:
    """Make a delegate that speaks 1.1.0 and one that does not; return where the first notes GC."""
    noted = delegates.folder / "noted.json"
    versions = '{{"cniVersion":"1.1.0","supportedVersions":["0.4.0","1.0.0"{more}]}}'
    body = "case $CNI_COMMAND in VERSION) echo '{versions}' ;; ADD) echo '{{}}' ;; {rest} esac"
    delegates.write(
        "newer",
        body.format(
            versions=versions.format(more=',"1.1.0"'),
            rest=f'GC|STATUS) printf %s "$conf" >{noted}; {answer} ;;',
        ),
    )
    delegates.write(
        "older",
        body.format(
            versions=versions.format(more=""),
            rest='GC|STATUS) echo \'{"code":4,"msg":"unknown CNI_COMMAND"}\'; exit 1 ;;',
        ),
    )
    return noted


CHAIN = {"plugin": [{"type": "newer", "flavour": 7}, {"type": "older"}], "masters": ["rail[12]"]}


@pytest.mark.parametrize("busy", [False, True])
def test_gc_goes_to_delegates_that_know_it_with_inner_names(
    runtime: Runtime, pod: Namespace, delegates: Delegates, state: State, busy: bool
) -> None:
    """Delegates know their attachments by the inner names. A busy attachment has them too."""
    noted = write_newer_and_older(delegates)
    runtime = delegates.used_by(runtime)
    attachment = runtime.attachment(pod, runtime.conf(**CHAIN))
    attachment.add()
    valid = [*listed(attachment), {"containerID": "unknown", "ifname": "eth9"}]
    (lock_file,) = state.root.glob("attachments/rails/*.lock")
    with lock_file.open() as lock:
        if busy:
            fcntl.flock(lock, fcntl.LOCK_EX)
        answer = runtime.call("GC", runtime.conf(**CHAIN, **{"cni.dev/valid-attachments": valid}))

    answer.succeeded()
    sent = json.loads(noted.read_text())
    container = f"c-{pod.name}"
    expected = [
        {"containerID": container, "ifname": "net1"},
        {"containerID": container, "ifname": "net1-1"},
        {"containerID": "unknown", "ifname": "eth9"},
    ]
    assert sent["cni.dev/valid-attachments"] == expected
    assert sent["cni.dev/attachments"] == expected
    assert (sent["type"], sent["name"], sent["cniVersion"]) == ("newer", "rails", "1.1.0")
    assert sent["flavour"] == 7
    assert [call for call in delegates.calls("GC") if "older" in call] == []


def test_gc_gathers_errors_and_goes_on(
    runtime: Runtime, pod: Namespace, other_pod: Namespace, delegates: Delegates, state: State
) -> None:
    """The first pod's delegate fails; the second pod is cleared all the same."""
    stuck, cleared = sorted((pod, other_pod), key=lambda each: each.name)
    delegates.write(
        "hostside",
        f"""case "$CNI_COMMAND $CNI_CONTAINERID" in "DEL c-{stuck.name}") exit 3 ;; esac
        echo '{{}}'""",
    )
    runtime = delegates.used_by(runtime)
    plugin = [{"type": "macvlan"}, {"type": "hostside"}]
    for each in (stuck, cleared):
        runtime.attachment(each, runtime.conf(**CONF | {"plugin": plugin})).add()

    conf = collect(runtime, plugin=plugin, **{"cni.dev/valid-attachments": []})
    message = runtime.call("GC", conf).error(104)

    assert message.startswith("2 errors: ")
    assert "NIC rail1 (net1)" in message
    assert "NIC rail2 (net1-1)" in message
    assert cleared.links() == stuck.links() == {}
    assert set(state.addresses().values()) == {f"c-{stuck.name} net1"}


@pytest.mark.parametrize("version", ["0.3.1", "0.4.0", "1.0.0"])
@pytest.mark.parametrize("command", ["GC", "STATUS"])
def test_older_versions_have_neither(runtime: Runtime, command: str, version: str) -> None:
    conf = collect(runtime, cniVersion=version, **{"cni.dev/valid-attachments": []})

    assert f"{command} needs cniVersion 1.1.0" in runtime.call(command, conf).error(INCOMPATIBLE)


def test_status_of_a_good_node(runtime: Runtime, state: State) -> None:
    runtime.call("STATUS", runtime.conf(**SHARED_SUBNET)).succeeded()

    assert state.left() == []


def test_status_with_too_few_nics(runtime: Runtime) -> None:
    runtime.node.ip("link set rail2 down")
    conf = runtime.conf(**SHARED_SUBNET | {"attachPolicy": {"minNics": 4}})

    message = runtime.call("STATUS", conf).error(LIMITED)

    assert "4 NICs needed, 3 usable" in message
    assert "rail2: it is down" in message


def test_status_with_a_missing_delegate(runtime: Runtime) -> None:
    conf = runtime.conf(plugin={"type": "not-installed"}, **CONF)

    message = runtime.call("STATUS", conf).error(NOT_AVAILABLE)

    assert message == f'failed to find plugin "not-installed" in path [{DELEGATES}]'


def test_status_with_an_exhausted_pool(runtime: Runtime, pod: Namespace) -> None:
    conf = runtime.conf(**ranges(1, first=100, last=100))
    runtime.call("STATUS", conf).succeeded()
    attachment = runtime.attachment(pod, conf)
    attachment.add()

    assert "is exhausted" in runtime.call("STATUS", conf).error(NOT_AVAILABLE)
    attachment.delete().succeeded()
    runtime.call("STATUS", conf).succeeded()


def test_status_without_a_host_index(runtime: Runtime) -> None:
    conf = runtime.conf(**SHARED_SUBNET | {"hosts": {"another-node": 0}})

    assert "host index" in runtime.call("STATUS", conf).error(NOT_AVAILABLE)


def test_status_asks_delegates(runtime: Runtime, delegates: Delegates) -> None:
    """What they cannot answer is fine; what they say is passed on with its code."""
    runtime = delegates.used_by(runtime)
    noted = write_newer_and_older(delegates)
    runtime.call("STATUS", runtime.conf(**CHAIN)).succeeded()
    assert json.loads(noted.read_text())["type"] == "newer"

    for code in (NOT_AVAILABLE, LIMITED):
        write_newer_and_older(delegates, f'echo \'{{"code":{code},"msg":"no link"}}\'; exit 1')
        assert "no link" in runtime.call("STATUS", runtime.conf(**CHAIN)).error(code)

    for unsupported in ('"code":4,"msg":"unknown CNI_COMMAND: STATUS"', '"code":1,"msg":"too old"'):
        write_newer_and_older(delegates, f"echo '{{{unsupported}}}'; exit 1")
        runtime.call("STATUS", runtime.conf(**CHAIN)).succeeded()
