"""Peers that nobody lists: which routes follow from indexes that follow from addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.conf.node import PATH
from multinic_cni.other_nodes import MOST_NODES
from multinic_ipam.networks import Network
from multinic_selectors.candidates import Choice
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.rails import OWN
from tests.unit.wanting import DERIVING, RAIL0, conf_of, deriving, refusal, routes, wanted

if TYPE_CHECKING:
    from multinic_cni.conf.netconf import NetConf


def test_every_host_number_but_our_own() -> None:
    found = routes(wanted(deriving()))
    numbers = [number for number in range(1, 255) if number != 5]
    first = [f"172.16.{n}.0/24 via 10.1.0.{n} dev rail0 (host {n})" for n in numbers]
    second = [f"172.17.{n}.0/24 via 10.2.0.{n} dev rail1 (host {n})" for n in numbers]
    assert [*first, *second] == found


def test_only_those_that_the_conf_names() -> None:
    hosts = {"node-a": 5, "node-b": 6, "node-c": 17}
    assert [
        "172.16.6.0/24 via 10.1.0.6 dev rail0 (node-b)",
        "172.16.17.0/24 via 10.1.0.17 dev rail0 (node-c)",
    ] == routes(wanted(deriving(hosts), [Choice(RAIL0, 0)]))


def test_only_those_on_the_nics_own_link() -> None:
    """Its broadcast address, 10.1.0.7, is no node's: the kernel would refuse it."""
    narrow = Choice(nic("rail0", "10.1.0.5/29"), 0)
    assert [1, 2, 3, 4, 6] == [
        int(each.partition("(host ")[2].rstrip(")"))
        for each in routes(wanted(deriving(), [narrow]))
    ]


def test_node_that_is_alone_wants_none() -> None:
    (family,) = wanted(deriving({"node-a": 5}), [Choice(RAIL0, 0)]).families
    assert () == family.routes


UNKNOWN = (
    "NIC rail0: the addresses that other nodes' NICs have there are not known: node.json lists no"
    " peers of this network, and "
)


@pytest.mark.parametrize(
    ("conf", "choice", "index", "why"),
    [
        (
            deriving(),
            RAIL0,
            7,
            f"this node's index, 7 from {PATH}, is not that of its NIC's address, 5",
        ),
        (
            conf_of(),
            RAIL0,
            None,
            (
                "none follows from 10.1.0.5 in 10.1.0.0/24, which has 256 host numbers, while"
                " hostBlock 6 has 64 shares"
            ),
        ),
        (
            deriving({"node-a": 5, "node-b": 255}),
            RAIL0,
            None,
            "index 255 of node-b is no address in 10.1.0.0/24",
        ),
        (
            deriving(),
            nic("rail0", "10.1.0.5/32"),
            None,
            "its address is a single host's, with nobody beside it",
        ),
        (
            deriving(staticAllocations=[{"nodeName": "node-b", "prefix": "172.16.9.0/24"}]),
            RAIL0,
            None,
            "staticAllocations name shares of nodes, whose indexes are not",
        ),
    ],
    ids=["another index", "no derivation", "no host's number", "a cloud's /32", "named shares"],
)
def test_what_does_not_follow(conf: NetConf, choice: Any, index: int | None, why: str) -> None:  # noqa: ANN401
    assert UNKNOWN + why == refusal(conf, [Choice(choice, 0)], index=index)


def test_ipv6_blocks_do_not_go_by_ipv4_addresses() -> None:
    ipam = {**OWN, "interfaceBlock": 1, "hostBlock": 8}
    conf = net_conf(subnet=[DERIVING, "fd00::/48"], ipam=ipam)
    assert refusal(conf, [Choice(RAIL0, 0)]) == (
        f"{UNKNOWN}only IPv4 addresses of NICs follow from an index"
    )


def test_networks_with_more_nodes_than_routes_are_listed_by_hand() -> None:
    conf = net_conf(
        masterNets=["10.0.0.0/16"], subnet="fd00::/32", ipam={**OWN, "hostBlock": 16}
    ).but(subnets=(Network.parse("100.64.0.0/10"),))
    message = refusal(conf, [Choice(nic("rail0", "10.0.3.4/16"), 0)])
    assert f"NIC rail0: 65533 routes to other nodes are too many: {MOST_NODES} at most" == message
