"""Frames that ask who has an address or tell it, and what one says: ARP and IPv6's ND.

RFC 826 and 5227, RFC 4861 and 4862. Names are the kernel's; everything on the wire is big-endian.
"""

from __future__ import annotations

from _struct import Struct

from multinic_cni.values import Value

ETH_P_IP, ETH_P_ARP, ETH_P_IPV6 = 0x0800, 0x0806, 0x86DD
ARPHRD_ETHER = 1
ARPOP_REQUEST, ARPOP_REPLY = 1, 2
IPPROTO_ICMPV6 = 58
NDISC_NEIGHBOUR_SOLICITATION, NDISC_NEIGHBOUR_ADVERTISEMENT = 135, 136
ND_OPT_SOURCE_LL_ADDR, ND_OPT_TARGET_LL_ADDR = 1, 2

ETHHDR = Struct("!6s6sH")
ARPHDR = Struct("!HHBBH6sI6sI")
IPV6HDR = Struct("!IHBB16s16s")
ND_MSG = Struct("!BBHI16s")
PSEUDO_HEADER = Struct("!16s16sII")

ETHER_ARP = (ARPHRD_ETHER, ETH_P_IP, 6, 4)  # lengths of a MAC and of an address
BROADCAST, UNKNOWN_MAC = b"\xff" * 6, bytes(6)
GROUP_BIT = 1  # of a MAC's first byte: broadcast and multicast
IPV6, HOP_LIMIT = 6, 255  # no router lets a hop limit of 255 pass
UNSPECIFIED = bytes(16)
ALL_NODES_MAC = bytes.fromhex("333300000001")
ALL_NODES = bytes.fromhex("ff020000000000000000000000000001")
SOLICITED_NODE_MAC = bytes.fromhex("3333ff")  # the rest is the address's own
SOLICITED_NODE = bytes.fromhex("ff0200000000000000000001ff")
OPTION_UNIT = 8
NA_OVERRIDE = 0x2000_0000  # a neighbour that knows another MAC is to forget it
UINT16_MAX = 0xFFFF

BPF_LD_W, BPF_LD_H, BPF_LD_B = 0x20, 0x28, 0x30  # absolute
BPF_JEQ, BPF_JSET, BPF_RET = 0x15, 0x45, 0x06  # with a constant
SKF_AD_VLAN_TAG, SKF_AD_VLAN_TAG_PRESENT = 0xFFFF_F000 + 44, 0xFFFF_F000 + 48
VLAN_VID_MASK = 0x0FFF
SOCK_FILTER = Struct("=HBBI")  # the code, how much further if true and if false, the constant

# What a packet socket is to hear: of all that arrives at a busy NIC, only what may be a claim. The
# kernel has taken VLAN tags out of the frames and knows them apart; a tag of VLAN 0 is none.
FILTER = b"".join(
    SOCK_FILTER.pack(*instruction)
    for instruction in (
        (BPF_LD_W, 0, 0, SKF_AD_VLAN_TAG_PRESENT),
        (BPF_JEQ, 2, 0, 0),
        (BPF_LD_W, 0, 0, SKF_AD_VLAN_TAG),
        (BPF_JSET, 9, 0, VLAN_VID_MASK),
        (BPF_LD_H, 0, 0, 12),  # the frame's protocol
        (BPF_JEQ, 6, 0, ETH_P_ARP),
        (BPF_JEQ, 0, 6, ETH_P_IPV6),
        (BPF_LD_B, 0, 0, 20),  # the IPv6 header's
        (BPF_JEQ, 0, 4, IPPROTO_ICMPV6),
        (BPF_LD_B, 0, 0, 54),  # the message's type
        (BPF_JEQ, 1, 0, NDISC_NEIGHBOUR_SOLICITATION),
        (BPF_JEQ, 0, 1, NDISC_NEIGHBOUR_ADVERTISEMENT),
        (BPF_RET, 0, 0, UINT16_MAX),
        (BPF_RET, 0, 0, 0),
    )
)


class Claim(Value):
    """What a frame says: `mac` has an address, or asks whether it can have it (`probing`).

    `source` is the MAC that sent the frame, `mac` the one that it speaks for.
    """

    version: int
    number: int
    mac: str
    source: str
    probing: bool


def question(mac: bytes, version: int, number: int) -> bytes:
    """Return the frame that asks for an address in the name of nobody, as who wants it must."""
    return _solicitation(mac, number) if version == IPV6 else _arp_probe(mac, number)


def announcement(mac: bytes, version: int, number: int) -> bytes:
    """Return the frame that tells all neighbours which MAC has an address now.

    RFC 5227, section 2.3 (a request, as Linux sends it, not a reply), and RFC 4861, section 7.2.6.
    """
    return _advertisement(mac, number) if version == IPV6 else _arp_announcement(mac, number)


def solicited_node_mac(number: int) -> bytes:
    """Return the multicast MAC where an IPv6 address is asked for."""
    return SOLICITED_NODE_MAC + number.to_bytes(16, "big")[-3:]


def claim_in(frame: bytes) -> Claim | None:
    """Return what a frame says about an address; None if nothing, or if it is malformed."""
    if len(frame) < ETHHDR.size:
        return None
    _, _, protocol = ETHHDR.unpack_from(frame)
    if protocol == ETH_P_ARP:
        return _arp_claim(frame)
    if protocol == ETH_P_IPV6:
        return _neighbour_claim(frame)
    return None


