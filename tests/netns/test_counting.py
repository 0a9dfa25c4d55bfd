"""Strategies that count what pods have taken: pods spread exactly, at any moment of their ADD."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import masters_of
from tests.pytest_netns import wait_until

if TYPE_CHECKING:
    from tests.netns.mounts import Mounts
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Document, Namespace, Namespaces, Node, Runtime

NO_NICS = 100
AT_ONCE = 8
RAILS = ["rail1", "rail2", "rail3", "rail4"]


@pytest.fixture
def measured(runtime: Runtime, mounts: Mounts) -> Runtime:
    """Return the runtime of a node whose four NICs have 100 Gbit/s each."""
    mounts.mount_tmpfs("/etc/cni")
    folder = mounts.seen("/etc/cni/multinic")
    folder.mkdir()
    speeds = dict.fromkeys(RAILS, "100Gbps")
    (folder / "node.json").write_text(json.dumps({"speeds": speeds}))
    return runtime.but(wrapper=mounts.wrapper)


def conf_of(runtime: Runtime, **policy: object) -> Document:
    return runtime.conf(masters=["rail*"], attachPolicy=policy)


def attach(runtime: Runtime, namespaces: Namespaces, conf: Document, pods: int) -> list[Attachment]:
    """Attach so many pods, some at a time."""
    attachments = [runtime.attachment(namespaces.make("pod"), conf) for _ in range(pods)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda attachment: attachment.add(), attachments))
    return attachments


def pods_on(state: State) -> Counter[str]:
    return Counter(nic["nic"] for record in state.records().values() for nic in record["nics"])


def taken(state: State) -> Counter[str]:
    """Return the Mbit/s that the records say are taken of each NIC."""
    total: Counter[str] = Counter()
    for record in state.records().values():
        for nic in record["nics"]:
            total[nic["nic"]] += nic.get("megabits", 0)
    return total


def test_cost_opt_gives_each_bandwidth_once(
    measured: Runtime, namespaces: Namespaces, node: Node, pod: Namespace, state: State
) -> None:
    """Sixteen pods of 25 Gbit/s fill four NICs of 100 Gbit/s: none is left, and none is short."""
    conf = conf_of(measured, strategy="costOpt", target="25Gbps")

    attachments = attach(measured, namespaces, conf, 16)

    assert pods_on(state) == dict.fromkeys(RAILS, 4)
    assert taken(state) == dict.fromkeys(RAILS, 100_000)
    message = measured.attachment(pod, conf).call("ADD").error(NO_NICS)
    assert "target 25 Gbit/s cannot be reached: nothing is free" in message
    assert "rail1, rail2, rail3, rail4: 0 Mbit/s of 100 Gbit/s are free" in message
    leaving = attachments[5]
    freed = masters_of(leaving.pod, node)
    leaving.delete().succeeded()
    measured.attachment(pod, conf).add()
    assert masters_of(pod, node) == freed
    assert taken(state) == dict.fromkeys(RAILS, 100_000)


def test_perf_opt_takes_what_is_most_free(
    measured: Runtime, namespaces: Namespaces, pod: Namespace, state: State
) -> None:
    """Each pod needs two NICs, and has half of its target on each."""
    policy: dict[str, Any] = {"strategy": "perfOpt", "target": "20Gbps", "minNics": 2}

    attach(measured, namespaces, conf_of(measured, **policy), 10)

    assert pods_on(state) == dict.fromkeys(RAILS, 5)
    assert taken(state) == dict.fromkeys(RAILS, 50_000)
    greedy = conf_of(measured, **policy | {"target": "800G", "minNics": 1})
    measured.attachment(pod, greedy).add()
    assert taken(state) == dict.fromkeys(RAILS, 100_000)


@pytest.mark.parametrize("nics", [1, 2])
def test_topology_spreads_pods_without_devices(
    runtime: Runtime, namespaces: Namespaces, state: State, nics: int
) -> None:
    conf = conf_of(runtime, strategy="topology", nics=nics)

    attachments = attach(runtime, namespaces, conf, 12)

    assert pods_on(state) == dict.fromkeys(RAILS, 3 * nics)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda attachment: attachment.delete().succeeded(), attachments))
    assert state.left() == []


def test_pods_of_other_networks_count(
    runtime: Runtime, namespaces: Namespaces, state: State
) -> None:
    """Those of a network that does not count itself, too."""
    plain = runtime.conf(name="plain", masters=["rail1", "rail3"])
    runtime.attachment(namespaces.make("pod"), plain).add()
    assert not (state.root / "choosing").exists()  # nor has it waited for those that do

    conf = conf_of(runtime, strategy="topology", nics=2)
    attachment = runtime.attachment(namespaces.make("pod"), conf)
    attachment.add()

    assert sorted(
        nic["nic"] for nic in state.records()[f"c-{attachment.pod.name}:net1"]["nics"]
    ) == [
        "rail2",
        "rail4",
    ]


def test_failed_add_gives_its_part_back(
    measured: Runtime, namespaces: Namespaces, pod: Namespace, state: State
) -> None:
    conf = conf_of(measured, strategy="costOpt", target="400Gbps")
    broken = conf | {"plugin": {"type": "macvlan", "mode": "no such mode"}}
    assert measured.attachment(namespaces.make("pod"), broken).call("ADD").status == 1
    measured.attachment(pod, conf).add()
    assert taken(state) == dict.fromkeys(RAILS, 100_000)


def test_bandwidth_of_a_renamed_nic_is_not_given_twice(
    measured: Runtime, node: Node, pod: Namespace, other_pod: Namespace, mounts: Mounts
) -> None:
    speeds = {"rail1": "100Gbps", "fab1": "100Gbps"}
    mounts.seen("/etc/cni/multinic/node.json").write_text(json.dumps({"speeds": speeds}))
    policy = {"strategy": "costOpt", "target": "60Gbps"}
    conf = measured.conf(masters=["rail1", "fab1"], attachPolicy=policy)
    measured.attachment(pod, conf).add()
    node.ip("link set rail1 down", "link set rail1 name fab1", "link set fab1 up")
    wait_until(lambda: node.links()["fab1"]["operstate"] == "UP", "fab1 has a carrier")

    answer = measured.attachment(other_pod, conf).call("ADD")

    assert "fab1: 40 Gbit/s of 100 Gbit/s are free" in answer.error(NO_NICS)


def test_pod_that_went_without_a_del_does_not_keep_its_bandwidth(
    measured: Runtime, namespaces: Namespaces, node: Node, other_pod: Namespace
) -> None:
    conf = conf_of(measured, strategy="costOpt", target="400Gbps")
    gone = namespaces.make("pod")
    measured.attachment(gone, conf).add()
    namespaces.remove(gone)

    measured.attachment(other_pod, conf).add()

    assert masters_of(other_pod, node) == RAILS
