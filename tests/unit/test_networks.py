from __future__ import annotations

import ipaddress

import netaddr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_ipam.networks import (
    BITS,
    Network,
    NetworkError,
    format_address,
    is_address,
    is_link_local,
    parse_address,
    parse_run,
    split_cidr,
)

ADDRESSES = st.one_of(
    st.integers(0, 2**32 - 1).map(netaddr.IPAddress),
    st.integers(0, 2**128 - 1).map(lambda number: netaddr.IPAddress(number, 6)),
)
CIDRS = st.one_of(
    st.builds(lambda a, n: netaddr.IPNetwork((a, n)), st.integers(0, 2**32 - 1), st.integers(0, 32))
    | st.builds(
        lambda a, n: netaddr.IPNetwork((netaddr.IPAddress(a, 6).value, n), version=6),
        st.integers(2**32, 2**128 - 1),
        st.integers(0, 128),
    )
)


def network_of(cidr: netaddr.IPNetwork) -> Network:
    return Network.around(cidr.version, int(cidr.ip), cidr.prefixlen)


@given(ADDRESSES)
def test_parse_address_as_netaddr(address: netaddr.IPAddress) -> None:
    assert (address.version, int(address)) == parse_address(str(address))


@given(ADDRESSES)
def test_every_way_of_writing_ipv6_is_read(address: netaddr.IPAddress) -> None:
    whole = ipaddress.ip_address(str(address)).exploded
    assert (address.version, int(address)) == parse_address(whole)
    assert (address.version, int(address)) == parse_address(whole.upper())


@given(ADDRESSES)
def test_format_address_is_read_back(address: netaddr.IPAddress) -> None:
    written = format_address(address.version, int(address))
    assert address == netaddr.IPAddress(written, address.version)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "10.1",
        "010.1.2.3",
        "10.1.2.3 ",
        "10.1.2.256",
        "10.1.2.3.4",
        "0x0a.1.2.3",
        "1.2.3.٤",
        "10.1.2.3/24",
        "fe80::1%eth0",
        "fe80:::1",
        "1:2:3:4:5:6:7",
        "10.1.2.3\x00",
        "node-a",
        "\ud800:",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(NetworkError) as raised:
        parse_address(text)
    assert f"{text!r} is not an IP address" == str(raised.value)


@given(st.text("0123456789.:abf/%", max_size=20))
def test_addresses_are_those_of_the_standard_library(text: str) -> None:
    try:
        expected = ipaddress.ip_address(text)
    except ValueError:
        with pytest.raises(NetworkError):
            parse_address(text)
        return
    if "%" not in text:  # an interface cannot stand in an address of a pod
        assert (expected.version, int(expected)) == parse_address(text)


@given(ADDRESSES)
def test_every_address_is_one(address: netaddr.IPAddress) -> None:
    assert is_address(str(address))


@pytest.mark.parametrize(
    "text", ["", "lock", "last_reserved_ip.0", ".10.1.0.1.new", "10.1.0.1.new", "10.1.0.1/32"]
)
def test_names_that_are_no_address(text: str) -> None:
    assert not is_address(text)


@pytest.mark.parametrize("text", ["0.0.0.0/0", "::/0"])
def test_prefix_of_nought_is_one(text: str) -> None:
    assert 0 == split_cidr(text)[2]


@given(CIDRS)
def test_split_cidr_keeps_host_bits(cidr: netaddr.IPNetwork) -> None:
    assert (cidr.version, int(cidr.ip), cidr.prefixlen) == split_cidr(str(cidr))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10.1.0.0", "'10.1.0.0' has no prefix length"),
        ("10.1.0.0/", "'10.1.0.0/' has no prefix length"),
        ("10.1.0.0/-1", "'10.1.0.0/-1' has no prefix length"),
        ("10.1.0.0/2٤", "'10.1.0.0/2٤' has no prefix length"),
        ("10.1.0.0/255.255.0.0", "'10.1.0.0/255.255.0.0' has no prefix length"),
        ("10.1.0.0/017", "'10.1.0.0/017' has no prefix length"),
        ("10.1.0.0/00", "'10.1.0.0/00' has no prefix length"),
        ("fd00::/064", "'fd00::/064' has no prefix length"),
        ("10.1.0.0/33", "'10.1.0.0/33' has a prefix longer than 32 bits"),
        ("fd00::/129", "'fd00::/129' has a prefix longer than 128 bits"),
        ("10.1.0.0/" + "9" * 5000, "has a prefix longer than 32 bits"),
        ("10.1/16", "'10.1' is not an IP address"),
        ("/16", "'' is not an IP address"),
    ],
)
def test_what_is_no_cidr(text: str, reason: str) -> None:
    with pytest.raises(NetworkError) as raised:
        split_cidr(text)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("10.1.0.5", "10.1.0.5", "10.1.0.5"),
        ("10.1.0.0/28", "10.1.0.0", "10.1.0.15"),
        ("10.1.0.5/28", "10.1.0.5", "10.1.0.20"),
        ("10.1.0.250/28", "10.1.0.250", "10.1.1.9"),
        ("255.255.255.255/32", "255.255.255.255", "255.255.255.255"),
        ("fd00::5/126", "fd00::5", "fd00::8"),
    ],
)
def test_runs_count_from_the_given_address(text: str, first: str, last: str) -> None:
    version, start, end = parse_run(text)
    assert (first, last) == (format_address(version, start), format_address(version, end))


