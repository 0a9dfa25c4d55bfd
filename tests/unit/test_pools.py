from __future__ import annotations

import re
from itertools import islice

import netaddr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_ipam.networks import Network, parse_address
from multinic_ipam.pools import GeometryError, Pool, range_pool, usable


def number(text: str) -> int:
    return parse_address(text)[1]


def texts(pool: Pool, *, last: str | None = None, taken: tuple[str, ...] = ()) -> list[str]:
    """Write all addresses that a small pool offers, in its order."""
    after = None if last is None else number(last)
    offered = pool.free_after(after, {number(each) for each in taken})
    return [str(netaddr.IPAddress(each, pool.block.version)) for each in offered]


@pytest.mark.parametrize(
    ("block", "first", "last"),
    [
        ("10.0.0.0/24", "10.0.0.1", "10.0.0.254"),
        ("10.0.0.0/30", "10.0.0.1", "10.0.0.2"),
        ("10.0.0.0/31", "10.0.0.0", "10.0.0.1"),
        ("10.0.0.5/32", "10.0.0.5", "10.0.0.5"),
        ("fd00::/64", "fd00::1", "fd00::ffff:ffff:ffff:ffff"),
        ("fd00::/126", "fd00::1", "fd00::3"),
        ("fd00::/127", "fd00::", "fd00::1"),
        ("fd00::5/128", "fd00::5", "fd00::5"),
    ],
)
def test_usable(block: str, first: str, last: str) -> None:
    assert (number(first), number(last)) == usable(Network.parse(block))


@given(first=st.integers(0, 2**30 - 1), length=st.integers(0, 31))
def test_usable_as_netaddr_counts_hosts(first: int, length: int) -> None:
    cidr = netaddr.IPNetwork((first, length)).cidr
    hosts = cidr.iter_hosts()
    assert next(iter(hosts)).value == usable(Network(4, cidr.first, length))[0]


def test_next_fit_goes_round() -> None:
    pool = Pool(Network.parse("10.0.0.0/29"), prefix_length=29)
    every = [f"10.0.0.{last}" for last in range(1, 7)]
    assert every == texts(pool)
    assert [*every[3:], *every[:3]] == texts(pool, last="10.0.0.3")
    assert every == texts(pool, last="10.0.0.6")


@pytest.mark.parametrize("last", ["10.0.0.0", "10.0.0.7", "10.9.9.9", "1.0.0.0"])
def test_cursor_outside_starts_anew(last: str) -> None:
    pool = Pool(Network.parse("10.0.0.0/29"), prefix_length=29)
    assert [f"10.0.0.{each}" for each in range(1, 7)] == texts(pool, last=last)


def test_taken_addresses_are_passed_over() -> None:
    pool = Pool(Network.parse("10.0.0.0/29"), prefix_length=29)
    expected = ["10.0.0.5", "10.0.0.6", "10.0.0.1", "10.0.0.3"]
    assert expected == texts(pool, last="10.0.0.3", taken=("10.0.0.4", "10.0.0.2"))


def test_gateway_and_exclusions_are_never_offered() -> None:
    excluded = [Network.parse(each) for each in ("10.0.0.4/30", "10.0.0.9/32", "192.168.0.0/16")]
    pool = Pool(
        Network.parse("10.0.0.0/28"),
        prefix_length=28,
        gateway=number("10.0.0.1"),
        excluded=excluded,
    )
    expected = [f"10.0.0.{last}" for last in (2, 3, 8, 10, 11, 12, 13, 14)]
    assert expected == texts(pool)
    assert [*expected[2:], *expected[:2]] == texts(pool, last="10.0.0.5")


def test_nothing_left_when_all_is_excluded() -> None:
    pool = Pool(
        Network.parse("10.0.0.0/24"), prefix_length=24, excluded=[Network.parse("10.0.0.0/16")]
    )
    assert [] == texts(pool)


def test_huge_exclusions_cost_nothing() -> None:
    pool = Pool(Network.parse("fd00::/64"), prefix_length=64, excluded=[Network.parse("fd00::/65")])
    assert ["fd00::8000:0:0:0", "fd00::8000:0:0:1"] == [
        str(netaddr.IPAddress(each, 6)) for each in islice(pool.free_after(None, ()), 2)
    ]


OFFSETS = st.integers(0, 31)


