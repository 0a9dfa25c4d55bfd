from __future__ import annotations

import netaddr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_ipam.networks import Network, parse_address
from multinic_ipam.pools import Pool, usable
from tests.unit import pools


def number(text: str) -> int:
    return parse_address(text)[1]


def run(start: str, end: str) -> tuple[int, int]:
    return number(start), number(end)


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


def test_whole_block_without_its_special_addresses() -> None:
    pool = Pool(Network.parse("10.0.0.0/29"), prefix_length=29)
    assert [f"10.0.0.{last}" for last in range(1, 7)] == pools.given(pool)


def test_gateway_and_exclusions_are_never_given() -> None:
    pool = Pool(
        Network.parse("10.0.0.0/28"),
        prefix_length=28,
        gateway=number("10.0.0.1"),
        excluded=[run("10.0.0.4", "10.0.0.7"), run("10.0.0.9", "10.0.0.9")],
    )
    assert [f"10.0.0.{last}" for last in (2, 3, 8, 10, 11, 12, 13, 14)] == pools.given(pool)
    assert 8 == pool.room


def test_runs_that_are_never_given_are_cut_to_the_pool() -> None:
    pool = Pool(
        Network.parse("10.0.0.0/24"),
        prefix_length=24,
        start=number("10.0.0.100"),
        end=number("10.0.0.199"),
        gateway=number("10.0.0.1"),
        excluded=[
            run("10.0.0.90", "10.0.0.109"),
            run("10.0.0.199", "10.0.0.220"),
            run("10.0.0.1", "10.0.0.99"),
            run("10.0.0.200", "10.0.0.255"),
        ],
    )
    expected = [run("10.0.0.100", "10.0.0.109"), run("10.0.0.199", "10.0.0.199")]
    assert expected == sorted(pool.never_given())


def test_nothing_left_when_all_is_excluded() -> None:
    pool = Pool(
        Network.parse("10.0.0.0/24"), prefix_length=24, excluded=[run("10.0.0.0", "10.0.255.255")]
    )
    assert [] == pools.given(pool)
    assert 0 == pool.room


def test_huge_pools_cost_nothing() -> None:
    half = Network.parse("fd00::/65")
    pool = Pool(Network.parse("fd00::/64"), prefix_length=64, excluded=[(half.first, half.last)])
    assert 2**63 == pool.room
    assert pool.excludes(half.last)
    assert not pool.excludes(half.last + 1)


OFFSETS = st.integers(0, 31)


@given(
    start=OFFSETS,
    end=OFFSETS,
    gateway=st.none() | OFFSETS,
    excluded=st.lists(st.tuples(OFFSETS, OFFSETS), max_size=4),
)
def test_each_address_is_given_or_never(
    *, start: int, end: int, gateway: int | None, excluded: list[tuple[int, int]]
) -> None:
    base = netaddr.IPNetwork("10.0.0.0/27").first
    runs = [tuple(sorted((base + one, base + other))) for one, other in excluded]
    pool = Pool(
        Network.parse("10.0.0.0/27"),
        prefix_length=27,
        start=base + start,
        end=base + end,
        gateway=None if gateway is None else base + gateway,
        excluded=[(first, last) for first, last in runs],
    )
    inside = netaddr.IPSet()
    if start <= end:
        inside.add(netaddr.IPRange(base + start, base + end))
    out = netaddr.IPSet([] if gateway is None else [netaddr.IPAddress(base + gateway)])
    for first, last in runs:
        out.add(netaddr.IPRange(first, last))
    never = netaddr.IPSet(netaddr.IPRange(*each) for each in pool.never_given())
    assert inside & out == never
    assert [str(each) for each in inside - out] == pools.given(pool)
    assert len(inside - out) == pool.room


def test_holds_what_lies_between_the_ends() -> None:
    pool = Pool(Network.parse("10.0.0.0/24"), prefix_length=24, end=number("10.0.0.9"))
    holds = [pool.holds(*parse_address(f"10.0.0.{last}")) for last in (0, 1, 9, 10)]
    assert [False, True, True, False] == holds
    assert not pool.holds(6, number("10.0.0.5"))


def test_size_counts_what_lies_between_the_ends() -> None:
    assert 254 == Pool(Network.parse("10.0.0.0/24"), prefix_length=24).size
    nothing = Pool(Network.parse("10.0.0.0/24"), prefix_length=24, start=9, end=8)
    assert (0, 0) == (nothing.size, nothing.room)


def test_pools_in_messages() -> None:
    network = Network.parse("10.0.0.0/24")
    assert "10.0.0.0/24" == str(Pool(network, prefix_length=24))
    ranged = Pool(network, prefix_length=24, start=number("10.0.0.9"), end=number("10.0.0.20"))
    assert "10.0.0.9-10.0.0.20 of 10.0.0.0/24" == str(ranged)
