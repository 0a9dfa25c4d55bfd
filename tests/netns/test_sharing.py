"""Shares of nodes on a wire: `explain` says what ADD does, and no two nodes give the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import netaddr
import pytest

from tests.pytest_netns import EXECUTABLE, rail_net

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_netns import Document, Namespace, Namespaces, Node, Runtime

OWN = {"type": "multi-nic-ipam"}
TWO = [rail_net(1), rail_net(2)]
WAYS: dict[str, dict[str, Any]] = {
    "hostBlock": {
        "subnet": "192.168.0.0/16",
        "ipam": {**OWN, "interfaceBlock": 1, "hostBlock": 8, "gatewayIndex": 1},
    },
    "blocks": {
        "subnet": "192.168.0.0/16",
        "ipam": {**OWN, "interfaceBlock": 1, "perNodeBlockSize": 100, "gatewayIndex": 1},
    },
    "both families": {
        "subnet": ["192.168.0.0/16", "fd00:10::/64"],
        "ipam": {**OWN, "interfaceBlock": 1, "hostBlock": 8},
    },
    "networks": {
        "subnet": "192.168.0.0/16",
        "ipam": {**OWN, "interfaceBlock": 1, "perNodeNetworkPrefix": 25, "gatewayIndex": 1},
    },
}


def explained(node: Node, folder: Path, conf: Document) -> list[Document]:
    """Return the NICs that `explain` tells of."""
    file = folder / f"{node.name}.conf"
    file.write_text(json.dumps(conf))
    (found,) = json.loads(node.execute(EXECUTABLE, "explain", "--json", file))
    nics: list[Document] = found["nics"]
    return nics


@pytest.mark.parametrize("words", WAYS.values(), ids=WAYS)
def test_add_gives_what_explain_says(
    runtime: Runtime, node: Node, pod: Namespace, tmp_path: Path, words: dict[str, Any]
) -> None:
    """No list of nodes: the node is 10.1.0.1 and 10.2.0.1, so its index is 1 on both rails."""
    conf = runtime.conf(masterNets=TWO, **words)
    nics = explained(node, tmp_path, conf)
    attachment = runtime.attachment(pod, conf)

    result = attachment.add()

    assert [each["nic"] for each in nics] == ["rail1", "rail2"]
    for interface, each in enumerate(nics):
        given = [ip for ip in result["ips"] if ip["interface"] == interface]
        assert len(given) == len(each["shares"])
        for ip, share in zip(given, each["shares"], strict=True):
            address = netaddr.IPNetwork(ip["address"])
            assert netaddr.IPAddress(share["first"]) <= address.ip
            assert address.ip <= netaddr.IPAddress(share["last"])
            assert share["prefixLength"] == address.prefixlen
            assert share["gateway"] == ip.get("gateway", "")
            assert share["hostIndex"] == 1
            assert share["source"] == f"10.{interface + 1}.0.1 in {TWO[interface]}"
    attachment.check().succeeded()
    attachment.delete().succeeded()


def test_nodes_that_derive_their_indexes_give_different_addresses(
    *,
    runtime: Runtime,
    namespaces: Namespaces,
    wire: Namespace,
    pod: Namespace,
    other_pod: Namespace,
    tmp_path: Path,
) -> None:
    other = namespaces.make_node(wire, 2, host=2)
    conf = runtime.conf(masterNets=TWO, **WAYS["hostBlock"])
    elsewhere = runtime.but(node=other, data_dir=tmp_path / "elsewhere")

    first = runtime.attachment(pod, conf).add()
    second = elsewhere.attachment(other_pod, conf | {"dataDir": str(elsewhere.data_dir)}).add()

    # Two times 128 addresses of each host: 192.168.0.128/25 is host 1's on the first rail.
    assert [ip["address"] for ip in first["ips"]] == ["192.168.0.129/17", "192.168.128.129/17"]
    assert [ip["address"] for ip in second["ips"]] == ["192.168.1.1/17", "192.168.129.1/17"]
    pod.ping("192.168.1.1", interface="net1")


def test_node_of_each_own_network(
    runtime: Runtime, node: Node, pod: Namespace, tmp_path: Path
) -> None:
    """A subnet for each node and rail, with the same part of each for pods."""
    node.ip("address flush dev rail1", "address add 10.1.7.5/26 dev rail1")
    conf = runtime.conf(
        masterNets=["10.1.0.0/16"],
        ipam={
            **OWN,
            "slice": {"offset": 32, "length": 16},
            "gatewayIndex": 62,
            "routes": [{"dst": "10.1.0.0/16"}],
        },
    )
    ((share,),) = (each["shares"] for each in explained(node, tmp_path, conf))
    attachment = runtime.attachment(pod, conf)

    result = attachment.add()

    assert ("10.1.7.0/26", "10.1.7.32", "10.1.7.47") == (
        share["network"],
        share["first"],
        share["last"],
    )
    assert result["ips"] == [{"address": "10.1.7.32/26", "gateway": "10.1.7.62", "interface": 0}]
    assert pod.routes() == [
        "dst=10.1.0.0/16 gateway=10.1.7.62 dev=net1",
        "dst=10.1.7.0/26 dev=net1",
    ]
    attachment.check().succeeded()


def test_share_that_is_reserved(runtime: Runtime, pod: Namespace) -> None:
    conf = runtime.conf(masterNets=TWO, **WAYS["blocks"])
    reserved = [{"prefix": "192.168.0.200/29"}]  # host 1 has 192.168.0.101 to .200
    conf["ipam"] = conf["ipam"] | {"staticAllocations": reserved}

    message = runtime.attachment(pod, conf).call("ADD").error(7)

    assert "192.168.0.101 to 192.168.0.200 of 192.168.0.0/17, the share of" in message
    assert "overlaps 192.168.0.200/29, which staticAllocations reserve" in message
    assert pod.links() == {}


def test_explain_of_a_node_without_an_index(runtime: Runtime, node: Node, tmp_path: Path) -> None:
    conf = runtime.conf(masterNets=TWO, **WAYS["hostBlock"])
    conf["ipam"] = conf["ipam"] | {"hostBlock": 7}
    file = tmp_path / "rails.conf"
    file.write_text(json.dumps(conf))

    shown = node.execute("sh", "-c", f"{EXECUTABLE} explain {file} || echo status $?")

    assert "has no host index" in shown
    assert "rail1" in shown
    assert shown.endswith("status 1\n")
    assert "\x1b" not in shown
