"""Which routes a node wants to the pods of nodes that its file lists; blocks by hand."""

from __future__ import annotations

from typing import Any

import pytest

from multinic_cni.conf.node import PATH, Peer
from multinic_cni.errors import CniError
from multinic_cni.peers import merged
from multinic_ipam.networks import Network
from multinic_selectors.candidates import Choice
from tests.unit.nics import nic
from tests.unit.rails import BLOCKS, OWN
from tests.unit.wanting import (
    NODE_B,
    NODE_C,
    RAIL0,
    RAIL1,
    SUBNET,
    conf_of,
    deriving,
    peer,
    refusal,
    routes,
    wanted,
)


def test_each_nic_has_a_route_to_each_peers_block_by_the_peers_nic() -> None:
    found = wanted(conf_of(), peers={"node-b": NODE_B, "node-c": NODE_C})
    # node-b is host 1 by hosts, node-c host 9 by its entry, which goes before hosts.
    assert [
        "192.168.1.0/24 via 10.1.0.6 dev rail0 (node-b)",
        "192.168.9.0/24 via 10.1.0.8 dev rail0 (node-c)",
        "192.168.65.0/24 via 10.2.0.7 dev rail1 (node-b)",
        "192.168.73.0/24 via 10.2.0.8 dev rail1 (node-c)",
    ] == routes(found)
    (family,) = found.families
    assert ("rails", (Network.parse(SUBNET),)) == (family.network, family.subnets)
    assert [3, 3, 4, 4] == [each.link for each in family.routes]
    assert () == found.left_out


def test_both_families() -> None:
    """fd00::/48 with two and six bits: NIC 0 host 1 has fd00:0:0:100::/56."""
    both = Peer(host_index=1, addresses={"10.1.0.0/24": ("10.1.0.6", "fd99::6")})
    conf = conf_of(subnet=[SUBNET, "fd00::/48"])
    found = wanted(conf, [Choice(RAIL0, 0)], {"node-b": both})
    assert ["192.168.1.0/24 via 10.1.0.6 dev rail0 (node-b)"] == routes(found)
    assert ["fd00:0:0:100::/56 via fd99::6 dev rail0 (node-b)"] == routes(found, 6)
    assert (Network.parse("fd00::/48"),) == found.families[1].subnets


def test_peer_without_an_address_of_a_family_is_left_out_and_said() -> None:
    conf = conf_of(subnet=[SUBNET, "fd00::/48"])
    found = wanted(conf, [Choice(RAIL0, 0)], {"node-b": NODE_B})
    assert [] == routes(found, 6)
    assert (f"NIC rail0: {PATH} has no IPv6 address of node-b there",) == found.left_out


def test_peer_without_such_a_nic_is_no_concern_of_ours() -> None:
    found = wanted(conf_of(), peers={"node-b": peer(second="10.2.0.7")})
    assert ["192.168.65.0/24 via 10.2.0.7 dev rail1 (node-b)"] == routes(found)
    assert () == found.left_out


def test_peers_that_are_listed_for_other_networks() -> None:
    """One network's peers take no routes away from another, whose nodes are known without."""
    elsewhere = {"node-b": Peer(host_index=1, addresses={"10.77.0.0/24": ("10.77.0.6",)})}
    found = wanted(deriving({"node-a": 5, "node-b": 6}), [Choice(RAIL0, 0)], elsewhere)
    assert ["172.16.6.0/24 via 10.1.0.6 dev rail0 (node-b)"] == routes(found)
    message = refusal(conf_of(), [Choice(RAIL0, 0)], elsewhere)
    assert "node.json lists no peers of this network, and" in message


@pytest.mark.parametrize("name", ["node-a", "k8s-worker-17"])
def test_file_that_serves_all_nodes_lists_this_one_too(name: str) -> None:
    """By its name, or by its own address: under the name of another world."""
    own = peer(0, first="10.1.0.5", second="10.2.0.5")
    found = wanted(conf_of(), [Choice(RAIL0, 0)], {name: own, "node-b": NODE_B})
    assert ["192.168.1.0/24 via 10.1.0.6 dev rail0 (node-b)"] == routes(found)


def test_rails_are_called_by_their_numbers_in_the_nodes_file() -> None:
    conf = conf_of(masterNets=None, rails=[["rail*"], ["x"]])
    there = Peer(host_index=1, addresses={"rail0": ("10.1.0.6",), "rail1": ("10.2.0.6",)})
    found = wanted(conf, [Choice(RAIL0, 0)], {"node-b": there})
    assert ["192.168.1.0/24 via 10.1.0.6 dev rail0 (node-b)"] == routes(found)


def test_network_may_be_written_otherwise() -> None:
    conf = conf_of(masterNets=["fd00:1::/64"], ipam={**BLOCKS, "interfaceBlock": 0})
    there = Peer(host_index=1, addresses={"fd00:1:0::/64": ("10.1.0.6",)})
    found = wanted(conf, [Choice(RAIL0, 0)], {"node-b": there})
    # No bits for the interface, six for the host: 192.168.0.0/16 in blocks of /22.
    assert ["192.168.4.0/22 via 10.1.0.6 dev rail0 (node-b)"] == routes(found)