@given(CIDRS)
def test_run_of_an_aligned_network_is_the_network(cidr: netaddr.IPNetwork) -> None:
    assert (cidr.version, cidr.first, cidr.last) == parse_run(str(cidr.cidr))


@pytest.mark.parametrize("text", ["255.255.255.250/28", "10.1.0.5/0", "ffff:ffff::/15"])
def test_runs_beyond_the_last_address(text: str) -> None:
    with pytest.raises(NetworkError, match="goes beyond the last address there is"):
        parse_run(text)


@pytest.mark.parametrize("text", ["", "10.1", "10.1.0.0/", "10.1.0.0/33", "10.1.0.1-10.1.0.9"])
def test_what_is_no_run(text: str) -> None:
    with pytest.raises(NetworkError):
        parse_run(text)


@given(ADDRESSES)
def test_link_local_as_netaddr(address: netaddr.IPAddress) -> None:
    assert address.is_link_local() == is_link_local(address.version, int(address))


@pytest.mark.parametrize("text", ["169.254.0.0", "169.254.255.255", "fe80::1", "febf::1"])
def test_link_local(text: str) -> None:
    assert is_link_local(*parse_address(text))


@given(CIDRS)
def test_network_as_netaddr(cidr: netaddr.IPNetwork) -> None:
    network = network_of(cidr)
    assert (cidr.first, cidr.last, cidr.size) == (network.first, network.last, network.size)
    assert str(cidr.cidr) == str(netaddr.IPNetwork(str(network)))


@given(CIDRS)
def test_host_bits_are_refused_with_the_right_network(cidr: netaddr.IPNetwork) -> None:
    if cidr.cidr == cidr and cidr.ip == cidr.network:
        assert network_of(cidr) == Network.parse(str(cidr))
        return
    with pytest.raises(NetworkError) as raised:
        Network.parse(str(cidr))
    message = str(raised.value)
    assert f"{str(cidr)!r} has host bits set" in message
    suggested = message.rpartition(" ")[2].rstrip("?")
    assert cidr.cidr == netaddr.IPNetwork(suggested)


@given(cidr=CIDRS, address=ADDRESSES)
def test_holds_as_netaddr(cidr: netaddr.IPNetwork, address: netaddr.IPAddress) -> None:
    network = network_of(cidr)
    assert (address in cidr) == network.holds(address.version, int(address))


@given(CIDRS)
def test_holds_its_ends_and_nothing_beside_them(cidr: netaddr.IPNetwork) -> None:
    network = network_of(cidr)
    beside = [
        number
        for number in (cidr.first - 1, cidr.last + 1)
        if 0 <= number < 1 << BITS[cidr.version]
    ]
    assert network.holds(cidr.version, cidr.first)
    assert network.holds(cidr.version, cidr.last)
    assert [] == [number for number in beside if network.holds(cidr.version, number)]


@given(one=CIDRS, other=CIDRS)
def test_overlaps_as_the_standard_library(one: netaddr.IPNetwork, other: netaddr.IPNetwork) -> None:
    first, second = (ipaddress.ip_network(str(each.cidr)) for each in (one, other))
    expected = first.version == second.version and first.overlaps(second)
    assert expected == network_of(one).overlaps(network_of(other))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("10.1.0.0/16", "10.0.0.0/8", True),
        ("10.1.0.0/16", "10.1.0.0/16", True),
        ("10.1.0.0/16", "10.2.0.0/16", False),
        ("0.0.0.0/0", "::/0", False),
    ],
)
def test_overlaps(one: str, other: str, *, expected: bool) -> None:
    assert expected == Network.parse(one).overlaps(Network.parse(other))


def test_networks_compare_by_value() -> None:
    network = Network.parse("fd00:0::/64")
    assert Network.parse("fd00::/64") == network
    assert hash(Network.parse("fd00::/64")) == hash(network)
    assert Network.parse("fd00::/63") != network
    assert "fd00::/64" != network
    assert "Network('fd00::/64')" == repr(network)
