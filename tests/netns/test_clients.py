"""What real clients send, recorded and replayed: libcni, Multus, containerd, podman.

The recordings' confs are used as they are but for what belongs to a machine: the netns, CNI_PATH
and the data directories. Most were made without a delegate, so a macvlan and addresses are put in
where `plugin` and `ipam` are missing, and a NIC where `masters` is. CHECK and DEL carry the results
that the replayed ADDs gave.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.pytest_netns import DELEGATES

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Answer, Namespace, Node, Runtime

RECORDINGS = Path(__file__).parent / "clients"
BAD_CONF, ALREADY_ATTACHED = 7, 103


def ranges(*masters: str) -> dict[str, Any]:
    """Return an ipam block: 10.201.0.0/16 for rail1 and so on."""
    nets = {name: f"10.20{name.removeprefix('rail')}.0.0/16" for name in masters}
    return {
        "type": "multi-nic-ipam",
        "ranges": {name: [{"subnet": net}] for name, net in nets.items()},
    }


def invocations(recording: str) -> list[dict[str, Any]]:
    document = json.loads((RECORDINGS / recording).read_text())
    listed: list[dict[str, Any]] = document["invocations"]
    return listed


def without_ipam(invocation: dict[str, Any]) -> dict[str, Any]:
    """Return an invocation whose conf leaves the addresses to this file, as most recordings do."""
    conf = json.loads(invocation["stdin"])
    return invocation | {"stdin": json.dumps({key: conf[key] for key in conf if key != "ipam"})}


class Replay:
    """Sends recorded invocations, and remembers ADDs' results as the client did."""

    def __init__(self, runtime: Runtime, pod: Namespace) -> None:
        self.runtime, self.pod = runtime, pod
        self.results: dict[str, dict[str, Any]] = {}

    def send(self, invocation: dict[str, Any]) -> Answer:
        environment = dict(invocation["env"])
        if environment["CNI_NETNS"].startswith("/"):
            environment["CNI_NETNS"] = self.pod.path
        # Multus sends the folder twice.
        folders = environment["CNI_PATH"].replace("/opt/cni/bin", DELEGATES)
        conf = self.conf(json.loads(invocation["stdin"]), invocation)
        command = environment.pop("CNI_COMMAND")
        # One line, sorted keys, no newline at its end, as Go writes it.
        stdin = json.dumps(conf, sort_keys=True, separators=(",", ":")).encode()
        answer = self.runtime.call(command, stdin, **environment | {"CNI_PATH": folders})
        if command == "ADD" and answer.status == 0:
            self.results[self.key(conf, invocation)] = answer.document
        return answer

    def conf(self, conf: dict[str, Any], invocation: dict[str, Any]) -> dict[str, Any]:
        if invocation["env"]["CNI_COMMAND"] == "VERSION":
            return conf
        conf["dataDir"] = str(self.runtime.data_dir)
        conf.setdefault("plugin", {"type": "macvlan", "mode": "bridge"})
        if "ipam" in conf:
            conf["ipam"]["dataDir"] = str(self.runtime.data_dir.with_name("host-local"))
        else:
            masters = conf.setdefault("masters", ["rail4"])
            conf["ipam"] = ranges(*masters)
        if "prevResult" in conf and invocation["env"]["CNI_COMMAND"] != "ADD":
            conf["prevResult"] = self.results.get(self.key(conf, invocation), conf["prevResult"])
        return conf

    @staticmethod
    def key(conf: dict[str, Any], invocation: dict[str, Any]) -> str:
        return f"{conf['name']} {invocation['env']['CNI_IFNAME']}"


@pytest.fixture
def replay(runtime: Runtime, pod: Namespace) -> Replay:
    return Replay(runtime, pod)


def names_and_addresses(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (document["interfaces"][ip["interface"]]["name"], ip["address"]) for ip in document["ips"]
    ]


