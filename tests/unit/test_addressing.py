from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import pytest

from multinic_cni.addressing import host_index, pools_of
from multinic_cni.conf.node import Node
from multinic_cni.errors import BAD_CONF, CniError
from multinic_ipam.networks import format_address, parse_address
from multinic_selectors.selection import Choice
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.rails import BLOCKS, OWN, RAIL0, RAIL1, range_conf, subnet_conf

if TYPE_CHECKING:
    from multinic_cni.addressing import Alternatives
    from multinic_cni.conf.netconf import NetConf
    from multinic_ipam.pools import Pool


def offered(pool: Pool) -> list[str]:
    return [format_address(pool.block.version, n) for n in pool.free_after(None, ())]


def written(alternatives: Alternatives) -> list[list[str]]:
    return [[f"{pool} /{pool.prefix_length}" for pool in family] for family in alternatives]


def test_share_of_interface_1_on_host_1() -> None:
    pools = pools_of(subnet_conf(), Choice(RAIL1, 1), 1, ())
    assert [["192.168.65.0/24 /18"]] == written(pools)


def test_both_families_have_a_pool() -> None:
    pools = pools_of(subnet_conf(["192.168.0.0/16", "fd00::/48"]), Choice(RAIL1, 1), 1, ())
    # fd00::/48: 2 bits for the interface, 6 for the host.
    assert [["192.168.65.0/24 /18"], ["fd00:0:0:4100::/56 /50"]] == written(pools)


def test_place_is_the_interfaces_number_whatever_else_is_there() -> None:
    conf = net_conf(
        subnet="192.168.0.0/16", ipam=BLOCKS, masterNets=[f"10.{n}.0.0/24" for n in range(4)]
    )
    assert [["192.168.192.0/24 /18"]] == written(pools_of(conf, Choice(RAIL1, 3), 0, ()))


def test_host_that_does_not_fit() -> None:
    with pytest.raises(CniError) as raised:
        pools_of(subnet_conf(), Choice(RAIL1, 1), 64, ())
    assert BAD_CONF == raised.value.code
    assert (
        "no addresses for NIC rail1: host index 64 does not fit in hostBlock 6: it counts 0 to 63"
    ) == raised.value.message


def test_exclusions_and_the_nodes_own_addresses_are_not_given_out() -> None:
    conf = net_conf(
        ipam={
            **OWN,
            "excludeCIDRs": ["10.1.0.4/31", "10.1.0.1"],
            "ranges": {
                "10.1.0.0/24": [{"rangeStart": "10.1.0.1", "rangeEnd": "10.1.0.9"}],
                "10.2.0.0/24": [{}],
            },
        }
    )
    node = [parse_address("10.1.0.7"), parse_address("10.2.0.8"), parse_address("fd00::3")]
    ((pool,),) = pools_of(conf, Choice(RAIL0, 0), 0, node)
    assert [f"10.1.0.{last}" for last in (2, 3, 6, 8, 9)] == offered(pool)


def test_ranges_are_tried_one_after_the_other() -> None:
    conf = range_conf(
        first=[
            {"rangeStart": "10.1.0.10", "rangeEnd": "10.1.0.11", "gateway": "10.1.0.10"},
            {"subnet": "10.9.0.0/30"},
            {"subnet": "fd00::/126"},
        ]
    )
    pools = pools_of(conf, Choice(RAIL0, 0), 0, ())
    assert [
        ["10.1.0.10-10.1.0.11 of 10.1.0.0/24 /24", "10.9.0.0/30 /30"],
        ["fd00::/126 /126"],
    ] == written(pools)
    assert ["10.1.0.11"] == offered(pools[0][0])


def test_ranges_of_a_net_that_is_written_in_another_way() -> None:
    conf = net_conf(
        masterNets=["fd00:0:0:1::/64"],
        ipam={**OWN, "ranges": {"fd00:0:0:1::/64": [{"rangeEnd": "fd00:0:0:1::9"}]}},
    )
    ((pool,),) = pools_of(conf, Choice(nic("rail0"), 0), 0, ())
    assert ("fd00:0:0:1::/64", 64) == (str(pool.block), pool.prefix_length)


def test_ranges_of_a_master() -> None:
    conf = net_conf(
        masterNets=None,
        masters=["rail*"],
        ipam={**OWN, "ranges": {"rail*": [{"subnet": "10.7.0.0/24"}]}},
    )
    assert [["10.7.0.0/24 /24"]] == written(pools_of(conf, Choice(RAIL0, 0), 0, ()))


def test_named_nic_has_the_ranges_of_its_network() -> None:
    conf = net_conf(
        masters=["extra"],
        ipam={
            **OWN,
            "ranges": {"10.1.0.0/24": [{}], "10.2.0.0/24": [{}], "10.7.0.0/24": [{}]},
        },
    )
    assert [["10.7.0.0/24 /24"]] == written(
        pools_of(conf, Choice(nic("extra", "10.7.0.9/24"), 2), 0, ())
    )
    with pytest.raises(CniError, match="no addresses for NIC extra") as raised:
        pools_of(conf, Choice(nic("extra", "10.8.0.9/24"), 2), 0, ())
    assert BAD_CONF == raised.value.code


@pytest.mark.parametrize(
    ("node", "host_name", "expected"),
    [
        (Node(host_index=9), "node-a", 9),
        (Node(host_index=0, name="node-a"), "x", 0),
        (Node(name="node-a"), "x", 1),
        (Node(), "node-a", 1),
    ],
    ids=["node.json's index", "index before name", "node.json's name", "host name"],
)
def test_host_index(node: Node, host_name: str, expected: int) -> None:
    assert expected == host_index(subnet_conf(), lambda: node, lambda: host_name)


@pytest.mark.parametrize(
    ("node", "host_name", "named"),
    [
        (Node(), "node-a.example", "node-a.example"),
        (Node(), "Node-A", "Node-A"),
        (Node(name="node-b"), "node-a", "node-b"),
    ],
    ids=["longer", "other case", "node.json's name"],
)
def test_no_host_index_is_an_error_that_says_how(node: Node, host_name: str, named: str) -> None:
    with pytest.raises(CniError) as raised:
        host_index(subnet_conf(), lambda: node, lambda: host_name)
    assert BAD_CONF == raised.value.code
    assert f"this node ({named}) has no host index" in raised.value.message
    assert f'add "{named}" to the net conf\'s hosts' in raised.value.details
    assert '{"hostIndex": N}' in raised.value.details


@pytest.mark.parametrize(
    "conf",
    [
        range_conf(),
        net_conf(),
        net_conf(ipam={"type": "host-local"}),
        net_conf(subnet="192.168.0.0/16", ipam={**OWN, "interfaceBlock": 1}),
    ],
    ids=["ranges", "no ipam", "another ipam", "one node"],
)
def test_no_host_index_needed(conf: NetConf) -> None:
    """And nothing of the node is read then: a mistake in its file is no concern of this conf."""

    def unread() -> NoReturn:
        pytest.fail("read without need")

    assert 0 == host_index(conf, unread, unread)
