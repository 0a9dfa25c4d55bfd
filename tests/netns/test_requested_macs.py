"""A MAC that a pod asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.asking import SOURCES, asking
from tests.netns.confs import ranges
from tests.pytest_netns import on_rail, rail_net

if TYPE_CHECKING:
    from tests.netns.delegates import Delegates
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

BAD_CONF, DELEGATE_FAILED = 7, 104
MAC = "02:00:5e:10:00:01"


@pytest.mark.parametrize("source", SOURCES)
def test_mac_is_the_first_interfaces(
    runtime: Runtime, pod: Namespace, state: State, source: str
) -> None:
    conf = runtime.conf(**ranges(2, 1, 3))
    attachment = asking(runtime, pod, conf, mac=MAC.upper(), sources=(source,))

    result = attachment.add()

    macs = {name: link["address"] for name, link in pod.links().items()}
    assert macs["net1"] == MAC
    assert len(set(macs.values())) == 3
    assert {each["name"]: each["mac"] for each in result["interfaces"]} == macs
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert state.left() == []


def test_mac_is_the_only_interfaces_whatever_its_name(runtime: Runtime, pod: Namespace) -> None:
    conf = runtime.conf(interfaceNames="indexed", **ranges(1))

    asking(runtime, pod, conf, mac=MAC).add()

    assert {name: link["address"] for name, link in pod.links().items()} == {"net1-0": MAC}


def test_mac_where_no_interface_has_the_runtimes_name(
    runtime: Runtime, node: Node, pod: Namespace, state: State
) -> None:
    """Indexed names never are CNI_IFNAME; with rail, the first rail's is, which is down here."""
    node.ip("link set rail1 down")
    for names, inner in (("indexed", "net1-0, net1-1"), ("rail", "net1-1, net1-2")):
        conf = runtime.conf(interfaceNames=names, **ranges(1, 2, 3))

        message = asking(runtime, pod, conf, mac=MAC).call("ADD").error(BAD_CONF)

        assert f"the MAC {MAC} is for the interface net1 (CNI_IFNAME)" in message
        assert inner in message
        assert pod.links() == {}
        assert state.left() == []


def test_mac_of_another_pod_on_the_same_nic(
    runtime: Runtime, pod: Namespace, other_pod: Namespace, state: State
) -> None:
    """The kernel refuses it, and what was begun is undone."""
    conf = runtime.conf(**ranges(1, 2))
    asking(runtime, other_pod, conf, mac=MAC).add()
    nothing, held = pod.facts(), state.addresses()

    message = asking(runtime, pod, conf, mac=MAC).call("ADD").error(DELEGATE_FAILED)

    assert "delegate macvlan on NIC rail1 (net1)" in message
    assert pod.facts() == nothing
    assert state.addresses() == held


def test_delegate_that_ignores_the_mac(
    runtime: Runtime, node: Node, pod: Namespace, delegates: Delegates, state: State
) -> None:
    delegates.write("macvlan", 'conf=$(printf %s "$conf" | sed "s/runtimeConfig/x/"); real')
    node_before = node.facts()
    conf = runtime.conf(**ranges(1, 2))
    attachment = asking(delegates.used_by(runtime), pod, conf, mac=MAC)

    message = attachment.call("ADD").error(DELEGATE_FAILED)

    assert "delegate macvlan on NIC rail1 (net1): the MAC is" in message
    assert f"the pod asks for {MAC}" in message
    assert pod.links() == {}
    assert node.facts() == node_before
    assert state.left() == []


@pytest.mark.parametrize("kind", ["host-device", "ptp"])
def test_delegate_that_knows_no_macs_needs_one_behind_it_that_does(
    runtime: Runtime, node: Node, pod: Namespace, state: State, kind: str
) -> None:
    nics, tuning = node.links(), {"type": "tuning", "capabilities": {"mac": True}}
    addresses = ranges(1)
    addresses["ipam"]["ranges"][rail_net(1)][0]["gateway"] = on_rail(1, 250)
    alone = runtime.conf(plugin=[{"type": kind}, {"type": "tuning"}], **addresses)

    message = asking(runtime, pod, alone, mac=MAC).call("ADD").error(BAD_CONF)

    assert f"the MAC {MAC} cannot be given by {kind}" in message
    assert pod.links() == {}
    assert state.left() == []
    assert node.links() == nics

    attachment = asking(runtime, pod, alone | {"plugin": [{"type": kind}, tuning]}, mac=MAC)
    attachment.add()
    assert pod.links()["net1"]["address"] == MAC
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert state.left() == []
    macs = {name: link["address"] for name, link in nics.items()}
    assert {name: link["address"] for name, link in node.links().items()} == macs
