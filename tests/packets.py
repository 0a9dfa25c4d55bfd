"""Frames as hosts send them, written by hand octet for octet, as the RFCs draw them."""

from __future__ import annotations

import struct
from ipaddress import ip_address

OURS, HIS, ROUTERS = "02:00:5e:10:00:01", "02:00:5e:10:00:02", "02:00:5e:10:00:03"


def number(text: str) -> int:
    return int(ip_address(text))


def octets(*parts: str) -> bytes:
    return bytes.fromhex("".join(parts))


BROADCAST = "ffffffffffff"
ARP_FROM_US = "02005e100001 0806 0001 0800 06 04"
ARP_FROM_HIM = "02005e100002 0806 0001 0800 06 04"
ARP_PROBE = octets(  # RFC 5227, 1.1: sender IP all zero, target MAC should be, too
    f"{BROADCAST} {ARP_FROM_US} 0001 02005e100001 00000000 000000000000 0a010064"
)
ARP_REPLY = octets(f"02005e100001 {ARP_FROM_HIM} 0002 02005e100002 0a010064 02005e100001 00000000")
ARP_ANNOUNCEMENT = octets(
    f"{BROADCAST} {ARP_FROM_HIM} 0001 02005e100002 0a010064 000000000000 0a010064"
)
ARP_REQUEST_FOR_A_THIRD = octets(
    f"{BROADCAST} {ARP_FROM_HIM} 0001 02005e100002 0a010064 000000000000 0a0100fe"
)
RIVAL_ARP_PROBE = octets(
    f"{BROADCAST} {ARP_FROM_HIM} 0001 02005e100002 00000000 000000000000 0a010064"
)
# A switch asks in its host's own network whether that host still is there.
ARP_PROBE_TO_ONE_HOST = octets(
    f"02005e100001 {ARP_FROM_HIM} 0001 02005e100002 00000000 000000000000 0a010064"
)

ND_FROM_US, ND_FROM_HIM = "02005e100001 86dd 60000000", "02005e100002 86dd 60000000"
NOBODY = "00000000000000000000000000000000"
FD00_100 = "fd000000000000000000000000000100"
ALL_NODES = "ff020000000000000000000000000001"
GROUP_OF_FD00_100 = "ff0200000000000000000001ff000100"
# The sum without carry: ff02 + 1 + ff00 + 100 (group), 18 (length), 3a (protocol), 8700 (type and
# code), fd00 + 100 (target) = 38455; 8455 + 3 = 8458; 7ba7 is its complement.
SOLICITATION = octets(
    f"3333ff000100 {ND_FROM_US} 0018 3a ff {NOBODY} {GROUP_OF_FD00_100}",
    f"8700 7ba7 00000000 {FD00_100}",
)
RIVAL_SOLICITATION = octets(
    f"3333ff000100 {ND_FROM_HIM} 0018 3a ff {NOBODY} {GROUP_OF_FD00_100}",
    f"8700 7ba7 00000000 {FD00_100}",
)
# A nonce (RFC 3971, 5.3.2; RFC 7527) adds 8 to the length, 0e01 + 0102 + 0304 + 0506:
# 38455 + 8 + 170d = 39b6a; 9b6a + 3 = 9b6d; 6492.
RIVAL_SOLICITATION_WITH_NONCE = octets(
    f"3333ff000100 {ND_FROM_HIM} 0020 3a ff {NOBODY} {GROUP_OF_FD00_100}",
    f"8700 6492 00000000 {FD00_100} 0e01 010203040506",
)
# fd00 + 100 (source), ff02 + 1 (all nodes), 18, 3a, 8800, 2000 (override), fd00 + 100 = 3a355;
# a355 + 3 = a358; 5ca7.
ADVERTISEMENT = octets(
    f"333300000001 {ND_FROM_HIM} 0018 3a ff {FD00_100} {ALL_NODES}",
    f"8800 5ca7 20000000 {FD00_100}",
)
# The option adds 8 to the length, 0201 + 0200 + 5e10 + 3: 3a355 + 8 + 6214 = 40571; 575; fa8a.
ADVERTISEMENT_FOR_ANOTHER = octets(
    f"333300000001 {ND_FROM_HIM} 0020 3a ff {FD00_100} {ALL_NODES}",
    f"8800 fa8a 20000000 {FD00_100} 0201 02005e100003",
)

