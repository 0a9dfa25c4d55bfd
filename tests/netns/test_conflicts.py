"""What would fail, or break others, is found before any delegate runs; the error names both."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import masters_of, ranges
from tests.pytest_netns import Namespaces, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

    Refusal = Callable[..., str]

NO_NICS, DELEGATE_FAILED = 100, 104
PASSTHRU = {"type": "macvlan", "mode": "passthru"}
IPVLAN = {"type": "ipvlan", "cniVersion": "1.0.0", "name": "other", "mode": "l3"}
MACVLAN, HOST_DEVICE = {"type": "macvlan"}, {"type": "host-device"}
# With addresses of our store, with none, and with those of another plugin.
ADDRESSES: list[dict[str, Any]] = [
    ranges(1),
    {"masters": ["rail1"]},
    {"masters": ["rail1"], "ipam": {"type": "static", "addresses": [{"address": "10.1.0.77/24"}]}},
]


@pytest.fixture
def refusal(runtime: Runtime, delegates: Delegates) -> Refusal:
    """Return what an ADD answers that changes nothing and executes no delegate."""
    delegates.write("macvlan", "real")
    delegates.write("host-device", "real")

    def refused(pod: Namespace, **keys: object) -> str:
        before = pod.facts(), runtime.node.facts(), records(runtime.data_dir)
        attachment = delegates.used_by(runtime).attachment(pod, runtime.conf(**keys))
        message = attachment.call("ADD").error(NO_NICS)
        assert before == (pod.facts(), runtime.node.facts(), records(runtime.data_dir))
        assert delegates.calls() == []
        return message

    return refused


def records(data_dir: Path) -> list[str]:
    return sorted(str(each) for each in data_dir.glob("attachments/*/*.json"))


def test_bridge_port(refusal: Refusal, node: Node, pod: Namespace) -> None:
    node.ip("link add br-host type bridge", "link set rail2 master br-host")

    as_master = refusal(pod, masters=["rail2"])
    as_device = refusal(pod, masters=["rail2"], plugin=HOST_DEVICE)

    assert as_master == (
        "NIC rail2: it is a port of bridge br-host, which takes its frames: macvlan can have"
        " br-host as its master instead"
    )
    assert as_device == "NIC rail2: it is a port of bridge br-host, which would lose it"


def test_others_take_the_place_of_a_port(runtime: Runtime, node: Node, pod: Namespace) -> None:
    node.ip("link add br-host type bridge", "link set rail1 master br-host")
    conf = runtime.conf(masters=["rail1", "rail*"], attachPolicy={"nics": 2})

    runtime.attachment(pod, conf).add()

    assert masters_of(pod, node) == ["rail2", "rail3"]


def test_bridge_itself_can_be_the_master(runtime: Runtime, node: Node, pod: Namespace) -> None:
    """As the error says."""
    node.ip("link add br-host type bridge", "link set rail1 master br-host", "link set br-host up")
    wait_until(lambda: node.links()["br-host"]["operstate"] == "UP", "br-host has a carrier")

    runtime.attachment(pod, runtime.conf(masters=["br-host"])).add()

    assert masters_of(pod, node) == ["br-host"]


def test_links_of_the_node_on_the_nic(refusal: Refusal, node: Node, pod: Namespace) -> None:
    node.ip(
        "link add link rail1 name own0 type macvlan mode private",
        "link add link rail2 name own1 type macvlan mode passthru",
    )

    wants_it_alone = refusal(pod, masters=["rail1"], plugin=PASSTHRU)
    takes_it_away = refusal(pod, masters=["rail1"], plugin=HOST_DEVICE)
    comes_to_the_one = refusal(pod, masters=["rail2"])

    alone = "mode passthru wants a NIC for itself"
    assert wants_it_alone == (
        f"NIC rail1: macvlan passthru is wanted, but own0 on it is macvlan: {alone}"
    )
    assert takes_it_away == (
        "NIC rail1: host-device is wanted, but own0 on it is macvlan: they would lose the NIC"
    )
    assert comes_to_the_one == (
        f"NIC rail2: macvlan is wanted, but own1 on it is macvlan passthru: {alone}"
    )


def test_macvlans_of_the_node_are_no_conflict(runtime: Runtime, node: Node, pod: Namespace) -> None:
    node.ip("link add link rail1 name own0 type macvlan mode private")

    runtime.attachment(pod, runtime.conf(masters=["rail1"])).add()

    assert masters_of(pod, node) == ["rail1"]


def test_mtu_above_the_nics(runtime: Runtime, refusal: Refusal, node: Node, pod: Namespace) -> None:
    node.ip("link set rail1 mtu 4000", "link set rail2 mtu 9000")
    large = {"type": "macvlan", "mtu": 9000}

    message = refusal(pod, masters=["rail1", "rail2"], plugin=large)

    assert message == "NIC rail1: mtu 9000 of macvlan is more than the NIC's own, 4000"
    runtime.attachment(pod, runtime.conf(masters=["rail2"], plugin=large)).add()
    assert pod.links()["net1"]["mtu"] == 9000


@pytest.mark.parametrize("keys", ADDRESSES)
def test_passthru_link_in_another_pod(
    runtime: Runtime,
    refusal: Refusal,
    pod: Namespace,
    other_pod: Namespace,
    keys: dict[str, Any],
) -> None:
    """The node does not see that link; the first pod's record tells of it."""
    first = runtime.attachment(
        pod,
        runtime.conf(name="alone", plugin=PASSTHRU, **keys),
        cni_args="IgnoreUnknown=1;K8S_POD_NAMESPACE=team;K8S_POD_NAME=a",
    )
    first.add()
    uses = {"macvlan": MACVLAN, "macvlan passthru": PASSTHRU, "host-device": HOST_DEVICE}

    for use, plugin in uses.items():
        assert refusal(other_pod, plugin=plugin, masters=["rail1"]).startswith(
            f"NIC rail1: network rails wants {use}, but pod team/a of network alone has macvlan"
            " passthru on it: "
        )

    first.delete().succeeded()
    for plugin in uses.values():
        second = runtime.attachment(other_pod, runtime.conf(plugin=plugin, masters=["rail1"]))
        second.add()
        assert list(other_pod.links()) == ["net1"]
        second.delete().succeeded()


