from __future__ import annotations

from typing import Any

import pytest

from multinic_cni.errors import BAD_CONF
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.pools import given
from tests.unit.rails import BLOCKS, OWN, RAIL0, RAIL1, range_conf, subnet_conf
from tests.unit.sharing import only_pool, refusal, shares, written


def ranges_conf(*entries: dict[str, Any], **ipam: object) -> dict[str, Any]:
    """Return the words of a conf with these ranges for rail0, and plain ones for rail1."""
    by_net = {"10.1.0.0/24": list(entries), "10.2.0.0/24": [{}]}
    return {"ipam": {**OWN, "ranges": by_net, **ipam}}


# By subnet.


def test_share_of_interface_1_on_host_1() -> None:
    found = shares(subnet_conf(), RAIL1, 1)
    assert [["192.168.65.0/24 /18"]] == written(found)
    ((share,),) = found.families
    assert ("192.168.64.0/18", 1) == (
        str(share.network),
        share.host_index and share.host_index.number,
    )


def test_both_families_have_a_pool() -> None:
    found = shares(subnet_conf(["192.168.0.0/16", "fd00::/48"]), RAIL1, 1)
    # fd00::/48: 2 bits for the interface, 6 for the host.
    assert [["192.168.65.0/24 /18"], ["fd00:0:0:4100::/56 /50"]] == written(found)


def test_families_keep_the_confs_order() -> None:
    found = shares(subnet_conf(["fd00::/48", "192.168.0.0/16"]), RAIL1, 1)
    assert [["fd00:0:0:4100::/56 /50"], ["192.168.65.0/24 /18"]] == written(found)


def test_place_is_the_interfaces_number_whatever_else_is_there() -> None:
    conf = net_conf(
        subnet="192.168.0.0/16", ipam=BLOCKS, masterNets=[f"10.{n}.0.0/24" for n in range(4)]
    )
    assert [["192.168.192.0/24 /18"]] == written(shares(conf, RAIL1, 3, index=0))


def test_host_that_does_not_fit() -> None:
    error = refusal(subnet_conf(), RAIL1, 1, index=64)
    assert BAD_CONF == error.code
    assert (
        "no addresses for NIC rail1: host index 64 does not fit in hostBlock 6: it counts 0 to 63"
    ) == error.message


@pytest.mark.parametrize(
    ("words", "expected", "gateway"),
    [
        (
            {"perNodeBlockSize": 4},
            "192.168.64.9-192.168.64.12 of 192.168.64.0/18 /18",
            "192.168.64.1",
        ),
        ({"perNodeNetworkPrefix": 26}, "192.168.64.128/26 /26", "192.168.64.129"),
        ({"hostBlock": 8}, "192.168.64.128/26 /18", "192.168.64.1"),
        (
            {"slice": {"offset": 64, "length": 64}},
            "192.168.64.64-192.168.64.127 of 192.168.64.0/18 /18",
            "192.168.64.1",
        ),
    ],
    ids=["blocks", "networks", "hostBlock", "slice"],
)
def test_ways_of_sharing_an_interfaces_network(
    words: dict[str, Any], expected: str, gateway: str
) -> None:
    """Rail 1 of 192.168.0.0/16 with two bits has 192.168.64.0/18; the node is host 2."""
    conf = net_conf(
        subnet="192.168.0.0/16", ipam={**OWN, "interfaceBlock": 2, "gatewayIndex": 1, **words}
    )
    found = shares(conf, RAIL1, 1, index=2)
    assert [[expected]] == written(found)
    pool = only_pool(found)
    assert pool.gateway is not None
    assert gateway not in given(pool)
    assert ("slice" not in words) == pool.dealt


# What is never given.


def test_exclusions_and_the_nodes_own_addresses_are_not_given_out() -> None:
    conf = net_conf(
        **ranges_conf(
            {"rangeStart": "10.1.0.1", "rangeEnd": "10.1.0.9"},
            excludeCIDRs=["10.1.0.4/31", "10.1.0.1"],
        )
    )
    found = shares(conf, RAIL0, addresses=("10.1.0.7", "10.2.0.8", "fd00::3"))
    assert [f"10.1.0.{last}" for last in (2, 3, 6, 8, 9)] == given(only_pool(found))


def test_exclusion_with_host_bits_counts_from_its_address() -> None:
    """As the operator counts: sixteen addresses from .5 on."""
    conf = net_conf(**ranges_conf({"rangeEnd": "10.1.0.30"}, excludeCIDRs=["10.1.0.5/28"]))
    expected = [f"10.1.0.{last}" for last in (1, 2, 3, 4, *range(21, 31))]
    assert expected == given(only_pool(shares(conf, RAIL0)))


def test_exclusions_by_address_of_all_and_of_one_range() -> None:
    conf = net_conf(
        **ranges_conf(
            {
                "rangeEnd": "10.1.0.9",
                "exclusions": [{"startIP": "10.1.0.1", "endIP": "10.1.0.3"}],
            },
            exclusions=[
                {"startIP": "10.1.0.5", "endIP": "10.1.0.5"},
                {"startIP": "fd00::", "endIP": "fd00::ffff"},
            ],
        )
    )
    assert [f"10.1.0.{last}" for last in (4, 6, 7, 8, 9)] == given(only_pool(shares(conf, RAIL0)))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"subnet": "10.9.0.0/24", "perNodeBlockSize": 4}, ["10.9.0.7", "10.9.0.8"]),
        (
            {"subnet": "10.9.0.0/24", "perNodeNetworkPrefix": 29},
            [f"10.9.0.{n}" for n in range(10, 15)],
        ),
        ({"rangeStart": "10.1.0.100", "rangeEnd": "10.1.0.103"}, ["10.1.0.102", "10.1.0.103"]),
        ({"slice": {"offset": 8, "length": 4}}, ["10.1.0.10", "10.1.0.11"]),
    ],
    ids=["from the block's start", "from the network address", "from rangeStart", "from offset"],
)
def test_exclusions_by_place(entry: dict[str, Any], expected: list[str]) -> None:
    """The first two places of host 1's share."""
    conf = net_conf(**ranges_conf(entry, perNodeExclusions=[{"startIndex": 0, "endIndex": 1}]))
    assert expected == given(only_pool(shares(conf, RAIL0, index=1)))


