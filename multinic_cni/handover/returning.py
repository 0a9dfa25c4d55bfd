"""Bring NICs home that went into a pod: under their own names, wherever and whatever they are now.

A pod that may can rename the NIC, give it another MAC, and make links of its own with the NIC's
name and MAC. The device that the kernel names as a link's parent (Linux 5.14) and the permanent MAC
are beyond it. A NIC without either, a veth say, is known by kind and two of MAC, name and index.
"""

from __future__ import annotations

import os
import time
from errno import EBUSY

from multinic_cni.delegate_types import LEAVE_THE_NIC, TAKE_THE_NIC
from multinic_cni.errors import TRY_AGAIN, CniError
from multinic_cni.handover.documents import read_former
from multinic_cni.handover.restoring import settle
from multinic_cni.log import log
from multinic_cni.netlink import Netlink
from multinic_cni.netns import OWN
from multinic_cni.route_netlink import remove_altname, rename, set_down, set_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_cni.handover.former import Former
    from multinic_cni.messages import Link
    from multinic_cni.netns import PodNetns

DEVICES = "/sys/bus/{}/devices/{}"
# The kernel dissolves a netns in the background: its NICs fall home a moment after its path went.
PATIENCE, PAUSE = 5.0, 0.02
ALIKE = 2  # of MAC, name and index: a pod can change each, or give it to another link


def taken_by(record: Record) -> list[NicRecord]:
    """Return the NICs that the record's delegates have moved, or would have."""
    return [nic for nic in record.nics if nic.confs and nic.confs[0]["type"] in TAKE_THE_NIC]


def replaced_in(pod: PodNetns, record: Record) -> set[str]:
    """Return the inner names under which the pod has another link than the NIC.

    host-device would move that one to the node, under the name that stands in the link's alias.
    """
    by_name = {link.name: link for link in pod.netlink.links()}
    return {
        nic.ifname
        for nic in taken_by(record)
        if nic.confs[0]["type"] in LEAVE_THE_NIC
        and nic.ifname in by_name
        and not _can_be(by_name[nic.ifname], nic, read_former(nic.nic, nic.former))
    }


class Return:
    """The way home of one attachment's NICs, after their delegates' DEL."""

    def __init__(self, record: Record, pod: PodNetns | None, data_dir: str) -> None:
        self._record = record
        self._pod = pod
        self._data_dir = data_dir

    def bring_home(self, deadline: float) -> list[CniError]:
        """Bring them home and give them what they had; return the errors that a retry can mend.

        What has vanished is no error. Raises OSError where the kernel does not tell.
        """
        netlink = Netlink()
        try:
            homes, errors = [], []
            for nic in self._own_nics():
                former = read_former(nic.nic, nic.former)
                try:
                    link = self._home(netlink, nic, former, deadline)
                except CniError as error:
                    errors.append(error)
                else:
                    if link is not None:
                        homes.append((nic, former, link))
            settle(netlink, homes)
        finally:
            netlink.close()
        return errors

    def _own_nics(self) -> list[NicRecord]:
        """Return the NICs that are still this attachment's.

        Without its netns it counts as dead, and another pod may have taken them since.
        """
        taken = taken_by(self._record)
        if self._pod is not None:
            return taken
        others = {
            name for each in self._other_records() for nic in taken_by(each) for name in _names(nic)
        }
        return [nic for nic in taken if others.isdisjoint(_names(nic))]

    def _other_records(self) -> Iterator[Record]:
        from multinic_cni.attachments.records import all_records  # noqa: PLC0415 - netns has gone

        own = (self._record.network, self._record.container_id, self._record.ifname)
        for seen in all_records(self._data_dir):
            each = seen.record
            if each is None or each.boot_id != self._record.boot_id:
                continue
            if (each.network, each.container_id, each.ifname) != own:
                yield each

    def _home(
        self, netlink: Netlink, nic: NicRecord, former: Former, deadline: float
    ) -> Link | None:
        """Return the NIC at home, under its own name; None for one that has vanished."""
        link = find_nic(netlink.links(), nic, former)
        if link is None and self._pod is not None:
            if nic.confs[0]["type"] not in LEAVE_THE_NIC:
                return None  # its delegate remembers where it is, and must bring it itself
            self._move_home(netlink, nic, former, self._pod)
            link = find_nic(netlink.links(), nic, former)
        if link is None and former.device:
            link = _awaited(netlink, nic, former, deadline)
        if link is None:
            return None
        _remove_altnames(netlink, link, former)
        return link if link.name == nic.nic else _renamed(netlink, nic, link)

    def _move_home(self, netlink: Netlink, nic: NicRecord, former: Former, pod: PodNetns) -> None:
        link = find_nic(pod.netlink.links(), nic, former)
        if link is None:
            return
        _refuse_taken_name(netlink, nic, f"is still in the pod as {link.name}")
        _remove_altnames(pod.netlink, link, former)
        own = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
        try:
            pod.netlink.move_link(link.index, own, nic.nic)
        except OSError as error:
            message = f"NIC {nic.nic} cannot be brought back from the pod: {error.strerror}"
            raise CniError(TRY_AGAIN, message) from error
        finally:
            os.close(own)
        log.warning("NIC brought back, which its delegate did not", nic=nic.nic)


