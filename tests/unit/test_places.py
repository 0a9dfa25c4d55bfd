from __future__ import annotations

import re

import netaddr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_ipam.networks import Network, parse_address
from multinic_ipam.places import (
    check_index,
    gateway_at,
    inside,
    interface_network,
    nth_network,
    range_of,
    slice_of,
)
from multinic_ipam.pools import GeometryError
from multinic_ipam.shares import SamePart
from tests.unit import pools

NET = Network.parse("10.1.0.0/29")


def number(text: str) -> int:
    return parse_address(text)[1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((None, None), [f"10.1.0.{last}" for last in range(1, 7)]),
        (("10.1.0.3", None), [f"10.1.0.{last}" for last in range(3, 7)]),
        ((None, "10.1.0.3"), [f"10.1.0.{last}" for last in range(1, 4)]),
        (("10.1.0.0", "10.1.0.7"), [f"10.1.0.{last}" for last in range(1, 7)]),
        (("10.1.0.4", "10.1.0.4"), ["10.1.0.4"]),
    ],
    ids=["whole", "start", "end", "network and broadcast", "one"],
)
def test_ranges(words: tuple[str | None, str | None], expected: list[str]) -> None:
    pool = SamePart(NET, range_of(NET, *words)).share(0).pool()
    assert expected == pools.given(pool)
    assert 29 == pool.prefix_length
    assert not pool.dealt


def test_gateway_of_a_range_is_not_given() -> None:
    gateway = inside(NET, "10.1.0.1", "gateway")
    pool = SamePart(NET, range_of(NET, None, None), gateway).share(0).pool()
    assert [f"10.1.0.{last}" for last in range(2, 7)] == pools.given(pool)
    assert gateway == pool.gateway


def test_ranges_of_ipv6() -> None:
    net = Network.parse("fd00::/64")
    gateway = inside(net, "fd00::b", "gateway")
    pool = SamePart(net, range_of(net, "fd00::a", "fd00::c"), gateway).share(0).pool()
    assert ["fd00::a", "fd00::c"] == pools.given(pool)


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        ("10.2.0.1", None, "rangeStart 10.2.0.1 lies outside 10.1.0.0/29"),
        (None, "10.1.1.0", "rangeEnd 10.1.1.0 lies outside 10.1.0.0/29"),
        ("rail0", None, "'rail0' is not an IP address"),
        ("10.1.0.5", "10.1.0.4", "rangeStart 10.1.0.5 is above rangeEnd 10.1.0.4 in 10.1.0.0/29"),
    ],
)
def test_ranges_that_cannot_be(start: str | None, end: str | None, message: str) -> None:
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}$"):
        range_of(NET, start, end)


def test_gateway_of_another_family_lies_outside() -> None:
    with pytest.raises(GeometryError, match=r"^gateway fd00::1 lies outside 10\.1\.0\.0/29$"):
        inside(NET, "fd00::1", "gateway")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("10.1.0.7", "10.1.0.7"), "10.1.0.7 to 10.1.0.7"),
        (("10.1.0.7", None), "10.1.0.7 to 10.1.0.7"),
        ((None, "10.1.0.0"), "10.1.0.0 to 10.1.0.0"),
    ],
    ids=["both", "start", "end"],
)
def test_range_of_special_addresses_only(words: tuple[str | None, str | None], named: str) -> None:
    # It could never give an address: the admin must hear of it before a pod does.
    share = SamePart(NET, range_of(NET, *words)).share(0)
    with pytest.raises(GeometryError) as raised:
        share.pool()
    assert f"{named} of 10.1.0.0/29 has no address for a pod" == str(raised.value)


@pytest.mark.parametrize(
    ("offset", "length", "first", "last"),
    [
        (0, 8, "10.1.0.0", "10.1.0.7"),
        (2, 3, "10.1.0.2", "10.1.0.4"),
        (7, 1, "10.1.0.7", "10.1.0.7"),
    ],
)
def test_slices(offset: int, length: int, first: str, last: str) -> None:
    assert (number(first), number(last)) == slice_of(NET, offset, length)