def test_others_take_the_place_of_one_in_use(
    runtime: Runtime, node: Node, pod: Namespace, other_pod: Namespace
) -> None:
    first = runtime.conf(name="alone", plugin=PASSTHRU, masters=["rail1"])
    runtime.attachment(pod, first).add()
    conf = runtime.conf(masters=["rail*"], attachPolicy={"nics": 1})

    answer = runtime.attachment(other_pod, conf).call("ADD")

    answer.result()
    assert masters_of(other_pod, node) == ["rail2"]
    assert (
        f"NIC rail1 not taken: network rails wants macvlan, but pod c-{pod.name} of network alone"
        " has macvlan passthru on it" in answer.stderr
    )


@pytest.mark.parametrize("keys", ADDRESSES)
def test_two_calls_at_once_want_the_nic_alone(
    runtime: Runtime,
    namespaces: Namespaces,
    state: State,
    keys: dict[str, Any],
) -> None:
    """Exactly one gets it, and the other hears so before its delegate runs."""
    pods = [namespaces.make("pod") for _ in range(6)]
    conf = runtime.conf(plugin=PASSTHRU, **keys)
    attachments = [runtime.attachment(each, conf) for each in pods]

    with ThreadPoolExecutor(len(pods)) as pool:
        answers = list(pool.map(lambda each: each.call("ADD"), attachments))

    assert sorted(each.status for each in answers) == [0, 1, 1, 1, 1, 1]
    for answer, each in zip(answers, pods, strict=True):
        assert list(each.links()) == ([] if answer.status else ["net1"])
        if answer.status:
            assert "mode passthru wants a NIC for itself" in answer.error(NO_NICS)
    assert len(state.records()) == 1


def test_ipvlan_pod_of_another_network(
    runtime: Runtime, refusal: Refusal, pod: Namespace, other_pod: Namespace, state: State
) -> None:
    """This kernel may have no ipvlan: the record is what tells of it, and the record is changed."""
    runtime.attachment(pod, runtime.conf(name="other", masters=["rail1", "rail2"])).add()
    (file,) = state.root.glob("attachments/other/*.json")
    record = json.loads(file.read_text())
    record["nics"][0]["confs"] = [IPVLAN | {"master": "rail1"}]
    file.write_text(json.dumps(record))
    (state.root / "uses/nics").unlink()

    message = refusal(other_pod, masters=["rail1"])

    assert message == (
        f"NIC rail1: network rails wants macvlan, but pod c-{pod.name} of network other has ipvlan"
        " l3 on it: a NIC carries macvlan or ipvlan links, never both"
    )
    runtime.attachment(other_pod, runtime.conf(masters=["rail2"])).add()
    Namespaces.remove(pod)  # without a DEL
    runtime.attachment(other_pod, runtime.conf(masters=["rail1"]), ifname="net2").add()
    assert sorted(other_pod.links()) == ["net1", "net2"]


def test_pods_that_do_the_same_write_one_note(
    runtime: Runtime, node: Node, pod: Namespace, other_pod: Namespace, state: State
) -> None:
    conf = runtime.conf(masters=["rail1", "rail2"])
    index = {name: link["ifindex"] for name, link in node.links().items()}

    runtime.attachment(pod, conf).add()
    written = (state.root / "uses/nics").stat()
    runtime.attachment(other_pod, conf | {"name": "another"}).add()

    assert json.loads((state.root / "uses/nics").read_text()) == {
        "rail1": [index["rail1"], "macvlan"],
        "rail2": [index["rail2"], "macvlan"],
    }
    assert (state.root / "uses/nics").stat().st_ino == written.st_ino


def test_strangers_link_in_another_netns_is_explained(
    runtime: Runtime, node: Node, pod: Namespace, namespaces: Namespaces, state: State
) -> None:
    """No record tells of it: the kernel does, in two words."""
    stranger = namespaces.make("stranger")
    node.ip(
        "link add link rail1 name far0 type macvlan mode passthru",
        f"link set far0 netns {stranger.name}",
    )

    answer = runtime.attachment(pod, runtime.conf(masters=["rail1"])).call("ADD")

    assert "invalid argument" in answer.error(DELEGATE_FAILED)
    assert (
        "NIC rail1 is no Ethernet, has a smaller mtu than the one wanted, or has a macvlan link in"
        " mode passthru, perhaps in another netns" in answer.document["details"]
    )
    assert pod.links() == {}
    assert state.left() == []