@pytest.mark.parametrize(
    ("peers", "message"),
    [
        (
            {"node-d": peer(first="10.1.0.6")},
            f"{PATH}: peer node-d needs a hostIndex: hosts does not name it either",
        ),
        (
            {"node-d": peer(0, first="10.1.0.6")},
            (
                "node-d has host index 0, and so has this node (node-a), from hosts: both give out"
                " the same addresses"
            ),
        ),
        (
            {"node-d": peer(64, first="10.1.0.6")},
            "NIC rail0: node node-d: host index 64 does not fit in hostBlock 6: it counts 0 to 63",
        ),
        (
            {"node-b": NODE_B, "node-d": peer(1, first="10.1.0.9")},
            (
                "node-b and node-d have the same share 192.168.1.0/24: correct peers in"
                f" {PATH}, or hosts"
            ),
        ),
    ],
    ids=["no index", "this node's index", "no such index", "one index for two"],
)
def test_peers_that_cannot_be(peers: dict[str, Peer], message: str) -> None:
    assert message == refusal(conf_of(), [Choice(RAIL0, 0)], peers)


def test_share_that_the_conf_names_goes_before_the_index() -> None:
    allocations = [{"nodeName": "node-b", "prefix": "192.168.60.0/23"}]
    conf = conf_of(ipam={**BLOCKS, "staticAllocations": allocations})
    found = wanted(conf, [Choice(RAIL0, 0)], {"node-b": NODE_B})
    assert ["192.168.60.0/23 via 10.1.0.6 dev rail0 (node-b)"] == routes(found)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # Ten addresses from the first usable one on: host 1 has .11 to .20 of 192.168.0.0/18.
        (
            {"perNodeBlockSize": 10},
            ["192.168.0.11/32", "192.168.0.12/30", "192.168.0.16/30", "192.168.0.20/32"],
        ),
        ({"perNodeNetworkPrefix": 26}, ["192.168.0.64/26"]),
        ({"hostBlock": 14}, ["192.168.0.1/32"]),
    ],
    ids=["runs of addresses", "networks", "one address"],
)
def test_every_way_of_sharing(words: dict[str, Any], expected: list[str]) -> None:
    conf = conf_of(ipam={**OWN, "interfaceBlock": 2, **words})
    found = wanted(conf, [Choice(RAIL0, 0)], {"node-b": NODE_B})
    assert [f"{each} via 10.1.0.6 dev rail0 (node-b)" for each in expected] == routes(found)


def test_ranges_have_a_rule_for_each_network() -> None:
    ranges = {
        "10.1.0.0/24": [{"subnet": "172.16.0.0/16", "perNodeNetworkPrefix": 24}],
        "10.2.0.0/24": [{"subnet": "172.17.0.0/16", "perNodeNetworkPrefix": 24}],
    }
    conf = conf_of(subnet=None, ipam={**OWN, "ranges": ranges})
    found = wanted(conf, peers={"node-b": NODE_B})
    assert [
        "172.16.1.0/24 via 10.1.0.6 dev rail0 (node-b)",
        "172.17.1.0/24 via 10.2.0.7 dev rail1 (node-b)",
    ] == routes(found)
    nets = (Network.parse("172.16.0.0/16"), Network.parse("172.17.0.0/16"))
    assert nets == found.families[0].subnets


def test_block_that_two_nics_have_is_refused() -> None:
    """Without bits for the interface nobody knows on which NIC a pod is."""
    conf = conf_of(masterNets=None, masters=["rail*"])
    message = refusal(
        conf,
        [Choice(RAIL0, 0), Choice(RAIL1, 0)],
        {"node-b": Peer(host_index=1, addresses={"rail*": ("10.1.0.6",)})},
    )
    assert message.startswith("NICs rail0 and rail1 share 192.168.1.0/24 of node-b")


def test_nic_that_is_down_is_left_out_and_said() -> None:
    down = nic("rail1", "10.2.0.5/24", up=False)
    found = wanted(conf_of(), [Choice(RAIL0, 0), Choice(down, 1)], {"node-b": NODE_B})
    assert ["192.168.1.0/24 via 10.1.0.6 dev rail0 (node-b)"] == routes(found)
    assert ("NIC rail1 is down: it has no routes to other nodes",) == found.left_out


def test_same_addresses_on_every_node_cannot_be_routed() -> None:
    conf = conf_of(ipam={**OWN, "interfaceBlock": 2}, hosts={"node-a": 0})
    assert (
        "NIC rail0: no node has a part of 192.168.0.0/18 to itself, so that there is nothing to"
        " route: set hostBlock, perNodeBlockSize or perNodeNetworkPrefix"
    ) == refusal(conf, peers={"node-b": NODE_B})


# Several networks.


def test_networks_with_a_subnet_in_common_are_one() -> None:
    first = wanted(conf_of(), [Choice(RAIL0, 0)], {"node-b": NODE_B}).families[0]
    second = wanted(conf_of(), [Choice(RAIL1, 1)], {"node-b": NODE_B}).families[0]
    other = wanted(deriving({"node-a": 5, "node-b": 6}), [Choice(RAIL0, 0)]).families[0]
    one, alone = merged([first.but(network="x"), other, second.but(network="y")])
    if one.network == "rails":
        one, alone = alone, one
    assert ("x, y", (*first.routes, *second.routes)) == (one.network, one.routes)
    assert other == alone


def test_networks_that_contradict_each_other() -> None:
    first = wanted(conf_of(), [Choice(RAIL0, 0)], {"node-b": NODE_B}).families[0]
    second = wanted(conf_of(), [Choice(RAIL1, 0)], {"node-b": NODE_B}).families[0]
    with pytest.raises(CniError, match=r"NICs rail0 and rail1 share 192.168.1.0/24 of node-b"):
        merged([first, second])
