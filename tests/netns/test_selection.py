"""Which of the node's NICs a pod gets, and what it hears when it gets none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import masters_of, ranges
from tests.pytest_netns import on_rail, rail_net

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

NO_NICS, ALL = 100, ["rail*"]


def test_default_route_and_bridge_port_are_not_taken(
    runtime: Runtime, node: Node, pod: Namespace
) -> None:
    node.ip(
        "link add br-host type bridge",
        "link set rail2 master br-host",
        f"route add default via {on_rail(3, 254)} dev rail3 metric 50",
        f"route add default via {on_rail(4, 254)} dev rail4 metric 100",
    )

    runtime.attachment(pod, runtime.conf(masters=ALL)).add()

    assert masters_of(pod, node) == ["rail1", "rail4"]


def test_default_route_nic_is_taken_when_named_exactly(
    runtime: Runtime, node: Node, pod: Namespace, other_pod: Namespace
) -> None:
    node.ip(f"route add default via {on_rail(3, 254)} dev rail3")

    runtime.attachment(pod, runtime.conf(masters=["rail3"])).add()
    runtime.attachment(other_pod, runtime.conf(**ranges(3))).add()

    assert masters_of(pod, node) == ["rail3"]
    assert masters_of(other_pod, node) == ["rail3"]


def test_altname_names_a_nic(runtime: Runtime, node: Node, pod: Namespace) -> None:
    node.ip("link property add dev rail4 altname enp9s0f1np1-of-the-fast-card")

    runtime.attachment(pod, runtime.conf(masters=["enp9s0*"])).add()

    assert masters_of(pod, node) == ["rail4"]


def test_unhealthy_nics_are_skipped_and_logged(
    runtime: Runtime, node: Node, pod: Namespace
) -> None:
    node.ip("link set rail1 down")
    node.unplug(3)
    answer = runtime.attachment(pod, runtime.conf(**ranges(1, 2, 3, 4))).call("ADD")

    # rail1's address stays with it when it is down.
    assert [each["address"] for each in answer.result()["ips"]] == [
        "10.2.0.100/24",
        "10.4.0.100/24",
    ]
    assert masters_of(pod, node) == ["rail2", "rail4"]
    assert "NIC rail1 not taken: it is down" in answer.stderr
    assert "NIC rail3 not taken: it has no carrier" in answer.stderr


def test_a_missing_rail_shifts_no_other_rails_name_or_block(
    runtime: Runtime, node: Node, pod: Namespace
) -> None:
    node.ip("link set rail2 down")
    conf = runtime.conf(interfaceNames="rail", **ranges(1, 2, 3))

    result = runtime.attachment(pod, conf).add()

    assert [each["name"] for each in result["interfaces"]] == ["net1", "net1-2"]
    assert pod.addresses() == {"net1": ["10.1.0.100/24"], "net1-2": ["10.3.0.100/24"]}


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("spec", ["net1", "net1-1"]),
        ("rail", ["net1", "net1-1"]),
        ("indexed", ["net1-0", "net1-1"]),
    ],
)
def test_interface_names(runtime: Runtime, pod: Namespace, mode: str, names: list[str]) -> None:
    result = runtime.attachment(pod, runtime.conf(interfaceNames=mode, **ranges(3, 1))).add()

    assert [each["name"] for each in result["interfaces"]] == names
    assert [each["address"] for each in result["ips"]] == ["10.3.0.100/24", "10.1.0.100/24"]


def test_too_few_nics_is_an_error_that_says_why_for_each(
    runtime: Runtime, node: Node, pod: Namespace, state: State
) -> None:
    node.ip("link set rail1 down", "link add br-host type bridge", "link set rail4 master br-host")
    nothing = pod.facts()
    conf = runtime.conf(masters=["rail[124]"], attachPolicy={"minNics": 2})

    message = runtime.attachment(pod, conf).call("ADD").error(NO_NICS)

    for part in (
        "2 NICs needed, 1 usable",
        "rail1: it is down",
        "rail4: it is a port of br-host",
        "br-host, rail3: neither its name nor its addresses are in masters",
        "lo: it is the loopback",
    ):
        assert part in message
    assert pod.facts() == nothing
    assert state.left() == []


def test_software_links_must_be_named(runtime: Runtime, pod: Namespace) -> None:
    """The rails of these tests are veths: without masterNets and masters none is a candidate."""
    message = runtime.attachment(pod, runtime.conf()).call("ADD").error(NO_NICS)

    assert "rail1, rail2, rail3, rail4: it is a veth: name it in masters to use it" in message


def test_policy_and_pod_narrow(runtime: Runtime, node: Node, pod: Namespace) -> None:
    conf = runtime.conf(
        attachPolicy={"nics": 3}, args={"cni": {"masters": ["rail2", "rail4"], "nics": "1"}}
    )

    runtime.attachment(pod, conf | {"masters": ALL}).add()

    assert masters_of(pod, node) == ["rail2"]


def test_policy_limits_a_pod_that_wants_more(runtime: Runtime, node: Node, pod: Namespace) -> None:
    conf = runtime.conf(masters=ALL, attachPolicy={"nics": 2}, args={"cni": {"nics": 4}})

    runtime.attachment(pod, conf).add()

    assert masters_of(pod, node) == ["rail1", "rail2"]


@pytest.mark.parametrize("wish", [{"masters": ["rail2"]}, {"master": "rail2"}, {"masters": ["*2"]}])
def test_pod_cannot_widen(
    runtime: Runtime, pod: Namespace, state: State, wish: dict[str, object]
) -> None:
    conf = runtime.conf(masterNets=[rail_net(1)], args={"cni": wish})

    message = runtime.attachment(pod, conf).call("ADD").error(NO_NICS)

    assert "which this network does not allow" in message
    assert pod.links() == {}
    assert state.left() == []


def test_order_is_natural_within_masters(runtime: Runtime, node: Node, pod: Namespace) -> None:
    node.plug_in(1, "rail10", host=10)

    runtime.attachment(pod, runtime.conf(masters=ALL)).add()

    assert masters_of(pod, node) == ["rail1", "rail2", "rail3", "rail4", "rail10"]


def test_node_file_gives_the_host_index(runtime: Runtime, pod: Namespace, tmp_path: Path) -> None:
    """In a mount namespace, so that the machine's own /etc/cni stays what it is."""
    (tmp_path / "node.json").write_text('{"hostIndex": 5}')
    prepare = (
        "mount -t tmpfs tmpfs /etc/cni && mkdir /etc/cni/multinic"
        f" && cp {tmp_path}/node.json /etc/cni/multinic && exec {runtime.executable}"
    )
    elsewhere = runtime.but(wrapper=("unshare", "--mount", "sh", "-c", prepare))
    conf = runtime.conf(
        masterNets=[rail_net(1)],
        subnet="172.16.0.0/16",
        ipam={"type": "multi-nic-ipam", "interfaceBlock": 2, "hostBlock": 6},
    )

    without = runtime.attachment(pod, conf).call("ADD").error(7)
    result = elsewhere.attachment(pod, conf).add()

    assert "/etc/cni/multinic/node.json" in without or "has no host index" in without
    assert result["ips"] == [{"address": "172.16.5.1/18", "interface": 0}]
