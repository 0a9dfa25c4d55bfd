from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_cni.frames import FILTER, Claim, claim_in, question, solicited_node_mac
from tests.packets import (
    ADVERTISEMENT,
    ADVERTISEMENT_FOR_ANOTHER,
    ALL_NODES,
    ARP_ANNOUNCEMENT,
    ARP_PROBE,
    ARP_PROBE_TO_ONE_HOST,
    ARP_REPLY,
    ARP_REQUEST_FOR_A_THIRD,
    BROADCAST,
    FD00_100,
    HIS,
    OURS,
    RIVAL_ARP_PROBE,
    RIVAL_SOLICITATION,
    RIVAL_SOLICITATION_WITH_NONCE,
    ROUTERS,
    SOLICITATION,
    number,
    octets,
    patched,
)

OUR_MAC = bytes.fromhex(OURS.replace(":", ""))


def claim(version: int, address: str, *, mac: str = HIS, probing: bool = False) -> Claim:
    return Claim(version=version, number=number(address), mac=mac, source=HIS, probing=probing)


CLAIMS = {
    "reply": (ARP_REPLY, claim(4, "10.1.0.100")),
    "announcement": (ARP_ANNOUNCEMENT, claim(4, "10.1.0.100")),
    "request of the owner": (ARP_REQUEST_FOR_A_THIRD, claim(4, "10.1.0.100")),
    "padded reply": (ARP_REPLY + bytes(18), claim(4, "10.1.0.100")),
    "rival's ARP probe": (RIVAL_ARP_PROBE, claim(4, "10.1.0.100", probing=True)),
    "advertisement": (ADVERTISEMENT, claim(6, "fd00::100")),
    "advertisement for another": (
        ADVERTISEMENT_FOR_ANOTHER,
        claim(6, "fd00::100", mac=ROUTERS),
    ),
    "rival's solicitation": (RIVAL_SOLICITATION, claim(6, "fd00::100", probing=True)),
    "with a nonce": (RIVAL_SOLICITATION_WITH_NONCE, claim(6, "fd00::100", probing=True)),
    "padded solicitation": (
        RIVAL_SOLICITATION + bytes(4),
        claim(6, "fd00::100", probing=True),
    ),
}
VALID = [frame for frame, _ in CLAIMS.values()]


NO_CLAIMS = {
    "nothing": b"",
    "half a header": ARP_REPLY[:13],
    "IPv4": octets(f"{BROADCAST} 02005e100002 0800") + bytes(46),
    "ARP's end is missing": ARP_REPLY[:-1],
    "ARP of another hardware": ARP_REPLY[:14] + octets("0006") + ARP_REPLY[16:],
    "ARP of another protocol": ARP_REPLY[:16] + octets("86dd") + ARP_REPLY[18:],
    "longer MACs": ARP_REPLY[:18] + octets("14") + ARP_REPLY[19:],
    "longer addresses": ARP_REPLY[:19] + octets("10") + ARP_REPLY[20:],
    "no ARP operation": ARP_REPLY[:20] + octets("0008") + ARP_REPLY[22:],
    "probe to one host": ARP_PROBE_TO_ONE_HOST,
    "reply of nobody": ARP_REPLY[:28] + bytes(4) + ARP_REPLY[32:],
    "reply of nobody to all": octets(BROADCAST) + ARP_REPLY[6:28] + bytes(4) + ARP_REPLY[32:],
    "tagged": ARP_REPLY[:12] + octets("8100 0005") + ARP_REPLY[12:],
    "wrong IP version": patched(ADVERTISEMENT, 14, "40"),
    "through a router": patched(ADVERTISEMENT, 21, "fe"),
    "no ICMPv6": patched(ADVERTISEMENT, 20, "3b"),
    "wrong checksum": patched(ADVERTISEMENT, 56, "5ca8", right_sum=False),
    "code": patched(ADVERTISEMENT, 55, "01"),
    "router advertisement": patched(ADVERTISEMENT, 54, "86"),
    "shorter than it says": patched(ADVERTISEMENT_FOR_ANOTHER[:-8], 0, ""),
    "odd length": patched(ADVERTISEMENT, 18, "0017")[:-1],
    "empty option": patched(ADVERTISEMENT_FOR_ANOTHER, 79, "00"),
    "option that is longer than the frame": patched(ADVERTISEMENT_FOR_ANOTHER, 79, "02"),
    "solicitation of somebody": patched(RIVAL_SOLICITATION, 22, f"{FD00_100}"),
    "solicitation to all nodes": patched(RIVAL_SOLICITATION, 38, ALL_NODES),
    "probe with an own MAC": patched(RIVAL_SOLICITATION_WITH_NONCE, 78, "0101"),
}


def test_questions() -> None:
    assert question(OUR_MAC, 4, number("10.1.0.100")) == ARP_PROBE
    assert question(OUR_MAC, 6, number("fd00::100")) == SOLICITATION


