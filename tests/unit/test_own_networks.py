"""Shares of the networks that the node's NICs are in themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.errors import BAD_CONF
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.pools import given
from tests.unit.rails import OWN, RAIL0
from tests.unit.sharing import only_pool, refusal, shares, written

if TYPE_CHECKING:
    from multinic_selectors.nics import Nic


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (["10.1.0.5/24"], ["10.1.0.0/24"]),
        # The length is the address's own, whatever that of the masterNet.
        (["10.1.0.5/26"], ["10.1.0.0/26"]),
        (["10.3.0.5/24", "10.1.0.5/24"], ["10.1.0.0/24"]),
        (["fd01::5/64", "10.1.0.5/24", "10.1.0.200/26"], ["10.1.0.0/24"]),
        (["fd00:1::5/64", "10.1.0.5/24", "fe80::5/64"], ["10.1.0.0/24", "fd00:1::/64"]),
    ],
    ids=["one", "longer", "another before", "another family", "both families"],
)
def test_own_networks_are_those_in_master_nets(addresses: list[str], expected: list[str]) -> None:
    conf = net_conf(
        masterNets=["10.1.0.0/24", "fd00:1::/64"], ipam={**OWN, "slice": {"offset": 8, "length": 8}}
    )
    found = shares(conf, nic("rail0", *addresses))
    assert expected == [str(share.network) for (share,) in found.families]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (nic("rail0", "10.1.0.5/24", passing=("10.1.0.130/25",)), ["10.1.0.0/24"]),
        (nic("rail0", "10.1.0.200/32", "10.1.0.5/24"), ["10.1.0.0/24"]),
        (
            nic("rail0", "10.1.0.200/32", "10.1.0.5/24", "fd00:1::c/128", "fd00:1::5/64"),
            ["10.1.0.0/24", "fd00:1::/64"],
        ),
        (
            nic("rail0", "10.1.0.5/24", "fd00:1::5/64", passing=("fd00:1::aaaa/65",)),
            ["10.1.0.0/24", "fd00:1::/64"],
        ),
    ],
    ids=["secondary first", "moving one first", "moving ones of both families", "temporary"],
)
def test_own_networks_are_those_of_addresses_that_stay(own: Nic, expected: list[str]) -> None:
    conf = net_conf(
        masterNets=["10.1.0.0/24", "fd00:1::/64"], ipam={**OWN, "slice": {"offset": 8, "length": 8}}
    )
    assert expected == [str(share.network) for (share,) in shares(conf, own).families]


def test_nic_with_nothing_that_stays_has_no_network() -> None:
    conf = net_conf(ipam={**OWN, "slice": {"offset": 8, "length": 8}})
    own = nic("rail0", passing=("10.1.0.5/24",))
    assert "so that its own network is not known" in refusal(conf, own).message


def test_passing_addresses_are_never_given_to_pods() -> None:
    """The node has them all the same, as long as it has them."""
    conf = net_conf(ipam={**OWN, "hostBlock": 0})
    found = shares(conf, RAIL0, addresses=("10.1.0.5", "10.1.0.1"))
    assert {"10.1.0.1", "10.1.0.5"}.isdisjoint(given(only_pool(found)))


def test_own_networks_of_a_nic_by_name_are_the_first_of_each_family() -> None:
    conf = net_conf(masters=["extra"], ipam={**OWN, "slice": {"offset": 8, "length": 8}})
    own = ("169.254.7.7/16", "fe80::5/64", "fd07::5/64", "10.7.0.5/24", "10.8.0.5/24", "fd08::5/64")
    found = shares(conf, nic("extra", *own), 2)
    assert ["10.7.0.0/24", "fd07::/64"] == [str(share.network) for (share,) in found.families]


def test_own_network_cut_by_host_block() -> None:
    conf = net_conf(ipam={**OWN, "hostBlock": 4, "interfaceBlock": 2, "gatewayIndex": 1})
    found = shares(conf, RAIL0, index=3, addresses=("10.1.0.5", "10.1.0.50"))
    assert [["10.1.0.48/28 /24"]] == written(found)
    expected = [f"10.1.0.{last}" for last in (49, *range(51, 63))]
    assert expected == given(only_pool(found))


def test_own_network_whole_for_the_one_node_that_it_is_of() -> None:
    """The operator's confs for NICs that it does not manage."""
    conf = net_conf(subnet="", ipam={**OWN, "hostBlock": 0, "interfaceBlock": 0})
    found = shares(conf, RAIL0, addresses=("10.1.0.5",))
    assert [["10.1.0.0/24 /24"]] == written(found)
    assert not only_pool(found).dealt


def test_slice_of_each_nodes_own_network() -> None:
    conf = net_conf(
        masterNets=["10.1.0.0/16"],
        ipam={**OWN, "slice": {"offset": 16, "length": 4}, "gatewayIndex": 1},
    )
    for third in (7, 8):
        own = nic("rail0", f"10.1.{third}.2/24")
        pool = only_pool(shares(conf, own))
        assert [f"10.1.{third}.{last}" for last in (16, 17, 18, 19)] == given(pool)
        assert 24 == pool.prefix_length
        assert pool.gateway is not None
        assert pool.block.first + 1 == pool.gateway


@pytest.mark.parametrize(
    ("ipam", "addresses", "message"),
    [
        ({"hostBlock": 4}, [], "it has no address, so that its own network is not known"),
        ({"hostBlock": 4}, ["fe80::5/64"], "it has no address"),
        (
            {"hostBlock": 4},
            ["10.1.0.5/29"],
            "hostBlock 4 does not fit in 10.1.0.0/29, which has 3 bits to share",
        ),
        (
            {"slice": {"offset": 16, "length": 16}},
            ["10.1.0.5/28"],
            "slice: 16 addresses from offset 16 on go beyond 10.1.0.0/28, which has 16",
        ),
        (
            {"perNodeBlockSize": 7},
            ["10.1.0.5/29"],
            "perNodeBlockSize 7 of 10.1.0.0/29 does not fit: 10.1.0.0/29 has 6 addresses for pods",
        ),
        (
            {"perNodeBlockSize": 2},
            ["10.1.0.5/29"],
            "host index 5 does not fit in perNodeBlockSize 2 of 10.1.0.0/29: it counts 0 to 2",
        ),
        (
            {"perNodeNetworkPrefix": 24},
            ["10.1.0.5/25"],
            "perNodeNetworkPrefix 24 does not fit in 10.1.0.0/25: it may be 25 to 32",
        ),
        (
            {"hostBlock": 3, "gatewayIndex": 15},
            ["10.1.0.5/28"],
            "gatewayIndex 15 lies outside 10.1.0.0/28, whose hosts are 1 to 14",
        ),
    ],
)
def test_own_networks_that_cannot_be_shared(
    ipam: dict[str, Any], addresses: list[str], message: str
) -> None:
    error = refusal(net_conf(ipam={**OWN, **ipam}), nic("rail0", *addresses), index=5)
    assert BAD_CONF == error.code
    assert f"no addresses for NIC rail0: {message}" in error.message
