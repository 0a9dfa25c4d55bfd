from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.addressing import ipam_block, ipam_without_nic, uses_store
from multinic_cni.errors import BAD_CONF, CniError
from multinic_ipam.reservation import Reservation
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.rails import OWN, RAIL0, RAIL1, range_conf, subnet_conf
from tests.unit.sharing import only_pool, shares

if TYPE_CHECKING:
    from multinic_cni.conf.netconf import NetConf
    from multinic_ipam.pools import Pool


def address(text: str, pool: Pool) -> tuple[Reservation, Pool]:
    return Reservation(str(pool.block), text), pool


def test_our_addresses_go_to_the_delegate_by_static() -> None:
    conf = subnet_conf(
        ["192.168.0.0/16", "fd00::/48"],
        routes=[{"dst": "10.9.0.0/16", "gw": "192.168.64.1"}],
        dns={"nameservers": ["10.1.0.53"]},
    )
    (four,), (six,) = shares(conf, RAIL1, 1).pools
    chosen = [address("192.168.65.7", four), address("fd00:0:0:4100::7", six)]
    expected = {
        "type": "static",
        "addresses": [
            {"address": "192.168.65.7/18"},
            {"address": "fd00:0:0:4100::7/50"},
        ],
        "routes": [{"dst": "10.9.0.0/16", "gw": "192.168.64.1"}],
        "dns": {"nameservers": ["10.1.0.53"]},
    }
    assert expected == ipam_block(conf, RAIL1, chosen)


def test_each_nic_has_the_routes_whose_gateway_it_reaches() -> None:
    routes = [
        {"dst": "10.9.0.0/16", "gw": "192.168.0.9"},
        {"dst": "10.10.0.0/16", "gw": "192.168.64.9", "mtu": 1400},
        {"dst": "fd09::/32"},
    ]
    conf = subnet_conf(routes=routes)
    expected = {0: [routes[0], routes[2]], 1: [routes[1], routes[2]]}
    for place, rail in enumerate((RAIL0, RAIL1)):
        pool = only_pool(shares(conf, rail, place))
        block = ipam_block(conf, rail, [address(f"192.168.{64 * place + 1}.7", pool)])
        assert block is not None
        assert expected[place] == block["routes"]


def test_route_without_a_gateway_has_its_addresss() -> None:
    ranges = {
        "10.1.0.0/24": [{"gateway": "10.1.0.1"}, {"subnet": "fd01::/64", "gateway": "fd01::1"}],
        "10.2.0.0/24": [{}],
    }
    routes = [
        {"dst": "0.0.0.0/0", "mtu": None},
        {"dst": "::/0"},
        {"dst": "10.0.0.0/8", "gw": "10.1.0.2"},
    ]
    conf = net_conf(ipam={**OWN, "ranges": ranges, "routes": routes})
    (four,), (six,) = shares(conf, RAIL0).pools
    block = ipam_block(conf, RAIL0, [address("10.1.0.7", four), address("fd01::7", six)])
    assert block is not None
    assert [
        {"dst": "0.0.0.0/0", "gw": "10.1.0.1"},
        {"dst": "::/0", "gw": "fd01::1"},
        {"dst": "10.0.0.0/8", "gw": "10.1.0.2"},
    ] == block["routes"]


def test_one_destination_twice_is_not_the_delegates_business() -> None:
    """It becomes one multipath route: each delegate would set its own, and one of them stay."""
    routes = [
        {"dst": "10.9.0.0/16", "gw": "192.168.0.9"},
        {"dst": "10.10.0.0/16", "gw": "192.168.0.9"},
        {"dst": "10.9.0.0/16", "gw": "192.168.0.8"},
    ]
    conf = subnet_conf(routes=routes)
    block = ipam_block(conf, RAIL0, [address("192.168.1.7", only_pool(shares(conf, RAIL0, 0)))])
    assert block is not None
    assert [routes[1]] == block["routes"]


def test_gateway_goes_with_the_address() -> None:
    conf = range_conf(first=[{"gateway": "10.1.0.1"}])
    pool = only_pool(shares(conf, RAIL0))
    expected = {
        "type": "static",
        "addresses": [{"address": "10.1.0.7/24", "gateway": "10.1.0.1"}],
    }
    assert expected == ipam_block(conf, RAIL0, [address("10.1.0.7", pool)])


