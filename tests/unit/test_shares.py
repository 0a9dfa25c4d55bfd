from __future__ import annotations

import re
from itertools import islice, pairwise

import netaddr
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from multinic_ipam.networks import Network, parse_address
from multinic_ipam.places import interface_network, slice_of
from multinic_ipam.pools import GeometryError, Pool
from multinic_ipam.shares import AddressBlocks, Cut, HostBlocks, NodeNetworks, SamePart
from tests.unit import pools

FLAT = Network.parse("192.168.0.0/16")


def number(text: str) -> int:
    return parse_address(text)[1]


def host_block(subnet: str, *, m: int, h: int, i: int, j: int) -> Pool:
    network = interface_network(Network.parse(subnet), m, i)
    return HostBlocks(network, h).share(j).pool()


def test_the_operators_worked_example() -> None:
    pool = host_block("192.168.0.0/16", m=2, h=6, i=1, j=1)
    assert "192.168.65.0/24" == str(pool.block)
    assert 18 == pool.prefix_length
    assert number("192.168.65.1") == pool.start
    assert number("192.168.65.254") == pool.end
    assert pool.dealt


@pytest.mark.parametrize(
    ("i", "j", "block"),
    [
        (0, 0, "192.168.0.0/24"),
        (0, 63, "192.168.63.0/24"),
        (1, 0, "192.168.64.0/24"),
        (3, 63, "192.168.255.0/24"),
    ],
)
def test_corners_of_a_subnet(i: int, j: int, block: str) -> None:
    assert block == str(host_block("192.168.0.0/16", m=2, h=6, i=i, j=j).block)


@st.composite
def geometries(draw: st.DrawFn) -> tuple[netaddr.IPNetwork, int, int, int, int]:
    version, bits = draw(st.sampled_from([(4, 32), (6, 128)]))
    length = draw(st.integers(0, bits))
    m = draw(st.integers(0, min(8, bits - length)))
    h = draw(st.integers(0, min(16, bits - length - m)))
    first = draw(st.integers(0, (1 << length) - 1)) << (bits - length)
    subnet = netaddr.IPNetwork((netaddr.IPAddress(first, version).value, length), version=version)
    i, j = draw(st.integers(0, (1 << m) - 1)), draw(st.integers(0, (1 << h) - 1))
    return subnet, m, h, i, j


@given(geometries())
def test_host_blocks_as_netaddr_cuts_them(
    geometry: tuple[netaddr.IPNetwork, int, int, int, int],
) -> None:
    subnet, m, h, i, j = geometry
    on_link = next(islice(subnet.subnet(subnet.prefixlen + m), i, None))
    expected = next(islice(on_link.subnet(on_link.prefixlen + h), j, None))
    network = interface_network(Network.parse(str(subnet)), m, i)
    share = HostBlocks(network, h).share(j)
    assert (expected.first, expected.last) == (share.first, share.last)
    assert on_link.prefixlen == share.link.length
    special = {on_link.first} if on_link.version == 6 else {on_link.first, on_link.last}
    try:
        pool = share.pool()
    except GeometryError:
        assert expected.size <= 2 and {expected.first, expected.last} & special  # noqa: PT018
        return
    assert expected.first <= pool.start <= pool.end <= expected.last
    assert on_link.size <= 2 or not special & {pool.start, pool.end}


@pytest.mark.parametrize(("j", "expected"), [(1, ["10.0.0.1"]), (2, ["10.0.0.2"])])
def test_host_blocks_of_one_address(j: int, expected: list[str]) -> None:
    assert expected == pools.given(host_block("10.0.0.0/30", m=0, h=2, i=0, j=j))


@pytest.mark.parametrize("j", [0, 3])
def test_host_block_of_nothing_but_the_links_own_address(j: int) -> None:
    with pytest.raises(GeometryError, match=rf"^10\.0\.0\.{j}/32 has no address for a pod$"):
        host_block("10.0.0.0/30", m=0, h=2, i=0, j=j)


@pytest.mark.parametrize(
    ("j", "expected"),
    [(0, ["10.0.0.1"]), (1, ["10.0.0.2", "10.0.0.3"]), (3, ["10.0.0.6"])],
)
def test_host_blocks_of_two_addresses(j: int, expected: list[str]) -> None:
    assert expected == pools.given(host_block("10.0.0.0/29", m=0, h=2, i=0, j=j))


def test_gateway_of_host_blocks_is_the_links() -> None:
    network = Network.parse("192.168.64.0/18")
    for j in (0, 1, 63):
        pool = HostBlocks(network, 6, network.first + 1).share(j).pool()
        assert number("192.168.64.1") == pool.gateway
        assert pool.excludes(number("192.168.64.1"))


# What all ways have in common.


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    version, bits = draw(st.sampled_from([(4, 32), (6, 128)]))
    length = draw(st.integers(bits - 20, bits))
    first = draw(st.integers(0, (1 << length) - 1)) << (bits - length)
    network = Network(version, first, length)
    free = bits - length
    ways = [
        st.builds(HostBlocks, st.just(network), st.integers(0, free)),
        st.builds(NodeNetworks, st.just(network), st.integers(length, bits)),
    ]
    if free >= 2:
        gateways = st.none() | st.integers(first + 1, first + (1 << free) - 2)
        sizes = st.integers(1, (1 << free) - 3)
        ways.append(st.builds(AddressBlocks, st.just(network), sizes, gateways))
    return draw(st.one_of(ways))


