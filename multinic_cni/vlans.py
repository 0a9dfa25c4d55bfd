"""Which attachments use which VLANs: the last one that leaves takes the link along.

    <dataDir>/vlans/<link>/<network>/<containerID>:<ifname>     an attachment that uses the link

All is done under the store's lock, under which the record is written, too: whoever counts sees all
others, and no link goes while somebody comes. A file whose record has gone counts no more.
"""

from __future__ import annotations

import errno
import os

from multinic_cni.attachments.claim import key_of
from multinic_cni.attachments.records import all_records, has_record
from multinic_cni.delegates import link_for_delegate, vlan_id_of
from multinic_cni.netlink import Netlink
from multinic_cni.vlan_links import delete_link, fault_of, group_of, links_without, make_links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from multinic_cni.attachments.record import Record
    from multinic_ipam.folders import Folder
    from multinic_ipam.reservation import Owner
    from multinic_selectors.nics import Nic

VLANS = "vlans"


def join(root: Folder, network: str, owner: Owner, nics: Sequence[Nic], vlan_id: int) -> None:
    """Note that an attachment uses the VLANs of NICs, and make those that are not there.

    The record is written, and names them. Raises CniError, OSError.
    """
    key = key_of(owner.container_id, owner.ifname)
    for nic in nics:
        _note(root, link_for_delegate(nic.name, vlan_id), network, key)
    make_links(nics, vlan_id, group_of(root.path))


def leave(root: Folder, data_dir: str, record: Record) -> None:
    """Take an attachment's notes away, and the links that nobody else uses. Raises OSError.

    Notes may be missing: an earlier call was killed in between.
    """
    key = key_of(record.container_id, record.ifname)
    _leave(root, data_dir, record.network, key, {nic.master for nic in record.nics})


def leave_all(root: Folder, data_dir: str, network: str, key: str) -> None:
    """Do as `leave` for an attachment whose record cannot be read."""
    _leave(root, data_dir, network, key, _noted_links(root))


def faults(record: Record) -> list[str]:
    """Return what is wrong with the VLANs of an attachment; raises OSError."""
    netlink = Netlink()
    try:
        looked_at = (
            fault_of(netlink, nic.master, nic.nic, nic.index, vlan_id_of(nic.master))
            for nic in record.nics
            if nic.master
        )
        return [fault for fault in looked_at if fault]
    finally:
        netlink.close()


def unused(data_dir: str, records: Iterable[Record | None]) -> list[str]:
    """Name our VLANs that none of all records needs; raises OSError.

    A record knows them by NIC and id: a link that somebody has renamed is in use all the same. One
    that cannot be read (None) may need any.
    """
    if not os.path.isdir(f"{data_dir}/{VLANS}"):
        return []  # no pod of this node has ever had one
    needed: set[tuple[int, int]] = set()
    for record in records:
        if record is None:
            return []
        needed.update((nic.index, vlan_id_of(nic.master)) for nic in record.nics)
    return links_without(needed, group_of(data_dir))


def remove_unused(root: Folder, data_dir: str) -> list[str]:
    """Delete what `unused` names, and notes that are stale; return the links that have gone.

    The store's lock is held. Raises OSError.
    """
    group = group_of(data_dir)
    records = (seen.record for seen in all_records(data_dir))
    removed = [name for name in unused(data_dir, records) if delete_link(name, group)]
    for name in _noted_links(root):
        _has_others(root, data_dir, name, than=None)
        _tidy(root, name)
    return removed


def _leave(root: Folder, data_dir: str, network: str, key: str, links: Iterable[str]) -> None:
    for name in sorted(links):
        if not vlan_id_of(name):
            continue  # the NIC itself; or a record that was planted
        _forget(root, name, network, key)
        if not _has_others(root, data_dir, name, than=(network, key)):
            delete_link(name, group_of(root.path))
        _tidy(root, name)


def _note(root: Folder, name: str, network: str, key: str) -> None:
    with (
        root.child(VLANS, create=True) as vlans,
        vlans.child(name, create=True) as users,
        users.child(network, create=True) as folder,
    ):
        os.close(folder.lock_file(key))


def _forget(root: Folder, name: str, network: str, key: str) -> None:
    try:
        with (
            root.child(VLANS, create=False) as vlans,
            vlans.child(name, create=False) as users,
            users.child(network, create=False) as folder,
        ):
            folder.remove(key)
    except FileNotFoundError:
        return


def _has_others(root: Folder, data_dir: str, name: str, than: tuple[str, str] | None) -> bool:
    """Tell whether another attachment uses a link; notes without a record go on the way."""
    try:
        with root.child(VLANS, create=False) as vlans, vlans.child(name, create=False) as users:
            for network in users.names():
                with users.child(network, create=False) as folder:
                    for key in folder.names():
                        if (network, key) == than:
                            continue
                        if has_record(data_dir, network, key):
                            return True
                        folder.remove(key)
    except FileNotFoundError:
        pass
    return False


def _tidy(root: Folder, name: str) -> None:
    """Remove the folders that are empty now."""
    try:
        with root.child(VLANS, create=False) as vlans:
            with vlans.child(name, create=False) as users:
                for network in users.names():
                    _remove_if_empty(users, network)
            _remove_if_empty(vlans, name)
    except FileNotFoundError:
        return


def _remove_if_empty(folder: Folder, name: str) -> None:
    try:
        folder.remove_child(name)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.ENOENT}:
            raise


def _noted_links(root: Folder) -> list[str]:
    try:
        with root.child(VLANS, create=False) as vlans:
            return vlans.names()
    except FileNotFoundError:
        return []
