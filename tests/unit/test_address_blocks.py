"""Runs of so many addresses for each node: nv-ipam's IPPool, with its documented examples."""

from __future__ import annotations

import re

import netaddr
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from multinic_ipam.networks import Network, parse_address
from multinic_ipam.pools import GeometryError
from multinic_ipam.shares import AddressBlocks
from tests.unit import pools

FLAT = Network.parse("192.168.0.0/16")


def number(text: str) -> int:
    return parse_address(text)[1]


def gateway_of(text: str | None) -> int | None:
    return None if text is None else number(text)


def bounds(cut: AddressBlocks, host_index: int) -> str:
    """Write the addresses of a share before anything is excluded."""
    share = cut.share(host_index)
    ends = [netaddr.IPAddress(end, share.link.version) for end in (share.first, share.last)]
    return f"{ends[0]}-{ends[1]}"


def test_blocks_of_four_with_the_gateway_in_the_first() -> None:
    cut = AddressBlocks(FLAT, 4, number("192.168.0.1"))
    first, second = cut.share(0).pool(), cut.share(1).pool()
    assert ["192.168.0.2", "192.168.0.3", "192.168.0.4"] == pools.given(first)
    assert [f"192.168.0.{last}" for last in (5, 6, 7, 8)] == pools.given(second)
    assert [number("192.168.0.1")] * 2 == [first.gateway, second.gateway]
    assert (16, "192.168.0.0/16", True) == (first.prefix_length, str(first.block), first.dealt)


@pytest.mark.parametrize(
    ("network", "size", "gateway", "expected"),
    [
        (
            "192.168.0.0/24",
            15,
            "192.168.0.1",
            [
                "192.168.0.1-192.168.0.15",
                "192.168.0.16-192.168.0.30",
                "192.168.0.31-192.168.0.45",
                "192.168.0.46-192.168.0.60",
            ],
        ),
        ("192.168.0.0/16", 100, "192.168.0.1", ["192.168.0.1-192.168.0.100"]),
        # Blocks of one address pass the gateway over.
        (
            "172.16.0.0/16",
            1,
            "172.16.0.3",
            [f"172.16.0.{last}-172.16.0.{last}" for last in (1, 2, 4, 5)],
        ),
        (
            "172.16.0.0/16",
            1,
            "172.16.0.1",
            [f"172.16.0.{last}-172.16.0.{last}" for last in (2, 3)],
        ),
        ("10.10.10.10/31", 2, None, ["10.10.10.10-10.10.10.11"]),
        ("10.10.10.10/31", 1, None, ["10.10.10.10-10.10.10.10", "10.10.10.11-10.10.10.11"]),
        ("10.10.10.10/32", 1, None, ["10.10.10.10-10.10.10.10"]),
        (
            "fd52:2eb5:44::/48",
            500,
            "fd52:2eb5:44::1",
            ["fd52:2eb5:44::1-fd52:2eb5:44::1f4", "fd52:2eb5:44::1f5-fd52:2eb5:44::3e8"],
        ),
    ],
)
def test_address_blocks(network: str, size: int, gateway: str | None, expected: list[str]) -> None:
    cut = AddressBlocks(Network.parse(network), size, gateway_of(gateway))
    assert expected == [bounds(cut, index) for index in range(len(expected))]


@pytest.mark.parametrize(
    ("network", "size", "gateway", "count"),
    [
        ("192.168.0.0/24", 200, "192.168.0.1", 1),
        ("255.255.255.0/24", 200, "255.255.255.1", 1),
        ("10.1.0.0/24", 127, None, 2),
        ("10.1.0.0/24", 128, None, 1),  # the second would end with the broadcast address
        ("10.1.0.0/24", 254, None, 1),
        ("10.1.0.0/24", 1, None, 254),
        ("10.1.0.0/24", 1, "10.1.0.9", 253),
        ("10.1.0.0/24", 2, "10.1.0.9", 127),
        ("10.10.10.10/31", 1, None, 2),
        ("fd00::/120", 255, None, 1),  # IPv6 has no broadcast address
        ("fd00::/120", 1, "fd00::ff", 254),
    ],
)
def test_how_many_address_blocks(network: str, size: int, gateway: str | None, count: int) -> None:
    cut = AddressBlocks(Network.parse(network), size, gateway_of(gateway))
    assert count == cut.count
    cut.share(count - 1)
    message = (
        f"host index {count} does not fit in perNodeBlockSize {size} of {network}: it counts 0"
        f" to {count - 1}"
    )
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}$"):
        cut.share(count)


@pytest.mark.parametrize(
    ("network", "size", "gateway", "hosts"),
    [
        ("10.1.0.0/24", 255, None, 254),
        ("10.10.10.10/32", 2, None, 1),
        ("10.10.10.10/32", 1, "10.10.10.10", 1),
    ],
)
def test_address_block_larger_than_the_network(
    network: str, size: int, gateway: str | None, hosts: int
) -> None:
    message = (
        f"perNodeBlockSize {size} of {network} does not fit: {network} has {hosts} addresses for"
    )
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}"):
        AddressBlocks(Network.parse(network), size, gateway_of(gateway))


@given(
    size=st.integers(1, 70),
    gateway=st.none() | st.integers(1, 62),
    length=st.integers(26, 32),
)
def test_address_blocks_are_consecutive_hosts(
    *, size: int, gateway: int | None, length: int
) -> None:
    """Against netaddr's hosts of the network: dealt in order, the tail left over."""
    network = netaddr.IPNetwork(f"10.9.0.0/{length}")
    if gateway is not None:
        assume(network.first + gateway <= network.last)
    router = None if gateway is None else network.first + gateway
    hosts = [each.value for each in network.iter_hosts()]
    if size == 1:
        hosts = [each for each in hosts if each != router]
    expected = [hosts[at : at + size] for at in range(0, len(hosts) - size + 1, size)]
    if not expected:
        with pytest.raises(GeometryError):
            AddressBlocks(Network.parse(str(network)), size, router)
        return
    cut = AddressBlocks(Network.parse(str(network)), size, router)
    shares = [cut.share(index) for index in range(cut.count)]
    assert expected == [list(range(each.first, each.last + 1)) for each in shares]
