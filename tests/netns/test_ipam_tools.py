"""`multinic-cni ipam` on the store of a node with real pods."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import ranges
from tests.netns.tools import findings, tool
from tests.pytest_netns import DELEGATES, execute

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Document, Namespace, Namespaces, Runtime

BLOCK = "10.1.0.0/24"


def added(runtime: Runtime, pod: Namespace, name: str = "") -> Attachment:
    """Attach a pod to rails 1 and 2; its addresses are .100, or .101 and so on."""
    cni_args = f"IgnoreUnknown=1;K8S_POD_NAMESPACE=team;K8S_POD_NAME={name}" if name else ""
    attachment = runtime.attachment(pod, runtime.conf(**ranges(1, 2)), cni_args=cni_args)
    attachment.add()
    return attachment


@pytest.fixture
def live(runtime: Runtime, pod: Namespace) -> Attachment:
    return added(runtime, pod, "a")


@pytest.fixture
def stale(runtime: Runtime, live: Attachment, other_pod: Namespace) -> Attachment:
    """Return a second attachment, whose pod has gone without a DEL."""
    assert live.result
    attachment = added(runtime, other_pod, "b")
    execute("ip", "netns", "delete", other_pod.name)
    return attachment


def plant(state: State, address: str, content: bytes, block: str = "10.1.0.0-24") -> None:
    (state.root / "pools" / block / address).write_bytes(content)


def test_list_of_pods(runtime: Runtime, live: Attachment, stale: Attachment, state: State) -> None:
    plant(state, "10.1.0.150", b"gone\r\neth0")
    plant(state, "10.1.0.151", b"")

    document = tool(runtime, "ipam", "list", "--json").document()

    facts = ("address", "block", "state", "pod", "containerID", "ifname", "network", "nic")
    listed = [tuple(each[fact] for fact in facts) for each in document["addresses"]]
    a = ("live", "team/a", f"c-{live.pod.name}", "net1", "rails")
    b = ("stale", "team/b", f"c-{stale.pod.name}", "net1", "rails")
    assert listed == [
        ("10.1.0.100", BLOCK, *a, "rail1"),
        ("10.1.0.101", BLOCK, *b, "rail1"),
        ("10.1.0.150", BLOCK, "orphaned", "gone", "gone", "eth0", None, None),
        ("10.1.0.151", BLOCK, "damaged", None, None, None, None, None),
        ("10.2.0.100", "10.2.0.0/24", *a, "rail2"),
        ("10.2.0.101", "10.2.0.0/24", *b, "rail2"),
    ]
    states = {"live": 1, "stale": 1, "orphaned": 1, "damaged": 1}
    assert document["blocks"] == [
        {"block": BLOCK, "used": 4, "states": states},
        {"block": "10.2.0.0/24", "used": 2, "states": {"live": 1, "stale": 1}},
    ]
    lines = tool(runtime, "ipam", "list").lines()
    assert len(lines) == 1 + 6 + 2
    assert lines[-2] == f"{BLOCK}: 4 used: 1 live, 1 stale, 1 orphaned, 1 damaged"


def test_show_of_a_pods_address(runtime: Runtime, live: Attachment) -> None:
    document = tool(runtime, "ipam", "show", "10.2.0.100", "--json").document()

    (reservation,) = document.pop("reservations")
    since = reservation.pop("since")
    pod = {"network": "rails", "attachment": f"c-{live.pod.name}:net1", "pod": "team/a"}
    assert len(since) == len("2026-01-01T00:00:00Z")
    assert document == {
        "address": "10.2.0.100",
        "state": "live",
        "livingPods": [pod],
        "quarantine": None,
        "freed": None,
    }
    assert reservation == {
        "block": "10.2.0.0/24",
        "state": "live",
        "owner": {"containerID": f"c-{live.pod.name}", "ifname": "net1"},
        "keptBecause": "pod team/a (net1, network rails) lives",
        "importedFrom": None,
        "record": {
            **pod,
            "podUID": None,
            "netns": live.pod.path,
            "boot": "this",
            "lives": True,
            "complete": True,
            "nic": "rail2",
            "podInterface": "net1-1",
        },
    }


def test_release_refuses_what_lives_and_frees_what_is_stale(
    runtime: Runtime, live: Attachment, stale: Attachment, state: State
) -> None:
    assert stale.result
    words = ["ipam", "release", "10.1.0.100", "10.1.0.101", "10.2.0.101"]

    lines = tool(runtime, *words).lines(1)

    assert lines == [
        "10.1.0.100 is kept: pod team/a (net1, network rails) lives",
        "10.1.0.101 is free (was stale)",
        "10.2.0.101 is free (was stale)",
    ]
    assert state.addresses().keys() == {"10.1.0.100", "10.2.0.100"}
    live.check().succeeded()


def test_pod_that_only_processes_hold_keeps_its_addresses(
    runtime: Runtime, live: Attachment, namespaces: Namespaces, state: State
) -> None:
    """The netns has lost its name, but a container still runs in it."""
    with namespaces.process_in(live.pod):
        execute("ip", "netns", "delete", live.pod.name)
        tool(runtime, "ipam", "release", "10.1.0.100").lines(1)
        assert findings(runtime) == set()
        assert tool(runtime, "gc").lines() == ["nothing to clear"]
    assert state.addresses().keys() == {"10.1.0.100", "10.2.0.100"}


def test_forced_release_is_found_and_mended(
    runtime: Runtime, live: Attachment, state: State
) -> None:
    tool(runtime, "ipam", "release", "--force", "10.1.0.100").lines()
    assert findings(runtime) == {("missing", "10.1.0.100")}

    lines = tool(runtime, "ipam", "check", "--repair").lines()

    assert lines == ["10.1.0.100: restored", "nothing is wrong"]
    live.check().succeeded()
    live.delete().succeeded()
    assert state.left() == []


def test_damage_of_each_kind_is_found_and_mended(
    runtime: Runtime, live: Attachment, stale: Attachment, state: State
) -> None:
    plant(state, "10.1.0.150", b"gone\r\neth0")
    plant(state, "10.1.0.151", b"")
    plant(state, "10.1.0.100", b"")
    plant(state, "notes.txt", b"")
    (state.root / "pools/10.2.0.0-24/10.2.0.100").unlink()
    (state.root / "attachments/rails/.x:net1.json.new").write_bytes(b"{")
    assert findings(runtime) == {
        ("orphaned", "10.1.0.150"),
        ("damaged", "10.1.0.151"),
        ("damaged", "10.1.0.100"),
        ("foreign", "pools/10.1.0.0-24/notes.txt"),
        ("missing", "10.2.0.100"),
        ("damaged", "attachments/rails/.x:net1.json.new"),
        ("stale", f"rails c-{stale.pod.name}:net1"),
    }

    document = tool(runtime, "ipam", "check", "--repair", "--json").document(1)

    assert document["failed"] == []
    assert {each["subject"] for each in document["mended"]} == {
        "10.1.0.150",
        "10.1.0.151",
        "10.1.0.100",
        "10.2.0.100",
        "attachments/rails/.x:net1.json.new",
        f"rails c-{stale.pod.name}:net1",
    }
    assert document["findings"] == [
        {
            "kind": "foreign",
            "subject": "pools/10.1.0.0-24/notes.txt",
            "problem": "is no address",
            "advice": "move it away",
        }
    ]
    (state.root / "pools/10.1.0.0-24/notes.txt").unlink()
    assert findings(runtime) == set()
    live.check().succeeded()
    live.delete().succeeded()
    assert state.left() == []


def host_local(command: str, folder: Path, container: str) -> Document:
    """Call Debian's host-local as a main plugin does."""
    ipam = {"type": "host-local", "dataDir": str(folder), "ranges": [[{"subnet": BLOCK}]]}
    conf = {"cniVersion": "1.0.0", "name": "old", "type": "macvlan", "ipam": ipam}
    environment = {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": container,
        "CNI_NETNS": "/nonexistent",
        "CNI_IFNAME": "eth0",
        "CNI_PATH": DELEGATES,
    }
    done = subprocess.run(
        [f"{DELEGATES}/host-local"],
        env=os.environ | environment,
        input=json.dumps(conf),
        check=True,
        capture_output=True,
        text=True,
    )
    result: Document = json.loads(done.stdout or "{}")
    return result


