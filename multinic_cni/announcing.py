"""Tell the neighbours which MAC has the pod's addresses now.

Who had spoken with an address's former owner would go on sending to him, for a minute or more. What
the kernel would send by itself (arp_notify) falls out where an interface is up before it has its
address, and where a NIC moves into the pod with all that it had.
"""

from __future__ import annotations

import os
from _socket import AF_PACKET, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_RAW, socket

from multinic_cni.frames import ARPHRD_ETHER, ETH_P_ARP, ETH_P_IPV6, IPV6, announcement
from multinic_cni.log import log
from multinic_cni.netlink import Netlink
from multinic_cni.values import Value
from multinic_cni.wires import close_aside
from multinic_ipam.networks import format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.messages import Link

NDISC_NOTIFY = "/proc/sys/net/ipv6/conf/{}/ndisc_notify"


class Announcement(Value):
    """An address of an interface in the pod. `index` and `mac` are the interface's."""

    nic: str
    ifname: str
    index: int
    mac: str
    version: int
    number: int

    @property
    def address(self) -> str:
        return format_address(self.version, self.number)


def announce(wanted: Sequence[Announcement]) -> None:
    """Announce addresses on the links of the netns that the process is in, each once.

    What cannot be announced is logged: the pod works all the same, by and by. Nothing is said for
    links that do not ask for MACs, nor for an IPv6 address that may still be somebody else's: the
    kernel announces that one when it has found out.
    """
    try:
        ready = _ready(wanted)
        if ready:
            _send(ready)
    except OSError as error:
        log.warning(f"the pod's addresses were not announced: {error.strerror}")


def _ready(wanted: Sequence[Announcement]) -> list[Announcement]:
    netlink = Netlink()
    try:
        links = {link.index: link for link in netlink.links()}
        asking = [each for each in wanted if _can_be_told(each, links.get(each.index))]
        usable = _usable(netlink)
        doubtful = [each for each in asking if each.version == IPV6 and _key(each) not in usable]
        if doubtful:
            for ifname in {each.ifname for each in doubtful}:
                _leave_to_the_kernel(ifname)
            usable = _usable(netlink)  # it may have found out before it was told to announce
        return [each for each in asking if _key(each) in usable]
    finally:
        netlink.close()


def _can_be_told(wanted: Announcement, link: Link | None) -> bool:
    if link is None or not link.asks_for_macs or link.medium != ARPHRD_ETHER:
        return False
    if not link.up or not link.carrier:
        state = "has no carrier" if link.up else "is down"
        log.warning(f"NIC {wanted.nic}: {wanted.address} is not announced: {link.name} {state}")
        return False
    return True


def _usable(netlink: Netlink) -> set[tuple[int, int, int]]:
    """Return the addresses that links have for sure, as keys."""
    return {
        (each.link, each.version, each.number)
        for each in netlink.addresses()
        if each.primary or each.version != IPV6  # a second one of IPv4 is as good as the first
    }


def _key(wanted: Announcement) -> tuple[int, int, int]:
    return wanted.index, wanted.version, wanted.number


def _leave_to_the_kernel(ifname: str) -> None:
    """Let the kernel announce what it finds to be nobody else's."""
    setting = os.open(NDISC_NOTIFY.format(ifname), os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(setting, b"1")
    finally:
        os.close(setting)


def _send(ready: Sequence[Announcement]) -> None:
    # Without a protocol it hears nothing: all it does is to send.
    wire = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
    try:
        for each in ready:
            frame = announcement(
                bytes.fromhex(each.mac.replace(":", "")), each.version, each.number
            )
            protocol = ETH_P_IPV6 if each.version == IPV6 else ETH_P_ARP
            try:
                wire.sendto(frame, (each.ifname, protocol))
            except OSError as error:
                why = error.strerror
                log.warning(f"NIC {each.nic}: {each.address} is not announced: {why}")
    finally:
        close_aside(wire)  # what is left of the call need not wait for it
