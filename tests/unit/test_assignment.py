from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_cni.assignment import assign
from multinic_cni.errors import BAD_CONF, NO_ADDRESS, CniError
from multinic_ipam.networks import Network, format_address, parse_address
from multinic_ipam.pools import Pool
from tests.unit.asking import asking

if TYPE_CHECKING:
    from multinic_cni.addressing import Alternatives
    from multinic_cni.requests import Requests


def addresses(*texts: str, gateway: str = "", excluded: tuple[str, ...] = ()) -> Pool:
    """Return the pool of a /24 or /64: whole, or from one address to another."""
    version, number = parse_address(texts[0])
    block = Network.around(version, number, 24 if version == 4 else 64)
    start, end = (parse_address(each)[1] for each in texts) if len(texts) == 2 else (None, None)
    return Pool(
        block,
        prefix_length=block.length,
        start=start,
        end=end,
        gateway=parse_address(gateway)[1] if gateway else None,
        excluded=[(parse_address(each)[1],) * 2 for each in excluded],
    )


# Host 3's of 192.168.0.0/16 with two bits for the interface and six for the host.
SHARES: list[tuple[str, Alternatives]] = [
    ("rail1", [[Pool(Network.parse("192.168.3.0/24"), prefix_length=18)]]),
    ("rail2", [[Pool(Network.parse("192.168.67.0/24"), prefix_length=18)]]),
]
DUAL: list[tuple[str, Alternatives]] = [
    ("rail1", [[addresses("10.1.0.0")], [addresses("fd00:1::")]]),
    ("rail2", [[addresses("10.2.0.0")], [addresses("fd00:2::")]]),
]


def written(assigned: list[dict[int, int]]) -> list[list[str]]:
    """Write each NIC's addresses, IPv4 first."""
    return [[format_address(*item) for item in sorted(each.items())] for each in assigned]


def refusal(code: int, requests: Requests, nics: list[tuple[str, Alternatives]]) -> CniError:
    with pytest.raises(CniError) as raised:
        assign(requests, nics)
    assert code == raised.value.code
    return raised.value


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((), [[], []]),
        (("192.168.67.9",), [[], ["192.168.67.9"]]),
        (("192.168.67.9", "192.168.3.200"), [["192.168.3.200"], ["192.168.67.9"]]),
        (("192.168.3.7/18",), [["192.168.3.7"], []]),
        (("192.168.3.7/32",), [["192.168.3.7"], []]),
    ],
)
def test_address_goes_to_the_nic_whose_pool_has_it(
    asked: tuple[str, ...], expected: list[list[str]]
) -> None:
    assert expected == written(assign(asking(*asked), SHARES))


def test_each_family_of_each_nic_has_one() -> None:
    asked = asking("fd00:2::7/64", "10.1.0.7", "fd00:1::7/128", "10.2.0.7/24")
    expected = [["10.1.0.7", "fd00:1::7"], ["10.2.0.7", "fd00:2::7"]]
    assert expected == written(assign(asked, DUAL))


def test_family_without_a_request_has_none() -> None:
    assert [[], ["fd00:2::7"]] == written(assign(asking("fd00:2::7"), DUAL))


def test_ipv4_number_is_no_ipv6_address() -> None:
    low: list[tuple[str, Alternatives]] = [("rail1", [[addresses("::")]])]
    refusal(NO_ADDRESS, asking("0.0.0.7"), low)
    assert [["::7"]] == written(assign(asking("::7"), low))


def test_any_of_a_familys_pools_will_do() -> None:
    pools = [addresses("10.1.0.10", "10.1.0.19"), addresses("10.5.0.10", "10.5.0.19")]
    assert [["10.5.0.12"]] == written(assign(asking("10.5.0.12"), [("rail1", [pools])]))


def test_nics_of_one_network_have_one_each_in_order() -> None:
    twins: list[tuple[str, Alternatives]] = [
        (name, [[addresses("10.1.0.0")]]) for name in ("rail1", "twin1")
    ]
    asked = asking("10.1.0.9", "10.1.0.8")
    assert [["10.1.0.9"], ["10.1.0.8"]] == written(assign(asked, twins))
    third = refusal(BAD_CONF, asking("10.1.0.7", "10.1.0.8", "10.1.0.9"), twins).message
    assert "10.1.0.9: NIC rail1, twin1 has another requested address already" in third