def given(result: Document) -> str:
    (ip,) = result["ips"]
    return str(ip["address"]).partition("/")[0]


def test_import_of_a_folder_of_host_local(
    runtime: Runtime, pod: Namespace, tmp_path: Path, state: State
) -> None:
    folder = tmp_path / "networks"
    held = [given(host_local("ADD", folder, f"old{number}")) for number in range(3)]
    assert held == ["10.1.0.2", "10.1.0.3", "10.1.0.4"]

    document = tool(
        runtime, "ipam", "import", str(folder / "old"), "--subnet", BLOCK, "--json"
    ).document()

    assert document == {
        "dryRun": False,
        "subnet": BLOCK,
        "imported": held,
        "present": 0,
        "outside": 0,
        "refused": [],
        "cursor": "10.1.0.4",
    }
    assert state.addresses() == {each: f"old{n} eth0" for n, each in enumerate(held)}
    assert findings(runtime) == set()
    tool(runtime, "gc").lines()
    tool(runtime, "ipam", "release", *held).lines(1)
    assert state.addresses().keys() == {*held}

    # Ours goes on where host-local stood, and host-local works on as before.
    conf = runtime.conf(**ranges(1, first=1, last=254))
    attachment = runtime.attachment(pod, conf)
    assert given(attachment.add()) == "10.1.0.5"
    host_local("DEL", folder, "old1")
    assert given(host_local("ADD", folder, "old9")) == "10.1.0.5"

    # What it has freed since is free in ours, too.
    assert findings(runtime) == {("stale", "10.1.0.3")}
    tool(runtime, "gc").lines()
    assert state.addresses().keys() == {"10.1.0.2", "10.1.0.4", "10.1.0.5"}
    assert findings(runtime) == set()
    attachment.check().succeeded()


def test_output_into_a_pipe_has_no_colours(runtime: Runtime, live: Attachment) -> None:
    assert live.result
    for words in (["list"], ["show", "10.1.0.100"], ["check"], ["--help"]):
        done = subprocess.run(
            [*runtime.node_command(), "ipam", *words]
            + ([] if words == ["--help"] else ["--data-dir", str(runtime.data_dir)]),
            env=os.environ | {"TERM": "xterm-256color"},
            check=True,
            capture_output=True,
        )
        assert b"\x1b" not in done.stdout + done.stderr


def test_not_root(runtime: Runtime, live: Attachment) -> None:
    assert live.result
    nobody = runtime.but(wrapper=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    for words in (["ipam", "list"], ["ipam", "check"], ["gc"]):
        ended = tool(nobody, *words)
        assert (ended.status, ended.stdout) == (1, "")
        (line,) = ended.stderr.splitlines()
        assert line.endswith("; are you root?")
        assert "Permission denied" in line