@pytest.mark.parametrize(("offset", "length"), [(0, 9), (8, 1), (5, 4)])
def test_slice_beyond_the_network(offset: int, length: int) -> None:
    message = (
        f"slice: {length} addresses from offset {offset} on go beyond 10.1.0.0/29, which has 8"
    )
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}$"):
        slice_of(NET, offset, length)


@pytest.mark.parametrize(
    ("link", "index", "expected"),
    [
        ("10.1.0.0/24", 1, "10.1.0.1"),
        ("10.1.0.0/24", 254, "10.1.0.254"),
        ("10.1.0.0/31", 0, "10.1.0.0"),
        ("10.1.0.0/31", 1, "10.1.0.1"),
        ("10.1.0.9/32", 0, "10.1.0.9"),
        ("fd00::/126", 3, "fd00::3"),
        ("fd00::/127", 0, "fd00::"),
    ],
)
def test_gateway_by_its_index(link: str, index: int, expected: str) -> None:
    assert number(expected) == gateway_at(Network.parse(link), index)


@pytest.mark.parametrize(
    ("link", "index", "hosts"),
    [
        ("10.1.0.0/24", 0, "1 to 254"),
        ("10.1.0.0/24", 255, "1 to 254"),
        ("10.1.0.0/31", 2, "0 to 1"),
        ("10.1.0.9/32", 1, "0 to 0"),
        ("fd00::/126", 0, "1 to 3"),
    ],
)
def test_gateway_index_outside(link: str, index: int, hosts: str) -> None:
    message = f"gatewayIndex {index} lies outside {link}, whose hosts are {hosts}"
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}$"):
        gateway_at(Network.parse(link), index)


def test_no_index_no_gateway() -> None:
    assert gateway_at(NET, None) is None


def test_networks_of_interfaces() -> None:
    subnet = Network.parse("192.168.0.0/16")
    networks = [str(interface_network(subnet, 2, index)) for index in range(4)]
    assert [f"192.168.{third}.0/18" for third in (0, 64, 128, 192)] == networks


@pytest.mark.parametrize(
    ("bits", "index", "message"),
    [
        (2, 4, "interface index 4 does not fit in interfaceBlock 2: it counts 0 to 3"),
        (2, -1, "interface index -1 does not fit in interfaceBlock 2: it counts 0 to 3"),
        (0, 1, "interface index 1 does not fit in interfaceBlock 0: it counts 0 to 0"),
        (17, 0, "interfaceBlock 17 does not fit in 192.168.0.0/16, which has 16 bits to share"),
    ],
)
def test_interfaces_that_do_not_fit(bits: int, index: int, message: str) -> None:
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}$"):
        interface_network(Network.parse("192.168.0.0/16"), bits, index)


@given(st.data())
def test_nth_network_as_netaddr(data: st.DataObject) -> None:
    version, bits = data.draw(st.sampled_from([(4, 32), (6, 128)]))
    length = data.draw(st.integers(0, bits))
    more = data.draw(st.integers(0, min(10, bits - length)))
    first = data.draw(st.integers(0, (1 << length) - 1)) << (bits - length)
    index = data.draw(st.integers(0, (1 << more) - 1))
    parent = netaddr.IPNetwork((netaddr.IPAddress(first, version).value, length), version=version)
    expected = next(each for n, each in enumerate(parent.subnet(length + more)) if n == index)
    assert str(expected) == str(
        netaddr.IPNetwork(str(nth_network(Network(version, first, length), more, index)))
    )


def test_check_index_takes_all_that_fit() -> None:
    for index in range(8):
        check_index("host", index, "hostBlock 3", 8)
    with pytest.raises(GeometryError):
        check_index("host", 8, "hostBlock 3", 8)
