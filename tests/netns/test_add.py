from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import SHARED_SUBNET, masters_of, ranges
from tests.pytest_netns import DELEGATES, Runtime, execute, rail_net

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Namespaces, Node

VERSIONS = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]
NAMES = ["net1", "net1-1", "net1-2", "net1-3"]
FIRST = ["192.168.3.1", "192.168.67.1", "192.168.131.1", "192.168.195.1"]
SECOND = ["192.168.3.2", "192.168.67.2", "192.168.131.2", "192.168.195.2"]


def expected_result(pod: Namespace, version: str, addresses: list[str]) -> dict[str, Any]:
    """Build the whole result; macs are the kernel's."""
    mtu = {"mtu": 1500} if version == "1.1.0" else {}
    links = pod.links()
    return {
        "cniVersion": version,
        "interfaces": [
            {"name": name, "mac": links[name]["address"], "sandbox": pod.path} | mtu
            for name in NAMES
        ],
        "ips": [
            ({"version": "4"} if version < "1" else {})
            | {"address": f"{address}/18", "interface": index}
            for index, address in enumerate(addresses)
        ],
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_four_nics_in_every_version(
    *,
    runtime: Runtime,
    node: Node,
    pod: Namespace,
    other_pod: Namespace,
    state: State,
    version: str,
) -> None:
    conf = runtime.conf(cniVersion=version, **SHARED_SUBNET)
    nothing, before = pod.facts(), node.facts()
    first, second = runtime.attachment(pod, conf), runtime.attachment(other_pod, conf)

    assert first.add() == expected_result(pod, version, FIRST)
    assert second.add() == expected_result(other_pod, version, SECOND)
    assert pod.addresses() == {
        name: [f"{address}/18"] for name, address in zip(NAMES, FIRST, strict=True)
    }
    for name, address in zip(NAMES, SECOND, strict=True):
        pod.ping(address, interface=name)
    for attachment in (first, second):
        if version < "0.4":
            assert "0.4.0" in attachment.check().error(1)
        else:
            attachment.check().succeeded()
    assert state.addresses() == {
        address: f"c-{each.name} net1"
        for each, addresses in ((pod, FIRST), (other_pod, SECOND))
        for address in addresses
    }

    first.delete().succeeded()
    assert pod.facts() == nothing
    assert other_pod.addresses().keys() == set(NAMES)
    second.delete().succeeded()
    assert state.left() == []
    assert node.facts() == before


def test_pods_of_two_nodes_meet_on_every_rail(
    namespaces: Namespaces, wire: Namespace, tmp_path: Path
) -> None:
    """Each node gives out its own share of a rail's network, without asking the other."""
    pods = []
    for host in (1, 2):
        runtime = Runtime(namespaces.make_node(wire, rails=2, host=host), tmp_path / str(host))
        conf = runtime.conf(
            masterNets=[rail_net(1), rail_net(2)],
            subnet="172.20.0.0/16",
            hosts={os.uname().nodename: host},
            ipam={"type": "multi-nic-ipam", "interfaceBlock": 1, "hostBlock": 7},
        )
        pods.append(namespaces.make("pod"))
        runtime.attachment(pods[-1], conf).add()

    # Rails of 2^15 addresses, hosts of 2^8.
    assert pods[0].addresses() == {"net1": ["172.20.1.1/17"], "net1-1": ["172.20.129.1/17"]}
    assert pods[1].addresses() == {"net1": ["172.20.2.1/17"], "net1-1": ["172.20.130.1/17"]}
    pods[0].ping("172.20.2.1", interface="net1")
    pods[0].ping("172.20.130.1", interface="net1-1")


def test_masters_in_both_families_keep_the_order_of_master_nets(
    runtime: Runtime, node: Node, pod: Namespace
) -> None:
    """An IPv6 network may lead: rail2 by its IPv6 network, then rail1 by its IPv4 network."""
    node.ip("address add fd00:2::1/64 dev rail2 nodad")
    conf = runtime.conf(
        masterNets=["fd00:2::/64", rail_net(1)],
        subnet=["192.168.0.0/16", "fd01::/48"],
        ipam={"type": "multi-nic-ipam", "interfaceBlock": 2},
    )

    result = runtime.attachment(pod, conf).add()

    links = pod.links()
    assert links["net1"]["link_index"] == node.links()["rail2"]["ifindex"]
    assert links["net1-1"]["link_index"] == node.links()["rail1"]["ifindex"]
    assert result["ips"] == [
        {"address": "192.168.0.1/18", "interface": 0},
        {"address": "fd01::1/50", "interface": 0},
        {"address": "192.168.64.1/18", "interface": 1},
        {"address": "fd01:0:0:4000::1/50", "interface": 1},
    ]
    assert pod.addresses() == {
        "net1": ["192.168.0.1/18", "fd01::1/50"],
        "net1-1": ["192.168.64.1/18", "fd01:0:0:4000::1/50"],
    }


def test_two_nics_in_one_network_get_an_address_each(
    runtime: Runtime, node: Node, pod: Namespace
) -> None:
    node.plug_in(1, "twin1", host=11)
    conf = runtime.conf(**ranges(1))

    result = runtime.attachment(pod, conf).add()

    assert masters_of(pod, node) == ["rail1", "twin1"]
    assert [ip["address"] for ip in result["ips"]] == ["10.1.0.100/24", "10.1.0.101/24"]


def test_range_gives_gateway_and_skips_what_is_taken(runtime: Runtime, pod: Namespace) -> None:
    conf = runtime.conf(
        masterNets=[rail_net(1)],
        ipam={
            "type": "multi-nic-ipam",
            "ranges": {
                rail_net(1): [
                    {"rangeStart": "10.1.0.1", "rangeEnd": "10.1.0.255", "gateway": "10.1.0.2"}
                ]
            },
            "excludeCIDRs": ["10.1.0.3", "10.1.0.4/30"],
            "routes": [{"dst": "10.99.0.0/16"}, {"dst": "0.0.0.0/0"}],
        },
    )
    attachment = runtime.attachment(pod, conf)

    result = attachment.add()

    # .1 is the node's own, .2 the gateway, .3 to .7 are excluded.
    assert result["ips"] == [{"address": "10.1.0.8/24", "gateway": "10.1.0.2", "interface": 0}]
    assert result["routes"] == [
        {"dst": "10.99.0.0/16", "gw": "10.1.0.2"},
        {"dst": "0.0.0.0/0", "gw": "10.1.0.2"},
    ]
    assert pod.routes() == [
        "dst=10.1.0.0/24 dev=net1",
        "dst=10.99.0.0/16 gateway=10.1.0.2 dev=net1",
        "dst=default gateway=10.1.0.2 dev=net1",
    ]
    attachment.check().succeeded()


def test_delegates_that_list_only_older_versions_get_theirs(
    runtime: Runtime, pod: Namespace
) -> None:
    """Debian's macvlan speaks 1.0.0 at most: a 1.1.0 conf works, with a 1.1.0 result."""
    spoken = runtime.but(executable=Path(DELEGATES, "macvlan")).call("VERSION", {}).result()
    assert "1.1.0" not in spoken["supportedVersions"]

    result = runtime.attachment(pod, runtime.conf(cniVersion="1.1.0", **ranges(1))).add()

    assert result["cniVersion"] == "1.1.0"
    assert result["interfaces"][0]["mtu"] == 1500


def test_called_as_multi_nic_it_takes_the_operators_conf(
    runtime: Runtime, pod: Namespace, tmp_path: Path
) -> None:
    """A link of that name is all that is needed: "type": "multi-nic" and indexed names."""
    link = tmp_path / "multi-nic"
    execute("ln", "-s", runtime.executable, link)
    conf = runtime.conf(
        cniVersion="0.3.0", type="multi-nic", multiNICIPAM=True, daemonPort=11000, **ranges(1, 2)
    )
    attachment = runtime.but(executable=link).attachment(pod, conf)

    result = attachment.add()

    assert [each["name"] for each in result["interfaces"]] == ["net1-0", "net1-1"]
    assert pod.links().keys() == {"net1-0", "net1-1"}
    attachment.delete().succeeded()
    assert pod.links() == {}
