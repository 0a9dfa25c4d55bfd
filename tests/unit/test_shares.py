from __future__ import annotations

import re
from itertools import islice

import netaddr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_ipam.networks import Network, parse_address
from multinic_ipam.pools import GeometryError, Pool, check_index, host_pool


def number(text: str) -> int:
    return parse_address(text)[1]


def texts(pool: Pool, *, last: str | None = None, taken: tuple[str, ...] = ()) -> list[str]:
    """Write all addresses that a small pool offers, in its order."""
    after = None if last is None else number(last)
    offered = pool.free_after(after, {number(each) for each in taken})
    return [str(netaddr.IPAddress(each, pool.block.version)) for each in offered]


def share(subnet: str, *, m: int, h: int, i: int, j: int) -> Pool:
    return host_pool(
        Network.parse(subnet), interface_bits=m, host_bits=h, interface_index=i, host_index=j
    )


def test_the_operators_worked_example() -> None:
    pool = share("192.168.0.0/16", m=2, h=6, i=1, j=1)
    assert "192.168.65.0/24" == str(pool.block)
    assert 18 == pool.prefix_length
    assert number("192.168.65.1") == pool.start
    assert number("192.168.65.254") == pool.end


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
    assert block == str(share("192.168.0.0/16", m=2, h=6, i=i, j=j).block)


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
def test_shares_as_netaddr_cuts_them(
    geometry: tuple[netaddr.IPNetwork, int, int, int, int],
) -> None:
    subnet, m, h, i, j = geometry
    pool = share(str(subnet), m=m, h=h, i=i, j=j)
    on_link = next(islice(subnet.subnet(subnet.prefixlen + m), i, None))
    block = next(islice(on_link.subnet(on_link.prefixlen + h), j, None))
    assert (block.first, block.prefixlen) == (pool.block.first, pool.block.length)
    assert on_link.prefixlen == pool.prefix_length


@given(geometries())
def test_no_share_offers_the_links_own_addresses(
    geometry: tuple[netaddr.IPNetwork, int, int, int, int],
) -> None:
    subnet, m, h, i, j = geometry
    pool = share(str(subnet), m=m, h=h, i=i, j=j)
    on_link = next(islice(subnet.subnet(subnet.prefixlen + m), i, None))
    offered = [*islice(pool.free_after(None, ()), 3), *islice(pool.free_after(pool.end, ()), 3)]
    assert [] == [each for each in offered if not pool.block.holds(pool.block.version, each)]
    if on_link.size > 2:
        assert on_link.first not in offered
        assert on_link.version == 6 or on_link.last not in offered


@pytest.mark.parametrize(
    ("j", "expected"),
    [(0, []), (1, ["10.0.0.1"]), (2, ["10.0.0.2"]), (3, [])],
)
def test_shares_of_one_address(j: int, expected: list[str]) -> None:
    # The link's network and broadcast address are nobody's, so two hosts have no address at all.
    assert expected == texts(share("10.0.0.0/30", m=0, h=2, i=0, j=j))


@pytest.mark.parametrize(
    ("j", "expected"),
    [(0, ["10.0.0.1"]), (1, ["10.0.0.2", "10.0.0.3"]), (3, ["10.0.0.6"])],
)
def test_shares_of_two_addresses(j: int, expected: list[str]) -> None:
    assert expected == texts(share("10.0.0.0/29", m=0, h=2, i=0, j=j))


def test_whole_subnet_for_one_node() -> None:
    pool = share("10.1.2.0/30", m=0, h=0, i=0, j=0)
    assert ["10.1.2.1", "10.1.2.2"] == texts(pool)
    assert 30 == pool.prefix_length


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (
            {"m": 2, "h": 6, "i": 4, "j": 0},
            "interface index 4 does not fit in interfaceBlock 2: it counts 0 to 3",
        ),
        (
            {"m": 2, "h": 6, "i": 0, "j": 64},
            "host index 64 does not fit in hostBlock 6: it counts 0 to 63",
        ),
        (
            {"m": 0, "h": 0, "i": 1, "j": 0},
            "interface index 1 does not fit in interfaceBlock 0: it counts 0 to 0",
        ),
        (
            {"m": 2, "h": 6, "i": -1, "j": 0},
            "interface index -1 does not fit in interfaceBlock 2: it counts 0 to 3",
        ),
        (
            {"m": 8, "h": 9, "i": 0, "j": 0},
            "192.168.0.0/16 has 16 bits to share, but interfaceBlock 8 and hostBlock 9 take 17",
        ),
    ],
)
def test_numbers_that_do_not_fit(numbers: dict[str, int], message: str) -> None:
    with pytest.raises(GeometryError, match=f"{re.escape(message)}$"):
        share("192.168.0.0/16", **numbers)


def test_check_index_takes_all_that_fit() -> None:
    for index in range(8):
        check_index("host", index, "hostBlock", 3)
    with pytest.raises(GeometryError):
        check_index("host", 8, "hostBlock", 3)