def test_address_makes_room_for_one_that_has_no_other_home() -> None:
    both, other = addresses("10.1.0.0"), addresses("10.2.0.0")
    nics: list[tuple[str, Alternatives]] = [("rail1", [[both, other]]), ("twin1", [[both]])]
    asked = asking("10.1.0.7", "10.2.0.7")
    assert [["10.2.0.7"], ["10.1.0.7"]] == written(assign(asked, nics))


@given(
    homes=st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=4),
    asked=st.lists(st.integers(0, 3), max_size=4),
)
def test_whatever_can_be_assigned_is(homes: list[set[int]], asked: list[int]) -> None:
    """NIC n has the networks 10.k.0.0/24 for each k of homes[n]; all orders are tried as oracle."""
    nics: list[tuple[str, Alternatives]] = [
        (f"rail{n}", [[addresses(f"10.{k}.0.0") for k in sorted(ks)]]) for n, ks in enumerate(homes)
    ]
    texts = [f"10.{k}.0.{place + 1}" for place, k in enumerate(asked)]
    possible = any(
        all(k in homes[nic] for k, nic in zip(asked, order, strict=True))
        for order in permutations(range(len(homes)), len(asked))
    )
    if possible:
        assigned = written(assign(asking(*texts), nics))
        assert sorted(texts) == sorted(text for own in assigned for text in own)
        for ks, own in zip(homes, assigned, strict=True):
            assert len(own) <= 1
            assert all(int(text.split(".")[1]) in ks for text in own)
    else:
        with pytest.raises(CniError):
            assign(asking(*texts), nics)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("10.9.0.7", "it is in no chosen NIC's network"),
        ("fd00::7", "it is in no chosen NIC's network"),
        ("192.168.4.7", "it is in NIC rail1's network 192.168.0.0/18, but not among what this"),
        ("192.168.4.7", "what this node gives: 192.168.3.1 to 192.168.3.254"),
        ("192.168.67.255", "it is in NIC rail2's network 192.168.64.0/18, but not among"),
        ("192.168.67.0", "it is in NIC rail2's network 192.168.64.0/18, but not among"),
        ("192.168.128.7", "it is in no chosen NIC's network"),
    ],
)
def test_address_that_no_pool_has(asked: str, reason: str) -> None:
    error = refusal(NO_ADDRESS, asking("192.168.3.7", asked), SHARES)
    assert error.message.startswith(f"args.cni.ips {asked} cannot be given: it is in")
    assert reason in error.message
    expected = "pools of the chosen NICs: rail1 192.168.3.0/24; rail2 192.168.67.0/24"
    assert expected == error.details


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("10.1.0.1", "it is the gateway of NIC rail1's pool 10.1.0.10-10.1.0.19 of 10.1.0.0/24"),
        ("10.1.0.12", "it is reserved in NIC rail1's pool 10.1.0.10-10.1.0.19 of 10.1.0.0/24"),
        ("10.1.0.20", "but not among what this node gives: 10.1.0.10 to 10.1.0.19"),
    ],
)
def test_address_that_is_kept_back(asked: str, reason: str) -> None:
    pool = addresses("10.1.0.10", "10.1.0.19", gateway="10.1.0.1", excluded=("10.1.0.12",))
    assert reason in refusal(NO_ADDRESS, asking(asked), [("rail1", [[pool]])]).message


def test_address_that_is_excluded_from_one_pool_may_be_in_another() -> None:
    nics: list[tuple[str, Alternatives]] = [
        ("rail1", [[addresses("10.1.0.0", excluded=("10.1.0.7",))]]),
        ("twin1", [[addresses("10.1.0.0")]]),
    ]
    assert [[], ["10.1.0.7"]] == written(assign(asking("10.1.0.7"), nics))


@pytest.mark.parametrize("length", [0, 16, 17, 19, 24, 31])
def test_wrong_length(length: int) -> None:
    error = refusal(BAD_CONF, asking(f"192.168.3.7/{length}"), SHARES)
    assert f"192.168.3.7/{length}: addresses of NIC rail1 have prefix length 18" in error.message


def test_two_for_one_nic() -> None:
    message = refusal(BAD_CONF, asking("192.168.3.7", "192.168.3.8"), SHARES).message
    assert "args.cni.ips 192.168.3.8: NIC rail1 has another requested address already" in message