def test_multus(replay: Replay, pod: Namespace, node: Node, state: State) -> None:
    """ADD of net1 and of a chain on net2, CHECKs, and DELs in reverse.

    The chain of the recording has an entry of ours twice. Both are the same attachment, so the
    second is refused, and Multus would undo the first.
    """
    before = node.facts()
    added, listed, chained, *checks, chained_del, listed_del, deleted = invocations("multus.json")

    first = replay.send(added).result()
    assert sorted(address for _, address in names_and_addresses(first)) == [
        "10.201.0.2/16",
        "10.201.0.3/16",
    ]
    assert [each["name"] for each in first["interfaces"]] == ["net1", "net1-1"]
    second = replay.send(listed).result()
    assert names_and_addresses(second) == [("net2", "10.203.0.1/16")]
    replay.send(chained).error(ALREADY_ATTACHED)
    assert pod.links().keys() == {"net1", "net1-1", "net2"}
    for check in checks[:2]:
        replay.send(check).succeeded()

    for deletion in (chained_del, listed_del, deleted):
        replay.send(deletion).succeeded()
    assert pod.links() == {}
    assert state.left() == []
    assert node.facts() == before


def test_multus_in_kubernetes_and_containerd(
    replay: Replay, runtime: Runtime, pod: Namespace, state: State
) -> None:
    """One address is asked for, and host-local cannot know on which of the two NICs."""
    added, deleted, cri_added, cri_deleted, cri_removed, version = invocations(
        "multus-kubernetes-and-containerd.json"
    )

    message = replay.send(added).error(BAD_CONF)
    assert "runtimeConfig.ips 10.201.7.8/16: must be one address for each NIC" in message
    replay.send(deleted).succeeded()
    assert pod.links() == {}

    stop_and_remove(replay, pod, cri_added, [cri_deleted, cri_removed])
    assert replay.send(version).result()["cniVersion"] == "1.0.0"
    assert state.left() == []
    assert runtime.node.links().keys() == {"rail1", "rail2", "rail3", "rail4"}


def test_multus_where_pools_tell_whose_an_address_is(
    replay: Replay, pod: Namespace, state: State
) -> None:
    """The same invocation, which names one address and one MAC, with addresses of our own."""
    added, deleted = map(without_ipam, invocations("multus-kubernetes-and-containerd.json")[:2])

    result = replay.send(added).result()

    assert names_and_addresses(result) == [
        ("multi0", "10.201.7.8/16"),
        ("multi0-1", "10.202.0.1/16"),
    ]
    macs = [each["mac"] for each in result["interfaces"]]
    assert macs[0] == "02:11:22:33:44:77"
    assert macs[1] != macs[0]
    replay.send(deleted).succeeded()
    assert pod.links() == {}
    assert state.left() == []


def stop_and_remove(
    replay: Replay,
    pod: Namespace,
    added: dict[str, Any],
    deletions: list[dict[str, Any]],
) -> None:
    """Behind a plugin that made eth0, and two DELs: one at the stop, one at the removal."""
    pod.ip("link add eth0 type bridge", "address add 10.191.0.3/16 dev eth0")
    previous = json.loads(added["stdin"])["prevResult"]

    result = replay.send(added).result()

    assert result["interfaces"][:3] == previous["interfaces"]
    assert result["ips"][0] == previous["ips"][0]
    assert names_and_addresses(result)[1:] == [
        ("eth0-1", "10.201.0.1/16"),
        ("eth0-2", "10.202.0.1/16"),
    ]
    assert result["routes"] == previous["routes"]
    for deletion in deletions:
        replay.send(deletion).succeeded()
    assert pod.links().keys() == {"eth0"}
    pod.ip("link delete eth0")


def test_containerd(replay: Replay, pod: Namespace, state: State) -> None:
    added, deleted = invocations("containerd-cri.json")

    stop_and_remove(replay, pod, added, [deleted])

    assert state.left() == []


def test_podman(replay: Replay, pod: Namespace, state: State) -> None:
    added, deleted = invocations("podman.json")

    result = replay.send(added).result()

    assert names_and_addresses(result) == [("eth1", "10.201.0.1/16"), ("eth1-1", "10.202.0.1/16")]
    assert pod.links().keys() == {"eth1", "eth1-1"}
    replay.send(deleted).succeeded()
    assert pod.links() == {}
    assert state.left() == []


def test_cnitool_sends_status_and_gc_with_empty_variables(
    runtime: Runtime, pod: Namespace, state: State
) -> None:
    """The tool of libcni sends the plain conf, all else empty, and no list of attachments."""
    conf = runtime.conf(masters=["rail1"], ipam=ranges("rail1"))
    attachment = runtime.attachment(pod, conf)
    attachment.add()
    empty = dict.fromkeys(["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS"], "")

    runtime.call("STATUS", conf, **empty).succeeded()
    runtime.call("GC", conf, **empty).succeeded()

    attachment.check().succeeded()
    assert len(state.records()) == 1
