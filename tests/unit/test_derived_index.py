"""Which of a NIC's own addresses numbers the node, and where none does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.conf.node import NodeFile
from multinic_selectors.candidates import Choice
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.rails import OWN
from tests.unit.test_host_index import FIRST, conf_of, index_of, refusal

if TYPE_CHECKING:
    from multinic_selectors.nics import Nic


@pytest.mark.parametrize(
    "own",
    [
        nic("rail0", "10.1.0.5/24", passing=("10.1.0.200/24",)),
        nic("rail0", "10.1.0.200/32", "10.1.0.5/24"),
        nic("rail0", "10.1.0.5/32", passing=("10.1.0.200/24",)),
        nic("rail0", "10.1.0.5/32", "10.9.0.7/24"),
        nic("rail0", "10.1.0.5/32", "fe80::5/64", "fd00::7/64"),
        nic("rail0", "10.1.0.5/24", "10.1.0.5/24"),
    ],
    ids=[
        "secondary first",
        "moving one first",
        "a single host's, alone",
        "a single host's beside another network's",
        "a single host's beside IPv6",
        "the same twice",
    ],
)
def test_only_addresses_that_stay_number_a_node(own: Nic) -> None:
    assert 5 == index_of(conf_of(), Choice(own, 0)).number


def test_address_of_dhcpv6_numbers_a_node() -> None:
    """It has the length of a single host, and a link-local one is beside it always."""
    conf = net_conf(
        masterNets=["fd00:1::/120"],
        subnet="192.168.0.0/16",
        ipam={**OWN, "hostBlock": 8},
    )
    own = nic("rail0", "fe80::5/64", "fd00:1::2a/128")
    assert 0x2A == index_of(conf, Choice(own, 0)).number


@pytest.mark.parametrize(
    "own",
    [
        nic("rail0", "10.1.0.9/24", "10.1.0.8/24"),
        nic("rail0", "10.1.0.9/32", "10.1.0.8/32"),
        nic("rail0", "10.1.0.9/25", "10.1.0.8/24", "10.1.0.1/32", passing=("10.1.0.2/24",)),
    ],
)
def test_none_follows_from_several_addresses(own: Nic) -> None:
    """Which of them stays, nobody can know: at the next boot another one might be the first."""
    assert (
        "none follows from the NIC, which has several addresses in 10.1.0.0/24: 10.1.0.8, 10.1.0.9"
    ) in refusal(conf_of(), Choice(own, 0)).message


def test_none_follows_from_passing_addresses_alone() -> None:
    own = nic("rail0", "10.9.0.3/24", passing=("10.1.0.5/24",))
    reason = "which has no address of its own in an entry of masterNets"
    assert reason in refusal(conf_of(), Choice(own, 0)).message
    assert 7 == index_of(conf_of(), Choice(own, 0), NodeFile(host_index=7)).number


RANGE = {"subnet": "10.9.0.0/16", "perNodeBlockSize": 100}


def test_none_follows_where_several_masters_share_one_network() -> None:
    """Number 5 of one rail need not be the node that is number 5 of the other."""
    both = net_conf(ipam={**OWN, "ranges": {"10.1.0.0/24": [RANGE], "10.2.0.0/24": [RANGE]}})
    error = refusal(both, FIRST)
    reason = "none follows from 10.1.0.5 in 10.1.0.0/24, since several masters share 10.9.0.0/16"
    assert reason in error.message
    assert 7 == index_of(both, FIRST, NodeFile(host_index=7)).number
    assert "" == index_of(both, FIRST, NodeFile(host_index=7)).hint


@pytest.mark.parametrize(
    "listed",
    [
        {"10.1.0.0/24": [RANGE]},
        {"10.1.0.0/24": [RANGE], "10.2.0.0/24": [{}]},
        {"10.1.0.0/24": [RANGE], "10.2.0.0/24": [{**RANGE, "subnet": "10.8.0.0/16"}]},
    ],
    ids=["alone", "beside its own network", "beside another subnet"],
)
def test_index_follows_where_one_master_has_the_network(listed: dict[str, Any]) -> None:
    conf = net_conf(masterNets=[*listed], ipam={**OWN, "ranges": listed})
    assert 5 == index_of(conf, FIRST).number
