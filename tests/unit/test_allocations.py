"""Shares that the conf names: for one node, or for none."""

from __future__ import annotations

from typing import Any

import pytest

from multinic_cni.errors import BAD_CONF
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.pools import given
from tests.unit.rails import OWN, RAIL0, RAIL1
from tests.unit.sharing import only_pool, refusal, shares, written

# nv-ipam's documented example.
ALLOCATIONS: list[dict[str, Any]] = [
    {"nodeName": "node-33", "prefix": "192.168.33.0/24", "gateway": "192.168.33.10"},
    {"prefix": "192.168.1.0/24"},
]
ROUTED: dict[str, Any] = {
    "masterNets": ["10.1.0.0/24"],
    "subnet": "192.168.0.0/16",
    "ipam": {
        **OWN,
        "perNodeNetworkPrefix": 24,
        "gatewayIndex": 1,
        "staticAllocations": ALLOCATIONS,
    },
}


def test_named_node_has_its_share_and_needs_no_index() -> None:
    found = shares(net_conf(**ROUTED), RAIL0, name="node-33")
    assert [["192.168.33.0/24 /24"]] == written(found)
    expected = [f"192.168.33.{last}" for last in range(1, 255) if last != 10]
    assert expected == given(only_pool(found))
    ((share,),) = found.families
    assert share.by_name
    assert share.host_index is None
    assert share.pool.dealt


def test_other_nodes_have_theirs_by_index() -> None:
    found = shares(net_conf(**ROUTED), RAIL0, index=2)
    assert [["192.168.2.0/24 /24"]] == written(found)
    ((share,),) = found.families
    assert not share.by_name


@pytest.mark.parametrize(
    ("index", "share", "other"),
    [
        (33, "192.168.33.0/24", "192.168.33.0/24, which staticAllocations give to node-33"),
        (1, "192.168.1.0/24", "192.168.1.0/24, which staticAllocations reserve"),
    ],
)
def test_computed_share_of_somebody_else(index: int, share: str, other: str) -> None:
    error = refusal(net_conf(**ROUTED), RAIL0, index=index)
    assert BAD_CONF == error.code
    assert (
        f"no addresses for NIC rail0: {share}, the share of node-a (host index {index}, from"
        f" /etc/cni/multinic/node.json), overlaps {other}"
    ) == error.message


def test_named_share_of_another_length() -> None:
    """A node with more pods than the others: its addresses carry the length of its own network."""
    conf = net_conf(
        masterNets=["10.1.0.0/24"],
        subnet="192.168.0.0/16",
        ipam={
            **OWN,
            "perNodeNetworkPrefix": 24,
            "gatewayIndex": 1,
            "staticAllocations": [{"nodeName": "big", "prefix": "192.168.64.0/20"}],
        },
    )
    pool = only_pool(shares(conf, RAIL0, name="big"))
    assert ("192.168.64.0/20", 20) == (str(pool.block), pool.prefix_length)
    assert pool.block.first + 1 == pool.gateway
    assert "192.168.70.0/24, the share of node-a" in refusal(conf, RAIL0, index=70).message


def flat(**ipam: object) -> dict[str, Any]:
    ranges = {"10.1.0.0/24": [{"subnet": "10.9.0.0/16", **ipam}], "10.2.0.0/24": [{}]}
    return {"ipam": {**OWN, "ranges": ranges}}


def test_named_share_of_a_flat_network_carries_its_length() -> None:
    conf = net_conf(
        **flat(
            perNodeBlockSize=4,
            gateway="10.9.0.1",
            staticAllocations=[{"nodeName": "node-a", "prefix": "10.9.8.0/30"}],
        )
    )
    found = shares(conf, RAIL0)
    assert [["10.9.8.0-10.9.8.3 of 10.9.0.0/16 /16"]] == written(found)
    assert [f"10.9.8.{last}" for last in range(4)] == given(only_pool(found))


def test_gateway_of_anothers_share_is_not_given() -> None:
    conf = net_conf(
        **flat(
            perNodeBlockSize=4,
            staticAllocations=[
                {"nodeName": "other", "prefix": "10.9.8.0/30", "gateway": "10.9.0.2"}
            ],
        )
    )
    assert ["10.9.0.1", "10.9.0.3", "10.9.0.4"] == given(only_pool(shares(conf, RAIL0, index=0)))


def test_networks_gateway_is_not_given_though_the_node_has_another() -> None:
    conf = net_conf(
        masterNets=["10.1.0.0/24"],
        subnet="10.9.0.0/16",
        ipam={
            **OWN,
            "perNodeBlockSize": 4,
            "gatewayIndex": 1,
            "staticAllocations": [
                {"nodeName": "node-a", "prefix": "10.9.0.0/30", "gateway": "10.9.0.2"}
            ],
        },
    )
    assert ["10.9.0.3"] == given(only_pool(shares(conf, RAIL0)))


