"""Addresses of our own pools that a pod asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.asking import SOURCES, asking
from tests.netns.confs import MASTER_NETS, SHARED_SUBNET, ranges
from tests.pytest_netns import DELEGATES, on_rail, rail_net

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

BAD_CONF, NO_ADDRESS = 7, 101
MAC, OTHER_MAC = "02:00:5e:10:00:01", "02:00:5e:10:00:02"


@pytest.mark.parametrize("source", SOURCES)
def test_address_goes_to_the_nic_whose_pool_has_it(
    runtime: Runtime, pod: Namespace, state: State, source: str
) -> None:
    """The node is host 3: the second rail's and the third's NIC take any address."""
    asked = ("192.168.195.40/18", "192.168.3.9")
    attachment = asking(runtime, pod, runtime.conf(**SHARED_SUBNET), *asked, sources=(source,))
    expected = ["192.168.3.9", "192.168.67.1", "192.168.131.1", "192.168.195.40"]

    result = attachment.add()

    assert [ip["address"] for ip in result["ips"]] == [f"{each}/18" for each in expected]
    names = ["net1", "net1-1", "net1-2", "net1-3"]
    assert pod.addresses() == {
        name: [f"{each}/18"] for name, each in zip(names, expected, strict=True)
    }
    assert state.addresses() == dict.fromkeys(expected, f"c-{pod.name} net1")
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert state.left() == []


def test_same_address_from_all_sources_is_one_request(runtime: Runtime, pod: Namespace) -> None:
    """Multus sends it twice: in the runtimeConfig and in CNI_ARGS."""
    conf = runtime.conf(**ranges(1, 2))

    asking(runtime, pod, conf, "10.2.0.105/24", sources=tuple(SOURCES)).add()

    assert pod.addresses() == {"net1": ["10.1.0.100/24"], "net1-1": ["10.2.0.105/24"]}


def test_both_families(runtime: Runtime, pod: Namespace) -> None:
    conf = runtime.conf(
        masterNets=MASTER_NETS[:2],
        subnet=["192.168.0.0/16", "fd01::/48"],
        ipam={"type": "multi-nic-ipam", "interfaceBlock": 2},
    )

    asking(runtime, pod, conf, "fd01::77", "192.168.64.9").add()

    assert pod.addresses() == {
        "net1": ["192.168.0.1/18", "fd01::77/50"],
        "net1-1": ["192.168.64.9/18", "fd01:0:0:4000::1/50"],
    }


def test_two_nics_in_one_network_have_one_each(
    runtime: Runtime, node: Node, pod: Namespace
) -> None:
    node.plug_in(1, "twin1", host=11)

    asking(runtime, pod, runtime.conf(**ranges(1)), "10.1.0.107", "10.1.0.103").add()

    assert pod.addresses() == {"net1": ["10.1.0.107/24"], "net1-1": ["10.1.0.103/24"]}


def test_address_that_another_pod_has(
    runtime: Runtime, pod: Namespace, other_pod: Namespace, state: State
) -> None:
    conf = runtime.conf(**ranges(1, 2))
    neighbour = runtime.attachment(other_pod, conf)
    neighbour.add()
    nothing, held = pod.facts(), state.addresses()

    message = asking(runtime, pod, conf, "10.2.0.100").call("ADD").error(NO_ADDRESS)

    assert "10.2.0.100" in message
    assert "rail2" in message
    assert pod.facts() == nothing
    assert state.addresses() == held
    assert len(state.records()) == 1
    neighbour.delete().succeeded()
    asking(runtime, pod, conf, "10.2.0.100").add()
    assert pod.addresses()["net1-1"] == ["10.2.0.100/24"]


GIVEN = {
    "masterNets": MASTER_NETS[:2],
    "ipam": {
        "type": "multi-nic-ipam",
        "excludeCIDRs": ["10.1.0.64/26", "10.1.0.33"],
        "ranges": {
            rail_net(1): [{"gateway": on_rail(1, 254)}],
            rail_net(2): [{"rangeStart": on_rail(2, 100), "rangeEnd": on_rail(2, 109)}],
        },
    },
}


@pytest.mark.parametrize(
    ("asked", "code", "reason"),
    [
        (["10.1.0.254"], NO_ADDRESS, "it is the gateway of NIC rail1's pool"),
        (["10.1.0.1"], NO_ADDRESS, "it is reserved in NIC rail1's pool"),  # the node's own
        (["10.1.0.33"], NO_ADDRESS, "it is reserved in NIC rail1's pool"),
        (["10.1.0.127"], NO_ADDRESS, "it is reserved in NIC rail1's pool"),
        (["10.1.0.0"], NO_ADDRESS, "it is in NIC rail1's network 10.1.0.0/24, but not among"),
        (["10.1.0.255"], NO_ADDRESS, "it is in NIC rail1's network 10.1.0.0/24, but not among"),
        (["10.2.0.110"], NO_ADDRESS, "this node gives: 10.2.0.100 to 10.2.0.109"),
        (["10.3.0.100"], NO_ADDRESS, "it is in no chosen NIC's network"),
        (["127.0.0.1"], NO_ADDRESS, "it is in no chosen NIC's network"),
        (["fd00::7"], NO_ADDRESS, "it is in no chosen NIC's network"),
        (["10.1.0.7", "10.3.0.100"], NO_ADDRESS, "10.3.0.100 cannot be given"),
        (["10.1.0.7", "10.1.0.8"], BAD_CONF, "10.1.0.8: NIC rail1 has another requested address"),
        (["10.1.0.7/16"], BAD_CONF, "addresses of NIC rail1 have prefix length 24"),
        (["10.1.0.7/33"], BAD_CONF, '"10.1.0.7/33" is no address'),
        (["10.1.0.0x7"], BAD_CONF, '"10.1.0.0x7" is no address'),
        (["../../../etc/passwd"], BAD_CONF, '"../../../etc/passwd" is no address'),
        ([""], BAD_CONF, '"" is no address'),
    ],
    ids=repr,
)
def test_address_that_cannot_be_given(
    *,
    runtime: Runtime,
    node: Node,
    pod: Namespace,
    state: State,
    asked: list[str],
    code: int,
    reason: str,
) -> None:
    nothing, node_before = pod.facts(), node.facts()
    conf = runtime.conf(**GIVEN)

    message = asking(runtime, pod, conf, *asked).call("ADD").error(code)

    assert "args.cni.ips" in message
    assert reason in message
    assert pod.facts() == nothing
    assert node.facts() == node_before
    assert state.left() == []
    asking(runtime, pod, conf, "10.1.0.7").add()
    assert pod.addresses() == {"net1": ["10.1.0.7/24"], "net1-1": ["10.2.0.100/24"]}


@pytest.mark.parametrize("asked", ["192.168.2.7", "192.168.4.7", "192.168.66.7", "192.168.0.1"])
def test_address_of_another_node(
    runtime: Runtime, pod: Namespace, state: State, asked: str
) -> None:
    answer = asking(runtime, pod, runtime.conf(**SHARED_SUBNET), asked).call("ADD")

    message = answer.error(NO_ADDRESS)

    assert f"{asked} cannot be given: it is in NIC rail" in message
    assert (
        "pools of the chosen NICs: rail1 192.168.3.0/24; rail2 192.168.67.0/24; "
        in (answer.document["details"])
    )
    assert pod.links() == {}
    assert state.left() == []


@pytest.mark.parametrize(
    ("conf", "cni_args", "named"),
    [
        ({"runtimeConfig": {"ips": {"a": 1}}}, "", "runtimeConfig.ips: must be a list"),
        ({"args": {"cni": {"ips": [7]}}}, "", "args.cni.ips: must be a list"),
        ({}, "IP=10.1.0.105;IP=nonsense", 'CNI_ARGS IP: "nonsense" is no address'),
        ({"runtimeConfig": {"ips": ["10.1.0.105/16"]}}, "IP=10.1.0.105/24", "different lengths"),
        ({"runtimeConfig": {"mac": 7}}, "", "runtimeConfig.mac: 7 is no MAC"),
        ({"args": {"cni": {"mac": "nonsense"}}}, "", 'args.cni.mac: "nonsense" is no MAC'),
        ({}, "MAC=03:00:5e:10:00:01", "is a group's, which no interface can have"),
        ({"args": {"cni": {"mac": MAC}}}, f"MAC={OTHER_MAC}", "one interface has one MAC"),
    ],
    ids=repr,
)
def test_garbage(
    *,
    runtime: Runtime,
    pod: Namespace,
    state: State,
    conf: dict[str, Any],
    cni_args: str,
    named: str,
) -> None:
    attachment = runtime.attachment(pod, runtime.conf(**ranges(1), **conf), cni_args=cni_args)

    assert named in attachment.call("ADD").error(BAD_CONF)

    assert pod.links() == {}
    assert state.left() == []


def test_gateway_is_not_served(runtime: Runtime, pod: Namespace) -> None:
    attachment = runtime.attachment(
        pod, runtime.conf(**ranges(1)), cni_args="IP=10.1.0.105;GATEWAY=10.1.0.254"
    )

    answer = attachment.call("ADD")

    assert answer.result()["ips"] == [{"address": "10.1.0.105/24", "interface": 0}]
    (warning,) = [line for line in answer.stderr.splitlines() if "not served" in line]
    assert "GATEWAY" in warning
    assert "ips" not in warning.lower()


def test_what_a_plugin_before_us_in_the_chain_has_served(
    runtime: Runtime, pod: Namespace, tmp_path: Path
) -> None:
    """CNI_ARGS go to every plugin of a chain: bridge has given eth0 both already."""
    bridge = {
        "cniVersion": "1.0.0",
        "name": "rails",
        "type": "bridge",
        "bridge": "br-cluster",
        "ipam": {
            "type": "host-local",
            "dataDir": str(tmp_path / "host-local"),
            "subnet": "10.50.0.0/24",
        },
    }
    cni_args = f"IgnoreUnknown=1;IP=10.50.0.77;MAC={MAC}"
    cluster = runtime.but(executable=Path(DELEGATES, "bridge")).attachment(
        pod, bridge, ifname="eth0", cni_args=cni_args
    )
    previous = cluster.add()
    conf = runtime.conf(cniVersion="1.0.0", prevResult=previous, **ranges(1, 2))

    runtime.attachment(pod, conf, ifname="eth0", cni_args=cni_args).add()

    assert pod.addresses() == {
        "eth0": ["10.50.0.77/24"],
        "eth0-1": ["10.1.0.100/24"],
        "eth0-2": ["10.2.0.100/24"],
    }
    macs = {name: link["address"] for name, link in pod.links().items()}
    assert [name for name, mac in macs.items() if mac == MAC] == ["eth0"]
