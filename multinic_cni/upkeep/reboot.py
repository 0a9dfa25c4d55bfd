"""The first call after a boot: no pod survives one, so what earlier pods held is free.

<dataDir>/boot      the kernel's name of the boot in which the store was last used
"""

from __future__ import annotations

import os
import time

from multinic_cni import host
from multinic_cni.attachments.claim import key_of
from multinic_cni.log import log
from multinic_cni.reservations import with_store
from multinic_cni.upkeep import backlog
from multinic_ipam.reservation import NOBODY
from multinic_ipam.turns import SECOND, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_ipam.store import Store

MARKER = "boot"


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
    stale, current = _sorted_by_boot(data_dir, boot, torn_are_stale=earlier is not None)
    stale_keys = {key for _, key in stale} - current
    freed = 0
    for reservation, owner in list(store.reservations()):
        key = key_of(owner.container_id, owner.ifname) if owner else ""
        if key in stale_keys or (earlier is not None and key not in current):
            # They rest since the boot, at least: nobody was there any more.
            freed += not store.release([reservation], owner or NOBODY, _word_of_boot())
    try:
        backlog.append(store.root, stale)
        store.root.write(MARKER, boot.encode())
    except OSError as error:
        # A full disk, or what is no file in their place: the next call tries again.
        log.warning("the boot is not noted", reason=error.strerror)
    if freed or stale:
        log.info("addresses of earlier boots freed", addresses=freed, attachments=len(stale))


def _word_of_boot() -> int:
    return now() - int(time.clock_gettime(time.CLOCK_BOOTTIME) * SECOND)


def _sorted_by_boot(
    data_dir: str, boot: str, *, torn_are_stale: bool
) -> tuple[list[tuple[str, str]], set[str]]:
    """Return the attachments of earlier boots, (network, key), and the keys of this boot's.

    A record that cannot be read was torn by the power cut, unless it may be of this boot. One of a
    later release counts as this boot's: that release knows what to do with it.
    """
    from multinic_cni.attachments.records import all_records  # noqa: PLC0415 - once a boot
    from multinic_cni.upkeep import sticky  # noqa: PLC0415 - the same

    stale: list[tuple[str, str]] = []
    current: set[str] = set()
    for seen in all_records(data_dir):
        if seen.trouble:
            log.warning(seen.trouble)
        is_torn = seen.damaged and torn_are_stale
        if seen.record is not None:
            sticky.refresh(data_dir, seen.record)
        if is_torn or (seen.record is not None and seen.record.boot_id != boot):
            stale.append((seen.network, seen.key))
        else:
            current.add(seen.key)
    return stale, current


def _read(path: str) -> str | None:
    """Return the boot that a marker names, None where there is no marker that can be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, 64).decode("ascii", "replace").strip()
    except OSError:
        return None
    finally:
        os.close(descriptor)
