"""A network for each node: nv-ipam's CIDRPool, with its documented examples."""

from __future__ import annotations

import re

import pytest

from multinic_ipam.networks import Network, parse_address
from multinic_ipam.pools import GeometryError
from multinic_ipam.shares import NodeNetworks
from tests.unit import pools

FLAT = Network.parse("192.168.0.0/16")


def number(text: str) -> int:
    return parse_address(text)[1]


@pytest.mark.parametrize(
    ("network", "length", "index", "expected"),
    [
        (
            "192.168.0.0/16",
            24,
            1,
            {0: ("192.168.0.0/24", "192.168.0.1"), 33: ("192.168.33.0/24", "192.168.33.1")},
        ),
        (
            "172.16.0.0/16",
            24,
            254,
            {1: ("172.16.1.0/24", "172.16.1.254"), 2: ("172.16.2.0/24", "172.16.2.254")},
        ),
        (
            "fd52:2eb5:44::/48",
            120,
            1,
            {1: ("fd52:2eb5:44::100/120", "fd52:2eb5:44::101")},
        ),
        (
            "172.16.0.0/15",
            31,
            0,
            {2: ("172.16.0.4/31", "172.16.0.4"), 3: ("172.16.0.6/31", "172.16.0.6")},
        ),
    ],
)
def test_node_networks(
    network: str, length: int, index: int, expected: dict[int, tuple[str, str]]
) -> None:
    cut = NodeNetworks(Network.parse(network), length, index)
    for host_index, (block, gateway) in expected.items():
        pool = cut.share(host_index).pool()
        assert (block, length) == (str(pool.block), pool.prefix_length)
        assert number(gateway) == pool.gateway
        assert pool.dealt


@pytest.mark.parametrize(
    ("network", "length", "index", "expected"),
    [
        ("192.168.100.0/24", 31, None, ["192.168.100.2", "192.168.100.3"]),
        ("192.168.100.0/24", 31, 0, ["192.168.100.3"]),
        ("192.168.100.0/24", 32, None, ["192.168.100.1"]),
        ("192.168.100.0/24", 30, 1, ["192.168.100.6"]),
        ("fd00::/64", 127, 1, ["fd00::2"]),
        ("fd00::/64", 128, None, ["fd00::1"]),
    ],
)
def test_small_node_networks(
    network: str, length: int, index: int | None, expected: list[str]
) -> None:
    assert expected == pools.given(
        NodeNetworks(Network.parse(network), length, index).share(1).pool()
    )


@pytest.mark.parametrize(
    ("length", "index", "message"),
    [
        (
            15,
            None,
            "perNodeNetworkPrefix 15 does not fit in 192.168.0.0/16: it may be 16 to 32",
        ),
        (
            33,
            None,
            "perNodeNetworkPrefix 33 does not fit in 192.168.0.0/16: it may be 16 to 32",
        ),
        (24, 255, "gatewayIndex 255 lies outside 192.168.0.0/24, whose hosts are 1 to 254"),
        (24, 0, "gatewayIndex 0 lies outside 192.168.0.0/24, whose hosts are 1 to 254"),
    ],
)
def test_node_networks_that_cannot_be(length: int, index: int | None, message: str) -> None:
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}$"):
        NodeNetworks(FLAT, length, index)


def test_host_indexes_beyond_the_node_networks() -> None:
    cut = NodeNetworks(FLAT, 24)
    assert 256 == cut.count
    message = "host index 256 does not fit in perNodeNetworkPrefix 24 of 192.168.0.0/16"
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}"):
        cut.share(256)