def test_part_of_a_share_that_is_somebody_elses_is_enough() -> None:
    conf = net_conf(**flat(perNodeBlockSize=100, staticAllocations=[{"prefix": "10.9.0.200/32"}]))
    assert "10.9.0.101 to 10.9.0.200 of 10.9.0.0/16, the share of node-a" in (
        refusal(conf, RAIL0, index=1).message
    )
    assert [["10.9.0.201-10.9.1.44 of 10.9.0.0/16 /16"]] == written(shares(conf, RAIL0, index=2))


def test_allocations_of_all_nics_at_the_top() -> None:
    """Each NIC of a node has the one that lies in its network."""
    conf = net_conf(
        subnet="192.168.0.0/16",
        ipam={
            **OWN,
            "interfaceBlock": 2,
            "hostBlock": 6,
            "staticAllocations": [
                {"nodeName": "node-a", "prefix": "192.168.40.0/24"},
                {"nodeName": "node-a", "prefix": "192.168.80.0/24"},
            ],
        },
    )
    assert [["192.168.40.0/24 /18"]] == written(shares(conf, RAIL0, 0))
    assert [["192.168.80.0/24 /18"]] == written(shares(conf, RAIL1, 1))


def test_family_without_an_allocation_has_its_share_by_index() -> None:
    conf = net_conf(
        masterNets=["10.1.0.0/24"],
        subnet=["192.168.0.0/16", "fd00::/48"],
        ipam={
            **OWN,
            "hostBlock": 8,
            "staticAllocations": [{"nodeName": "node-a", "prefix": "192.168.40.0/24"}],
        },
    )
    expected = [["192.168.40.0/24 /16"], ["fd00:0:0:700::/56 /48"]]
    assert expected == written(shares(conf, RAIL0, index=7))


def test_all_by_name() -> None:
    """Without a way of dealing, a node that is not named finds the network taken."""
    conf = net_conf(
        masterNets=["10.1.0.0/24"],
        subnet="192.168.0.0/16",
        ipam={**OWN, "staticAllocations": [{"nodeName": "node-a", "prefix": "192.168.8.0/24"}]},
    )
    expected = [["192.168.8.0-192.168.8.255 of 192.168.0.0/16 /16"]]
    assert expected == written(shares(conf, RAIL0))
    message = refusal(conf, RAIL0, name="node-b").message
    assert "192.168.0.0/16, the share of node-b, overlaps 192.168.8.0/24" in message


OWN_NETWORK: dict[str, Any] = {**OWN, "perNodeBlockSize": 8}


def test_allocations_in_the_nics_own_network() -> None:
    allocations = [
        {"nodeName": "node-a", "prefix": "10.1.0.128/29"},
        {"nodeName": "node-a", "prefix": "10.2.0.128/29"},
    ]
    conf = net_conf(ipam={**OWN_NETWORK, "staticAllocations": allocations})
    assert [["10.1.0.128-10.1.0.135 of 10.1.0.0/24 /24"]] == written(shares(conf, RAIL0, 0))
    assert [["10.2.0.128-10.2.0.135 of 10.2.0.0/24 /24"]] == written(shares(conf, RAIL1, 1))


@pytest.mark.parametrize(
    ("allocations", "message"),
    [
        (
            [{"prefix": "10.1.0.0/16"}],
            "10.1.0.0/16 of staticAllocations is not in 10.1.0.0/24",
        ),
        (
            [
                {"nodeName": "node-a", "prefix": "10.1.0.128/29"},
                {"nodeName": "node-a", "prefix": "10.1.0.136/29"},
            ],
            "staticAllocations give node-a both 10.1.0.128/29 and 10.1.0.136/29 of 10.1.0.0/24",
        ),
        (
            [{"nodeName": "node-a", "prefix": "10.1.0.128/29", "gateway": "10.2.0.1"}],
            "gateway 10.2.0.1 lies outside 10.1.0.0/24",
        ),
    ],
    ids=["larger", "two", "gateway"],
)
def test_allocations_that_do_not_fit_the_own_network(
    allocations: list[dict[str, str]], message: str
) -> None:
    conf = net_conf(ipam={**OWN_NETWORK, "staticAllocations": allocations})
    error = refusal(conf, nic("rail0", "10.1.0.5/24"), index=0)
    assert (BAD_CONF, f"no addresses for NIC rail0: {message}") == (error.code, error.message)