@given(
    start=OFFSETS,
    end=OFFSETS,
    gateway=st.none() | OFFSETS,
    last=st.none() | st.integers(0, 40),
    taken=st.sets(OFFSETS),
    excluded=st.lists(st.tuples(OFFSETS, st.integers(27, 32)), max_size=3),
)
def test_free_after_offers_each_allowed_address_once(
    *,
    start: int,
    end: int,
    gateway: int | None,
    last: int | None,
    taken: set[int],
    excluded: list[tuple[int, int]],
) -> None:
    base = number("10.0.0.0")
    nets = [netaddr.IPNetwork((base + first, length)).cidr for first, length in excluded]
    pool = Pool(
        Network.parse("10.0.0.0/27"),
        prefix_length=27,
        start=base + start,
        end=base + end,
        gateway=None if gateway is None else base + gateway,
        excluded=[Network(4, net.first, net.prefixlen) for net in nets],
    )
    after = None if last is None else base + last
    offered = list(pool.free_after(after, {base + each for each in taken}))
    allowed = [
        base + each
        for each in range(start, end + 1)
        if each not in taken
        and each != gateway
        and not any(netaddr.IPAddress(base + each) in net for net in nets)
    ]
    assert allowed == sorted(offered)
    turn = after if after is not None and start <= after - base < end else base + start - 1
    assert sorted(offered, key=lambda each: (each <= turn, each)) == offered


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, [f"10.1.0.{last}" for last in range(1, 7)]),
        ({"start": "10.1.0.3"}, [f"10.1.0.{last}" for last in range(3, 7)]),
        ({"end": "10.1.0.3"}, [f"10.1.0.{last}" for last in range(1, 4)]),
        ({"start": "10.1.0.0", "end": "10.1.0.7"}, [f"10.1.0.{last}" for last in range(1, 7)]),
        ({"start": "10.1.0.4", "end": "10.1.0.4"}, ["10.1.0.4"]),
        ({"gateway": "10.1.0.1"}, [f"10.1.0.{last}" for last in range(2, 7)]),
    ],
    ids=["whole", "start", "end", "network and broadcast", "one", "gateway"],
)
def test_ranges(words: dict[str, str], expected: list[str]) -> None:
    pool = range_pool(Network.parse("10.1.0.0/29"), **words)  # type: ignore[arg-type]
    assert expected == texts(pool)
    assert 29 == pool.prefix_length


def test_ranges_of_ipv6() -> None:
    pool = range_pool(Network.parse("fd00::/64"), start="fd00::a", end="fd00::c", gateway="fd00::b")
    assert ["fd00::a", "fd00::c"] == texts(pool)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"start": "10.2.0.1"}, "rangeStart 10.2.0.1 lies outside 10.1.0.0/24"),
        ({"end": "10.1.1.0"}, "rangeEnd 10.1.1.0 lies outside 10.1.0.0/24"),
        ({"gateway": "fd00::1"}, "gateway fd00::1 lies outside 10.1.0.0/24"),
        ({"start": "rail0"}, "'rail0' is not an IP address"),
        (
            {"start": "10.1.0.9", "end": "10.1.0.8"},
            "rangeStart 10.1.0.9 is above rangeEnd 10.1.0.8 in 10.1.0.0/24",
        ),
    ],
)
def test_ranges_that_cannot_be(words: dict[str, str], message: str) -> None:
    with pytest.raises(GeometryError, match=f"^{re.escape(message)}$"):
        range_pool(Network.parse("10.1.0.0/24"), **words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [
        {"start": "10.1.0.255", "end": "10.1.0.255"},
        {"start": "10.1.0.255"},
        {"end": "10.1.0.0"},
    ],
    ids=["both", "start", "end"],
)
def test_range_of_special_addresses_only_is_an_error(words: dict[str, str]) -> None:
    # It could never give an address: the admin must hear of it before a pod does.
    with pytest.raises(GeometryError) as raised:
        range_pool(Network.parse("10.1.0.0/24"), **words)  # type: ignore[arg-type]
    assert all(word in str(raised.value) for word in words.values())
    assert "None" not in str(raised.value)


def test_size_counts_what_lies_between_the_ends() -> None:
    assert 254 == Pool(Network.parse("10.0.0.0/24"), prefix_length=24).size
    assert (
        101 == range_pool(Network.parse("10.0.0.0/24"), start="10.0.0.100", end="10.0.0.200").size
    )
    nothing = Pool(Network.parse("10.0.0.0/24"), prefix_length=24, start=9, end=8)
    assert 0 == nothing.size


def test_pools_in_messages() -> None:
    assert "10.0.0.0/24" == str(Pool(Network.parse("10.0.0.0/24"), prefix_length=24))
    ranged = range_pool(Network.parse("10.0.0.0/24"), start="10.0.0.9", end="10.0.0.20")
    assert "10.0.0.9-10.0.0.20 of 10.0.0.0/24" == str(ranged)