@given(cut=cuts(), data=st.data())
def test_shares_lie_in_the_network_and_apart(cut: Cut, data: st.DataObject) -> None:
    network = netaddr.IPNetwork(str(cut.network))
    indexes = (
        data.draw(st.lists(st.integers(0, cut.count - 1), min_size=2, max_size=6, unique=True))
        if cut.count > 1
        else [0]
    )
    shares = [cut.share(index) for index in sorted(indexes)]
    assert all(network.first <= each.first <= each.last <= network.last for each in shares)
    assert all(one.last < other.first for one, other in pairwise(shares))


@given(data=st.data(), host_bits=st.integers(1, 6), bits=st.integers(1, 6))
def test_shares_of_different_interfaces_and_hosts_are_apart(
    data: st.DataObject, host_bits: int, bits: int
) -> None:
    subnet = data.draw(st.sampled_from(["10.0.0.0/8", "192.168.0.0/20", "fd00::/64"]))
    places = st.tuples(st.integers(0, 2**bits - 1), st.integers(0, 2**host_bits - 1))
    one, other = data.draw(places), data.draw(places)
    assume(one != other)
    first, second = (
        netaddr.IPNetwork(
            str(
                HostBlocks(interface_network(Network.parse(subnet), bits, i), host_bits)
                .share(j)
                .block
            )
        )
        for i, j in (one, other)
    )
    assert first not in second
    assert second not in first
    assert first in netaddr.IPNetwork(subnet)


@pytest.mark.parametrize(
    "cut", [HostBlocks(FLAT, 6), AddressBlocks(FLAT, 4), NodeNetworks(FLAT, 24)]
)
def test_indexes_below_nought(cut: Cut) -> None:
    with pytest.raises(GeometryError, match="host index -1 does not fit"):
        cut.share(-1)


def test_host_block_that_does_not_fit() -> None:
    message = "hostBlock 9 does not fit in 10.1.0.0/24, which has 8 bits to share"
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}$"):
        HostBlocks(Network.parse("10.1.0.0/24"), 9)
    message = "host index 64 does not fit in hostBlock 6: it counts 0 to 63"
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}$"):
        HostBlocks(FLAT, 6).share(64)


def test_same_part_for_all() -> None:
    own = Network.parse("10.1.7.0/24")
    pool = SamePart(own, slice_of(own, 128, 3), number("10.1.7.1")).share(0).pool()
    assert ["10.1.7.128", "10.1.7.129", "10.1.7.130"] == pools.given(pool)
    assert (24, number("10.1.7.1"), False) == (pool.prefix_length, pool.gateway, pool.dealt)


# Shares that the conf names.

PREFIX = Network.parse("192.168.33.0/30")


@pytest.mark.parametrize(
    ("cut", "length", "block", "expected"),
    [
        (NodeNetworks(FLAT, 24, 1), 30, "192.168.33.0/30", ["192.168.33.2"]),
        (HostBlocks(FLAT, 6), 16, "192.168.33.0/30", ["192.168.33.1", "192.168.33.2"]),
        (AddressBlocks(FLAT, 4), 16, "192.168.0.0/16", [f"192.168.33.{n}" for n in range(4)]),
        (SamePart(FLAT), 16, "192.168.0.0/16", [f"192.168.33.{n}" for n in range(4)]),
    ],
    ids=["node network", "host block", "address block", "same part"],
)
def test_named_shares(cut: Cut, length: int, block: str, expected: list[str]) -> None:
    pool = cut.named(PREFIX, None).pool()
    assert (length, block) == (pool.prefix_length, str(pool.block))
    assert expected == pools.given(pool)
    assert pool.dealt


def test_gateway_of_a_named_share_replaces_the_networks() -> None:
    for cut in (NodeNetworks(FLAT, 24, 1), AddressBlocks(FLAT, 4, number("192.168.0.1"))):
        pool = cut.named(PREFIX, number("192.168.33.3")).pool()
        assert number("192.168.33.3") == pool.gateway
        assert "192.168.33.3" not in pools.given(pool)


def test_network_address_is_not_given_though_a_share_is_named_with_it() -> None:
    pool = AddressBlocks(FLAT, 4).named(Network.parse("192.168.0.0/30"), None).pool()
    assert [f"192.168.0.{n}" for n in (1, 2, 3)] == pools.given(pool)


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        (AddressBlocks(FLAT, 4), ("192.168.0.5", "192.168.0.6")),
        (NodeNetworks(FLAT, 24), ("192.168.1.0", "192.168.1.1")),
        (HostBlocks(FLAT, 8), ("192.168.1.0", "192.168.1.1")),
    ],
)
def test_places_count_from_the_shares_first_address(cut: Cut, expected: tuple[str, str]) -> None:
    assert tuple(number(each) for each in expected) == cut.share(1).run(0, 1)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("192.168.0.4/32", False),
        ("192.168.0.5/32", True),
        ("192.168.0.8/32", True),
        ("192.168.0.9/32", False),
        ("192.168.0.0/24", True),
        ("::c0a8:0/124", False),  # the same numbers in the other family
    ],
)
def test_overlaps_of_a_share(other: str, *, expected: bool) -> None:
    share = AddressBlocks(FLAT, 4).share(1)  # 192.168.0.5 to .8
    assert expected == share.overlaps(Network.parse(other))


def test_places_beyond_the_share_are_none() -> None:
    share = AddressBlocks(FLAT, 4).share(1)
    assert (number("192.168.0.7"), number("192.168.0.8")) == share.run(2, 9)
