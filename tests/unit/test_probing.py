from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_cni import probing
from multinic_cni.probing import probe
from tests.packets import (
    ADVERTISEMENT,
    ARP_REPLY,
    HIS,
    OURS,
    RIVAL_SOLICITATION,
    ROUTERS,
    advertisement,
    arp_reply,
    octets,
    rival_arp_probe,
)
from tests.unit.packet_sockets import (
    FIRST,
    SECOND,
    Network,
    asked_address,
    conflict,
    network_for,
    owner,
    silence,
    speaker,
    target,
    warnings,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

DECOY, DECOY_6 = "192.0.2.0", "2001:db8::dec0"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    return network_for(monkeypatch)


@pytest.fixture(autouse=True)
def sockets_are_closed(no_descriptor_is_left: None) -> None:
    """Every test."""


@pytest.mark.parametrize("address", ["10.1.0.100", "fd00::100"])
def test_owner_is_a_conflict(network: Network, address: str) -> None:
    network.host = owner(address)
    assert probe([target("rail1", address)], ()) == [conflict("rail1", address)]


@pytest.mark.parametrize(
    ("address", "frame"),
    [("10.1.0.100", rival_arp_probe(HIS, "10.1.0.100")), ("fd00::100", RIVAL_SOLICITATION)],
)
def test_rival_that_asks_for_the_same_address_is_a_conflict(
    network: Network, address: str, frame: bytes
) -> None:
    network.host = speaker(frame)
    assert probe([target("rail1", address)], ()) == [conflict("rail1", address)]
    assert len(network.sent("rail1")) == 1


def test_conflicts_of_several_nics(network: Network) -> None:
    network.host = owner("10.1.0.100", "10.3.0.100")
    third = target("rail3", "10.3.0.100")
    assert probe([FIRST, SECOND, third], ()) == [
        conflict("rail1", "10.1.0.100"),
        conflict("rail3", "10.3.0.100"),
    ]


def test_same_address_on_another_nic_is_no_conflict(network: Network) -> None:
    """Two separate networks may number their hosts alike."""
    network.host = lambda nic, _frame: [arp_reply(HIS, "10.1.0.100")] if nic == "rail2" else []
    assert probe([FIRST, SECOND], ()) == []


def test_own_frames_are_no_conflict(network: Network) -> None:
    """A loop in the network, or a second NIC on it, brings our own questions back."""
    network.macs = {"rail1": octets("02005e100001"), "rail2": octets("02005e100003")}
    network.host = lambda _nic, frame: [
        frame,
        rival_arp_probe(ROUTERS, "10.1.0.100"),
        rival_arp_probe(OURS, "10.2.0.100"),
        arp_reply(HIS, "10.1.0.100", source=OURS),
        arp_reply(OURS, "10.1.0.100", source=HIS),
    ]
    assert probe([FIRST, SECOND], ()) == []


@pytest.mark.parametrize("listed", [HIS, HIS.upper()])
def test_proxy_on_the_list_is_no_verdict(
    network: Network, capfd: pytest.CaptureFixture[str], listed: str
) -> None:
    network.host = owner("10.1.0.100")
    assert probe([FIRST], {listed}) == []
    (warning,) = warnings(capfd)
    assert "rail1" in warning
    assert "10.1.0.100" in warning
    assert HIS in warning


@pytest.mark.parametrize("listed", [HIS, ROUTERS])
def test_proxy_is_known_by_either_of_its_macs(network: Network, listed: str) -> None:
    """With VRRP, a router answers with a virtual MAC, from its own."""
    network.host = speaker(arp_reply(HIS, "10.1.0.100", source=ROUTERS))
    assert probe([FIRST], {listed}) == []


@pytest.mark.parametrize("address", ["10.1.0.100", "fd00::100"])
def test_who_answers_for_everything_is_a_proxy(
    network: Network, capfd: pytest.CaptureFixture[str], address: str
) -> None:
    """He answers for an address, too, that nobody can have."""
    network.host = owner(address, DECOY, DECOY_6)
    assert probe([target("rail1", address)], ()) == []
    assert len(warnings(capfd)) == 1


def test_who_answers_for_several_addresses_of_a_nic_is_a_proxy(network: Network) -> None:
    network.host = owner("10.1.0.100", "10.1.0.101")
    assert probe([FIRST, target("rail1", "10.1.0.101")], ()) == []


def test_nobody_is_asked_what_nobody_can_have_until_somebody_answers(network: Network) -> None:
    network.host = speaker(arp_reply(HIS, "10.1.0.99"))
    probe([FIRST], ())
    assert {asked_address(frame) for frame in network.sent("rail1")} == {"0a010064"}


def test_pod_with_both_families_is_no_proxy(network: Network) -> None:
    network.host = owner("10.1.0.100", "fd00::100")
    assert probe([FIRST, target("rail1", "fd00::100")], ()) == [
        conflict("rail1", "10.1.0.100"),
        conflict("rail1", "fd00::100"),
    ]


def test_rival_that_wants_several_addresses_is_no_proxy(network: Network) -> None:
    """Another of our kind even asks for what nobody can have."""
    wanted = ("10.1.0.100", "10.1.0.101", DECOY)
    network.host = speaker(*(rival_arp_probe(HIS, each) for each in wanted))
    assert probe([FIRST, target("rail1", "10.1.0.101")], ()) == [
        conflict("rail1", "10.1.0.100"),
        conflict("rail1", "10.1.0.101"),
    ]


def test_owner_beside_a_proxy_is_a_conflict(network: Network) -> None:
    """The proxy's claim ends nothing: the owner may be slower."""

    def host(nic: str, frame: bytes) -> Sequence[bytes]:
        slow = owner("10.1.0.100") if len(network.sent(nic)) > 4 else silence
        return [*owner("10.1.0.100", DECOY, mac=ROUTERS)(nic, frame), *slow(nic, frame)]

    network.host = host
    assert probe([FIRST], ()) == [conflict("rail1", "10.1.0.100")]


@pytest.mark.parametrize("order", [1, -1])
def test_who_asks_and_answers_has_answered(network: Network, order: int) -> None:
    frames = [rival_arp_probe(HIS, "10.1.0.100"), arp_reply(HIS, "10.1.0.100")]
    network.host = speaker(*frames[::order], arp_reply(HIS, DECOY))
    assert probe([FIRST], ()) == []


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=100),
            st.builds(
                lambda frame, at, octet: frame[:at] + bytes([octet]) + frame[at + 1 :],
                st.sampled_from([arp_reply(HIS, "10.1.0.99"), advertisement(HIS, "fd00::99")]),
                st.integers(0, 85),
                st.integers(0, 255),
            ),
            st.builds(
                lambda frame, length: frame[:length],
                st.sampled_from([ARP_REPLY, ADVERTISEMENT]),
                st.integers(0, 41),
            ),
        ),
        max_size=20,
    ).map(lambda frames: [frame for frame in frames if frame])
)
def test_whatever_arrives_about_others_is_no_conflict(frames: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        network_for(patch, speaker(*frames))
        patch.setattr(probing, "INTERVAL_SECONDS", 0.001)
        targets = [target("rail1", "10.1.0.100"), target("rail1", "fd00::100")]
        assert probe(targets, ()) == []