# With his own MAC in the option, the sum is less by one.
UNSOLICITED_ADVERTISEMENT = octets(
    f"333300000001 {ND_FROM_HIM} 0020 3a ff {FD00_100} {ALL_NODES}",
    f"8800 fa8b 20000000 {FD00_100} 0201 02005e100002",
)


def patched(frame: bytes, at: int, hexadecimal: str, *, right_sum: bool = True) -> bytes:
    """Return an IPv6 frame with other octets, with the checksum that then is right."""
    changed = bytearray(frame)
    changed[at : at + len(hexadecimal) // 2] = bytes.fromhex(hexadecimal)
    if right_sum:
        changed[56:58] = b"\0\0"
        covered = bytes(changed[22:54]) + struct.pack("!II", len(changed) - 54, 58)
        covered += bytes(changed[54:])
        total = sum(struct.unpack(f"!{len(covered) // 2}H", covered))
        while total > 0xFFFF:
            total = (total & 0xFFFF) + (total >> 16)
        changed[56:58] = (0xFFFF - total).to_bytes(2, "big")
    return bytes(changed)


def arp_reply(mac: str, address: str, *, source: str = "") -> bytes:
    """Return the frame in which `mac` says that it has an IPv4 address; `source` sends it."""
    claimant = mac.replace(":", "")
    return octets(
        f"02005e100001 {(source or mac).replace(':', '')} 0806 0001 0800 06 04 0002",
        f"{claimant} {number(address):08x} 02005e100001 00000000",
    )


def rival_arp_probe(mac: str, address: str) -> bytes:
    claimant = mac.replace(":", "")
    return octets(
        f"{BROADCAST} {claimant} 0806 0001 0800 06 04 0001",
        f"{claimant} 00000000 000000000000 {number(address):08x}",
    )


def advertisement(mac: str, address: str) -> bytes:
    """Return the frame in which `mac` says that it has an IPv6 address."""
    frame = ADVERTISEMENT[:6] + octets(mac.replace(":", "")) + ADVERTISEMENT[12:]
    return patched(frame, 62, f"{number(address):032x}")


def rival_solicitation(mac: str, address: str) -> bytes:
    """Return the frame in which `mac` asks whether it can have an IPv6 address."""
    target = f"{number(address):032x}"
    frame = octets("3333ff", target[-6:], mac.replace(":", "")) + RIVAL_SOLICITATION[12:51]
    return patched(frame + octets(target[-6:]) + RIVAL_SOLICITATION[54:], 62, target)


def tagged(frame: bytes, tag: int) -> bytes:
    """Return a frame of a VLAN; the tag is its number, with a priority in the upper bits."""
    return frame[:12] + octets(f"8100{tag:04x}") + frame[12:]


def arp_announcement(mac: str, address: str) -> bytes:
    """Return the frame that tells all who has an IPv4 address now."""
    owner, own = mac.replace(":", ""), f"{number(address):08x}"
    return octets(f"{BROADCAST} {owner} 0806 0001 0800 06 04 0001 {owner} {own} 000000000000 {own}")


def unsolicited_advertisement(mac: str, address: str) -> bytes:
    """Return the frame that tells all who has an IPv6 address now."""
    owner, own = mac.replace(":", ""), f"{number(address):032x}"
    frame = UNSOLICITED_ADVERTISEMENT[:6] + octets(owner) + UNSOLICITED_ADVERTISEMENT[12:]
    frame = patched(frame, 22, own)
    return patched(patched(frame, 62, own), 80, owner)
