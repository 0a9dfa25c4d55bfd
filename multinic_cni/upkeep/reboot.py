"""The first call after a boot: no pod survives one, so what earlier pods held is free.

<dataDir>/boot      the kernel's name of the boot in which the store was last used
"""

from __future__ import annotations

import os

from multinic_cni import host
from multinic_cni.attachments.claim import key_of, keys, networks, peek
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.errors import CniError
from multinic_cni.log import log
from multinic_cni.reservations import with_store
from multinic_cni.upkeep import backlog, sticky
from multinic_ipam.reservation import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_ipam.store import Store

MARKER = "boot"
NOBODY = Owner("", "")


def reclaim_after_boot(data_dir: str, deadline: float) -> None:
    """Free the addresses of earlier boots, once; their attachments go into the backlog.

    Raises CniError, OSError.
    """
    boot = host.boot_id()
    if _read(f"{data_dir}/{MARKER}") != boot:
        with_store(data_dir, deadline, lambda store: _reclaim(store, data_dir, boot))


def _reclaim(store: Store, data_dir: str, boot: str) -> None:
    earlier = _read(f"{data_dir}/{MARKER}")
    if earlier == boot:
        return  # another call was first
    # Without a marker the store is new, or of a release that wrote none: then records decide alone.
    stale, current = _sorted_by_boot(data_dir, boot, torn_are_stale=bool(earlier))
    stale_keys = {key for _, key in stale} - current
    freed = 0
    for reservation, owner in list(store.reservations()):
        key = key_of(owner.container_id, owner.ifname) if owner else ""
        if key in stale_keys or (earlier and key not in current):
            freed += not store.release([reservation], owner or NOBODY)
    backlog.append(store.root, stale)
    sticky.prune(store.root)
    store.root.write(MARKER, boot.encode())
    if freed or stale:
        log.info("addresses of earlier boots freed", addresses=freed, attachments=len(stale))


def _sorted_by_boot(
    data_dir: str, boot: str, *, torn_are_stale: bool
) -> tuple[list[tuple[str, str]], set[str]]:
    """Return the attachments of earlier boots, (network, key), and the keys of this boot's.

    A record that cannot be read was torn by the power cut, unless it may be of this boot.
    """
    stale: list[tuple[str, str]] = []
    current: set[str] = set()
    for network in networks(data_dir):
        for key in keys(data_dir, network):
            try:
                record = peek(data_dir, network, key)
            except DamagedRecordError as error:
                log.warning(str(error))
                is_stale = torn_are_stale
            except CniError as error:
                log.warning(str(error))  # of a later release, which knows what to do with it
                is_stale = False
            else:
                if record is None:
                    continue
                is_stale = record.boot_id != boot
            if is_stale:
                stale.append((network, key))
            else:
                current.add(key)
    return stale, current


def _read(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        return os.read(descriptor, 64).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)