@given(st.integers(0, 2**128 - 1))
def test_sum_of_a_question_is_what_the_words_give(address: int) -> None:
    frame = question(OUR_MAC, 6, address)
    assert frame == patched(frame, 0, "")


def test_group_of_an_address() -> None:
    # RFC 4291, 2.7.1, has the example; RFC 2464, 7, the MAC.
    assert octets("3333ff0e8c6c") == solicited_node_mac(number("4037::01:800:200e:8c6c"))


@pytest.mark.parametrize("name", CLAIMS)
def test_claim(name: str) -> None:
    frame, said = CLAIMS[name]
    assert claim_in(frame) == said


@pytest.mark.parametrize("name", NO_CLAIMS)
def test_no_claim(name: str) -> None:
    assert claim_in(NO_CLAIMS[name]) is None


def test_claim_of_a_proxy_names_both_macs() -> None:
    """Who speaks for another need not have its MAC: EVPN's switches do so for their hosts."""
    frame = ARP_REPLY[:6] + octets("02005e100003") + ARP_REPLY[12:]
    assert claim_in(frame) == claim(4, "10.1.0.100").but(source=ROUTERS)


@given(st.binary(max_size=200))
def test_any_octets_are_read(frame: bytes) -> None:
    claim_in(frame)


@given(st.sampled_from(VALID), st.integers(0, 100))
def test_any_end_may_be_missing(frame: bytes, length: int) -> None:
    claim_in(frame[:length])


@given(
    st.sampled_from(VALID),
    st.lists(st.tuples(st.integers(0, 85), st.integers(0, 255)), max_size=8),
)
def test_no_claim_to_an_address_that_is_not_in_the_frame(
    frame: bytes, changes: list[tuple[int, int]]
) -> None:
    changed = bytearray(frame)
    for at, octet in changes:
        changed[at % len(changed)] = octet
    said = claim_in(bytes(changed))
    if said is not None:
        places = {4: (slice(28, 32), slice(38, 42)), 6: (slice(62, 78),)}[said.version]
        assert said.number in [int.from_bytes(changed[place], "big") for place in places]


@given(
    st.sampled_from([ADVERTISEMENT, ADVERTISEMENT_FOR_ANOTHER, RIVAL_SOLICITATION]),
    st.integers(22, 77),
    st.integers(1, 255),
)
def test_one_wrong_octet_that_the_checksum_covers_is_no_claim(
    frame: bytes, at: int, difference: int
) -> None:
    changed = bytearray(frame)
    changed[at] ^= difference
    assert claim_in(bytes(changed)) is None


def filtered(frame: bytes, *, tagged: bool = False, tag: int = 0) -> int:
    """Execute the filter as the kernel would (bpf(4)); return how many octets it lets pass."""
    special = {0xFFFFF000 + 48: int(tagged), 0xFFFFF000 + 44: tag}
    program = list(struct.iter_unpack("=HBBI", FILTER))
    accumulator = at = 0
    while True:
        code, if_true, if_false, constant = program[at]
        at += 1
        if code in {0x20, 0x28, 0x30}:  # ld, ldh, ldb
            size = {0x20: 4, 0x28: 2, 0x30: 1}[code]
            if constant not in special and constant + size > len(frame):
                return 0
            loaded = int.from_bytes(frame[constant : constant + size], "big")
            accumulator = special.get(constant, loaded)
        elif code == 0x15:  # jeq
            at += if_true if accumulator == constant else if_false
        elif code == 0x45:  # jset
            at += if_true if accumulator & constant else if_false
        else:
            assert code == 0x06  # ret
            return int(constant)


@pytest.mark.parametrize("frame", VALID)
def test_filter_lets_claims_pass_whole(frame: bytes) -> None:
    assert filtered(frame) >= len(frame)


@pytest.mark.parametrize("frame", VALID)
def test_filter_keeps_the_frames_of_vlans_apart(frame: bytes) -> None:
    assert filtered(frame, tagged=True, tag=5) == 0
    assert filtered(frame, tagged=True, tag=0xE005) == 0
    # A priority alone (IEEE 802.1Q, VLAN identifier 0) is a frame of the NIC itself.
    assert filtered(frame, tagged=True, tag=0xE000) >= len(frame)
    # Linux 5 leaves the tag behind when it takes it off for the VLAN's own NIC.
    assert filtered(frame, tagged=False, tag=5) >= len(frame)


@pytest.mark.parametrize(
    "frame",
    [
        octets(f"{BROADCAST} 02005e100002 0800") + bytes(1486),
        patched(ADVERTISEMENT, 20, "06"),  # TCP
        patched(ADVERTISEMENT, 54, "80"),  # an echo
        patched(ADVERTISEMENT, 54, "86"),  # a router's
        ADVERTISEMENT[:54],
        b"",
    ],
)
def test_filter_drops_the_rest(frame: bytes) -> None:
    assert filtered(frame) == 0