@pytest.mark.parametrize(
    ("words", "address_of_pod", "gateway"),
    [
        ({"perNodeBlockSize": 4}, "10.9.0.6/16", "10.9.0.1"),
        ({"perNodeNetworkPrefix": 24}, "10.9.1.2/24", "10.9.1.1"),
    ],
    ids=["flat", "routed"],
)
def test_gateway_by_index_reaches_the_pod(
    words: dict[str, int], address_of_pod: str, gateway: str
) -> None:
    """And the routes without one go through it, each node's through its own."""
    conf = net_conf(
        ipam={
            **OWN,
            "ranges": {"10.1.0.0/24": [{"subnet": "10.9.0.0/16", **words}], "10.2.0.0/24": [{}]},
            "gatewayIndex": 1,
            "routes": [{"dst": "10.0.0.0/8"}],
        },
    )
    pool = only_pool(shares(conf, RAIL0, index=1))
    text = address_of_pod.partition("/")[0]
    expected = {
        "type": "static",
        "addresses": [{"address": address_of_pod, "gateway": gateway}],
        "routes": [{"gw": gateway, "dst": "10.0.0.0/8"}],
    }
    assert expected == ipam_block(conf, RAIL0, [address(text, pool)])


def test_nics_own_addresses_without_link_local_ones() -> None:
    conf = net_conf(ipam={"type": "host-device-ipam", "routes": [{"dst": "10.9.0.0/16"}]})
    own = nic("rail0", "10.1.0.5/24", "fe80::5/64", "169.254.3.4/16", "fd00::5/64")
    expected = {
        "type": "static",
        "addresses": [{"address": "10.1.0.5/24"}, {"address": "fd00::5/64"}],
        "routes": [{"dst": "10.9.0.0/16"}],
    }
    assert expected == ipam_block(conf, own, ())


MULTI: dict[str, Any] = {
    "type": "multi-config",
    "ipam_type": "whereabouts",
    "args": {
        "rail0": {"range": "10.1.0.0/24"},
        "enp1s0": {"range": "10.2.0.0/24", "routes": [{"dst": "10.8.0.0/16"}]},
    },
    "routes": [{"dst": "10.9.0.0/16"}],
}


def test_another_ipam_for_each_master() -> None:
    conf = net_conf(ipam=MULTI)
    expected = {
        "type": "whereabouts",
        "range": "10.1.0.0/24",
        "routes": [{"dst": "10.9.0.0/16"}],
    }
    assert expected == ipam_block(conf, RAIL0, ())


def test_multipath_route_is_no_masters_own() -> None:
    """Each master would be given the others' gateways, which it cannot reach."""
    twice = [{"dst": "10.7.0.0/16", "gw": f"10.{rail}.0.9"} for rail in (1, 2)]
    conf = net_conf(ipam=MULTI | {"routes": [*twice, *MULTI["routes"]]})
    block = ipam_block(conf, RAIL0, ())
    assert block is not None
    assert MULTI["routes"] == block["routes"]


def test_another_ipam_by_altname_with_its_own_routes() -> None:
    conf = net_conf(ipam=MULTI)
    expected = {
        "type": "whereabouts",
        "range": "10.2.0.0/24",
        "routes": [{"dst": "10.8.0.0/16"}],
    }
    assert expected == ipam_block(conf, nic("rail1", altnames=("enp1s0",)), ())


def test_master_without_ipam_arguments() -> None:
    with pytest.raises(CniError, match=re.escape("no entry for NIC rail7")) as raised:
        ipam_block(net_conf(ipam=MULTI), nic("rail7"), ())
    assert BAD_CONF == raised.value.code


@pytest.mark.parametrize(
    ("ipam", "expected"),
    [
        (None, None),
        ({}, None),
        ({"type": "host-local", "subnet": "10.7.0.0/24", "x": [1]},) * 2,
    ],
    ids=["none", "empty", "host-local"],
)
def test_any_other_ipam_goes_through(
    ipam: dict[str, object] | None, expected: dict[str, object] | None
) -> None:
    conf = net_conf(ipam=ipam)
    assert expected == ipam_block(conf, RAIL0, ())
    assert expected == ipam_without_nic(conf)
    assert not uses_store(conf)


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        (subnet_conf(), {"type": "static"}),
        (net_conf(ipam={"type": "host-device-ipam"}), {"type": "static"}),
        (net_conf(ipam=MULTI), {"type": "whereabouts"}),
    ],
    ids=["ours", "host-device", "multi-config"],
)
def test_ipam_plugin_that_will_be_executed(conf: NetConf, expected: dict[str, str]) -> None:
    assert expected == ipam_without_nic(conf)


def test_only_our_ipam_uses_the_store() -> None:
    assert uses_store(subnet_conf())
    assert not uses_store(net_conf())