def _arp_probe(mac: bytes, number: int) -> bytes:
    arp = ARPHDR.pack(*ETHER_ARP, ARPOP_REQUEST, mac, 0, UNKNOWN_MAC, number)
    return ETHHDR.pack(BROADCAST, mac, ETH_P_ARP) + arp


def _arp_announcement(mac: bytes, number: int) -> bytes:
    arp = ARPHDR.pack(*ETHER_ARP, ARPOP_REQUEST, mac, number, UNKNOWN_MAC, number)
    return ETHHDR.pack(BROADCAST, mac, ETH_P_ARP) + arp


def _arp_claim(frame: bytes) -> Claim | None:
    if len(frame) < ETHHDR.size + ARPHDR.size:
        return None
    *kind, operation, mac, sender, _, target = ARPHDR.unpack_from(frame, ETHHDR.size)
    if tuple(kind) != ETHER_ARP or operation not in {ARPOP_REQUEST, ARPOP_REPLY}:
        return None
    if sender:
        return _claim(frame, 4, sender, mac, probing=False)
    # Switches that watch their ports ask a host in the name of nobody, too, but only that host.
    if operation == ARPOP_REQUEST and frame[0] & GROUP_BIT:
        return _claim(frame, 4, target, mac, probing=True)
    return None


def _solicitation(mac: bytes, number: int) -> bytes:
    target = number.to_bytes(16, "big")
    head = ETHHDR.pack(solicited_node_mac(number), mac, ETH_P_IPV6)
    body = (NDISC_NEIGHBOUR_SOLICITATION, 0, target, b"")
    return head + _nd_packet(UNSPECIFIED, SOLICITED_NODE + target[-3:], body)


def _advertisement(mac: bytes, number: int) -> bytes:
    own = number.to_bytes(16, "big")
    option = bytes([ND_OPT_TARGET_LL_ADDR, 1]) + mac
    body = (NDISC_NEIGHBOUR_ADVERTISEMENT, NA_OVERRIDE, own, option)
    return ETHHDR.pack(ALL_NODES_MAC, mac, ETH_P_IPV6) + _nd_packet(own, ALL_NODES, body)


def _nd_packet(source: bytes, destination: bytes, body: tuple[int, int, bytes, bytes]) -> bytes:
    """Return an IPv6 packet with a message of type, flags, target and options."""
    kind, flags, target, options = body
    message = ND_MSG.pack(kind, 0, 0, flags, target) + options
    checksum = UINT16_MAX - _sum(source, destination, message)
    message = ND_MSG.pack(kind, 0, checksum, flags, target) + options
    ip = IPV6HDR.pack(IPV6 << 28, len(message), IPPROTO_ICMPV6, HOP_LIMIT, source, destination)
    return ip + message


def _neighbour_claim(frame: bytes) -> Claim | None:
    start = ETHHDR.size + IPV6HDR.size
    if len(frame) < start:
        return None
    first, length, protocol, hops, source, destination = IPV6HDR.unpack_from(frame, ETHHDR.size)
    message = frame[start : start + length]
    if (first >> 28, protocol, hops) != (IPV6, IPPROTO_ICMPV6, HOP_LIMIT):
        return None
    if not ND_MSG.size <= len(message) == length or _sum(source, destination, message):
        return None
    kind, code, _, _, address = ND_MSG.unpack_from(message)
    options = _options(message[ND_MSG.size :])
    if code or options is None:
        return None
    number = int.from_bytes(address, "big")
    sender = frame[6:12]
    if kind == NDISC_NEIGHBOUR_ADVERTISEMENT:
        mac = options.get(ND_OPT_TARGET_LL_ADDR, sender)[: len(sender)]
        return _claim(frame, 6, number, mac, probing=False)
    wants = source == UNSPECIFIED and destination == SOLICITED_NODE + address[-3:]
    if kind == NDISC_NEIGHBOUR_SOLICITATION and wants and ND_OPT_SOURCE_LL_ADDR not in options:
        return _claim(frame, 6, number, sender, probing=True)
    return None


def _options(octets: bytes) -> dict[int, bytes] | None:
    """Return each option's value; None if they are malformed."""
    options: dict[int, bytes] = {}
    at = 0
    while at + 1 < len(octets):
        kind, length = octets[at], octets[at + 1] * OPTION_UNIT
        options.setdefault(kind, octets[at + 2 : at + length])
        if length == 0:
            return None
        at += length
    return options if at == len(octets) else None


def _sum(source: bytes, destination: bytes, message: bytes) -> int:
    """Return the ones' complement sum that ICMPv6's checksum is made of; 0 if it is right already.

    2**16 is 1 modulo 2**16 - 1: the sum of the words is the remainder of all of them as one number.
    ND messages are of whole words.
    """
    pseudo_header = PSEUDO_HEADER.pack(source, destination, len(message), IPPROTO_ICMPV6)
    return int.from_bytes(pseudo_header + message, "big") % UINT16_MAX


def _claim(frame: bytes, version: int, number: int, mac: bytes, *, probing: bool) -> Claim:
    return Claim(
        version=version,
        number=number,
        mac=mac.hex(":"),
        source=frame[6:12].hex(":"),
        probing=probing,
    )