def test_exclusions_by_place_of_a_host_block() -> None:
    conf = subnet_conf(perNodeExclusions=[{"startIndex": 0, "endIndex": 250}])
    expected = [f"192.168.65.{last}" for last in (251, 252, 253, 254)]
    assert expected == given(only_pool(shares(conf, RAIL1, 1)))


def test_gateway_of_one_range_is_given_by_no_other_of_its_subnet() -> None:
    conf = net_conf(
        **ranges_conf(
            {"rangeEnd": "10.1.0.9", "gatewayIndex": 2},
            {"rangeEnd": "10.1.0.4", "gateway": "10.1.0.3"},
            {"rangeEnd": "10.1.0.4"},
            routes=[{"dst": "10.8.0.0/16", "gw": "10.1.0.1"}],
        )
    )
    ((_, _, third),) = shares(conf, RAIL0).pools
    assert ["10.1.0.4"] == given(third)


def test_addresses_of_one_family_are_none_of_the_others() -> None:
    """10.1.0.5 is the number of ::a01:5."""
    conf = net_conf(**ranges_conf({"subnet": "::a01:0/125"}, excludeCIDRs=["10.1.0.6", "::a01:7"]))
    found = shares(conf, RAIL0, addresses=("10.1.0.5", "::a01:4"))
    assert [f"::10.1.0.{last}" for last in (1, 2, 3, 5, 6)] == given(only_pool(found))


# By ranges.


def test_ranges_are_tried_one_after_the_other() -> None:
    conf = range_conf(
        first=[
            {"rangeStart": "10.1.0.10", "rangeEnd": "10.1.0.11", "gateway": "10.1.0.10"},
            {"subnet": "fd00::/126"},
            {"subnet": "10.9.0.0/30"},
        ]
    )
    found = shares(conf, RAIL0)
    assert [
        ["10.1.0.10-10.1.0.11 of 10.1.0.0/24 /24", "10.9.0.0/30 /30"],
        ["fd00::/126 /126"],
    ] == written(found)
    assert ["10.1.0.11"] == given(found.pools[0][0])


def test_ranges_of_a_net_that_is_written_in_another_way() -> None:
    conf = net_conf(
        masterNets=["fd00:0:0:1::/64"],
        ipam={**OWN, "ranges": {"fd00:0:0:1::/64": [{"rangeEnd": "fd00:0:0:1::9"}]}},
    )
    pool = only_pool(shares(conf, nic("rail0")))
    assert ("fd00:0:0:1::/64", 64) == (str(pool.block), pool.prefix_length)


def test_ranges_of_a_master() -> None:
    conf = net_conf(
        masterNets=None,
        masters=["rail*"],
        ipam={**OWN, "ranges": {"rail*": [{"subnet": "10.7.0.0/24"}]}},
    )
    assert [["10.7.0.0/24 /24"]] == written(shares(conf, RAIL0))


def test_named_nic_has_the_ranges_of_its_network() -> None:
    conf = net_conf(
        masters=["extra"],
        ipam={
            **OWN,
            "ranges": {"10.1.0.0/24": [{}], "10.2.0.0/24": [{}], "10.7.0.0/24": [{}]},
        },
    )
    assert [["10.7.0.0/24 /24"]] == written(shares(conf, nic("extra", "10.7.0.9/24"), 2))
    error = refusal(conf, nic("extra", "10.8.0.9/24"), 2)
    assert BAD_CONF == error.code
    assert "no addresses for NIC extra" in error.message


def test_nic_that_only_a_device_names_has_the_ranges_of_its_network() -> None:
    conf = net_conf(
        masterNets=None,
        plugin={"type": "host-device", "pciBusID": "0000:01:00.0"},
        ipam={**OWN, "ranges": {"10.2.0.0/24": [{}], "10.1.0.0/24": [{}]}},
    )
    assert [["10.1.0.0/24 /24"]] == written(shares(conf, RAIL0, 0))


def test_ranges_share_their_subnets_in_their_own_ways_or_all_in_one() -> None:
    own = net_conf(
        **ranges_conf(
            {"subnet": "10.8.0.0/16", "perNodeBlockSize": 8},
            {"subnet": "fd08::/64", "perNodeNetworkPrefix": 80, "gatewayIndex": 1},
        )
    )
    assert [["10.8.0.17-10.8.0.24 of 10.8.0.0/16 /16"], ["fd08::2:0:0:0/80 /80"]] == written(
        shares(own, RAIL0, index=2)
    )
    shared = net_conf(**ranges_conf({"subnet": "10.8.0.0/16"}, perNodeBlockSize=8))
    assert [["10.8.0.17-10.8.0.24 of 10.8.0.0/16 /16"]] == written(shares(shared, RAIL0, index=2))