def _names(nic: NicRecord) -> set[str]:
    return {f"name {nic.nic}", *([f"device {nic.pci}"] if nic.pci else [])}


def _can_be(link: Link, nic: NicRecord, former: Former) -> bool:
    """Tell whether a link can be the NIC, by what nobody can change."""
    if former.device and link.device != former.device:
        return False
    same = not former.is_known or link.permanent_mac == former.permanent_mac
    return link.kind == nic.kind and (same or _has_one_nic(former.device))


def _has_one_nic(device: str) -> bool:
    """Tell whether a device is a virtual function, and so a NIC by itself.

    Drivers (iavf) take the MAC that the physical function gives it for the permanent one.
    """
    return bool(device) and os.path.exists(f"{_folder(device)}/physfn")


def _folder(device: str) -> str:
    bus, _, name = device.partition("/")
    return DEVICES.format(bus, name)


def find_nic(links: Sequence[Link], nic: NicRecord, former: Former) -> Link | None:
    """Return the NIC among links; where two look alike, the one that has its index."""
    found = [link for link in links if _can_be(link, nic, former)]
    if not former.device and not former.permanent_mac:
        names = {nic.ifname, nic.nic}
        found = [
            link
            for link in found
            if (link.mac == nic.mac) + (link.name in names) + (link.index == nic.index) >= ALIKE
        ]
    if len(found) > 1:
        found = [link for link in found if link.index == nic.index] or found
    return found[0] if found else None


def _awaited(netlink: Netlink, nic: NicRecord, former: Former, deadline: float) -> Link | None:
    """Wait for a NIC that is in neither netns, while its device says that there is one somewhere.

    Were it forgotten, it would fall home some day under the name that it had in the pod.
    """
    folder = f"{_folder(former.device)}/net"
    until = min(deadline, time.monotonic() + PATIENCE)
    while os.path.isdir(folder):
        link = find_nic(netlink.links(), nic, former)
        if link is not None:
            return link
        if time.monotonic() > until:
            message = (
                f"NIC {nic.nic} ({former.device}) is neither on the node nor in the pod's netns"
            )
            details = (
                "a process may still live in the netns that has it: it comes back with its end"
            )
            raise CniError(TRY_AGAIN, message, details)
        time.sleep(PAUSE)
    return None


def _refuse_taken_name(netlink: Netlink, nic: NicRecord, where: str) -> None:
    for link in netlink.links():
        if nic.nic in {link.name, *link.altnames}:
            message = f"NIC {nic.nic} {where}, and the node has another link of that name"
            kind = link.kind or "a device"
            details = f"rename or delete that link ({kind}, index {link.index}, MAC {link.mac})"
            raise CniError(TRY_AGAIN, message, details)


def _renamed(netlink: Netlink, nic: NicRecord, link: Link) -> Link:
    """Give a NIC that came home under another name its own."""
    _refuse_taken_name(netlink, nic, f"came back as {link.name}")
    try:
        _rename(netlink, link, nic.nic)
    except OSError as error:
        message = f"NIC {nic.nic} came back as {link.name} and cannot be renamed: {error.strerror}"
        raise CniError(TRY_AGAIN, message) from error
    log.warning("NIC renamed, which came back under another name", nic=nic.nic, was=link.name)
    return link.but(name=nic.nic)


def _rename(netlink: Netlink, link: Link, name: str) -> None:
    try:
        rename(netlink, link.index, name)
    except OSError as error:
        if error.errno != EBUSY or not link.up:
            raise
        # Before Linux 6.2 a link must be down for it.
        set_down(netlink, link.index)
        rename(netlink, link.index, name)
        set_up(netlink, link.index)


def _remove_altnames(netlink: Netlink, link: Link, former: Former) -> None:
    """Remove altnames that were given to the NIC in the pod: on the node they name it, too."""
    for altname in link.altnames:
        if former.is_known and altname not in former.altnames:
            try:
                remove_altname(netlink, link.index, altname)
            except OSError as error:
                log.warning("altname stays", altname=altname, reason=error.strerror)
