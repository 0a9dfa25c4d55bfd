"""Free the addresses of pods that live no more and whose DEL never came.

Their delegates' DELs follow by the backlog: a call that needs an address must not pay for hundreds.
"""

from __future__ import annotations

from multinic_cni.attachments.claim import claim_idle, has_record, key_of, keys, networks, peek
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.errors import CniError
from multinic_cni.log import log
from multinic_cni.reservations import ExhaustedError, with_store
from multinic_cni.upkeep import backlog
from multinic_cni.upkeep.imports import is_held_at_source
from multinic_cni.upkeep.liveness import Living
from multinic_cni.values import Value
from multinic_ipam.reservation import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from multinic_cni.attachments.record import Record
    from multinic_ipam.reservation import Reservation
    from multinic_ipam.store import Store

    T = TypeVar("T")


class Swept(Value):
    """How many addresses were freed, and how many stale ones a busy attachment kept."""

    freed: int
    kept: int


def sweep(data_dir: str, deadline: float) -> Swept:
    """Free the addresses of every attachment that is stale, and those taken over that have ended.

    The caller holds no lock but that of its own attachment, which is busy and so left alone.
    Raises CniError, OSError.
    """
    living = Living()
    freed = kept = 0
    for network, key, record in _records(data_dir):
        if not record.reservations or living.has(record):
            continue
        count = _free(data_dir, network, key, living, deadline)
        if count is None:
            kept += len(record.reservations)
        else:
            freed += count
    freed += with_store(data_dir, deadline, _free_imported)
    if freed or kept:
        log.warning("stale addresses swept", freed=freed, kept=kept)
    return Swept(freed=freed, kept=kept)


def after_sweep(data_dir: str, deadline: float, work: Callable[[], T]) -> T:
    """Do something that needs free addresses; a pool that is full is swept before that is said."""
    try:
        return work()
    except ExhaustedError:
        swept = sweep(data_dir, deadline)
    try:
        return work()
    except ExhaustedError as error:
        stale = f"{swept.kept} of them stale but busy" if swept.kept else "none of them stale"
        raise CniError(error.code, f"{error.message}; {stale}", error.details) from None


def _records(data_dir: str) -> Iterator[tuple[str, str, Record]]:
    for network in networks(data_dir):
        for key in keys(data_dir, network):
            try:
                record = peek(data_dir, network, key)
            except (CniError, DamagedRecordError) as error:
                log.warning(str(error))
                continue
            if record is not None:
                yield network, key, record


def _free(data_dir: str, network: str, key: str, living: Living, deadline: float) -> int | None:
    """Free a stale attachment's addresses; return how many it had, None if it is busy."""
    held = claim_idle(data_dir, network, key)
    if held is None:
        return None
    try:
        record = held.read()
        if record is None or living.has(record):
            return 0

        def release(store: Store) -> int:
            owner = Owner(record.container_id, record.ifname)
            lost = store.not_held(record.reservations, owner)
            count = len(record.reservations) - len(lost)
            if count:
                backlog.append(store.root, [(network, key)])
                store.release(record.reservations, owner)
            return count

        return with_store(data_dir, deadline, release)
    finally:
        held.close()


def _free_imported(store: Store) -> int:
    """Free addresses that were taken over from host-local and that it has freed since."""
    sources = dict(store.imported.all())
    freed = 0
    for reservation in store.addresses() if sources else ():
        source = sources.get(reservation.address)
        owner = store.owner_of(reservation) if source else None
        if source and owner and not is_held_at_source(source, reservation.address, owner):
            freed += not store.release([reservation], owner)
    return freed


class Orphans:
    """Tells whether nothing stands behind an address file: no record, no folder taken over.

    The store's lock is held: every ADD writes its record before its address files, under it.
    """

    def __init__(self, data_dir: str, store: Store) -> None:
        self._store = store
        self._data_dir = data_dir
        self._networks = networks(data_dir)
        self._named = {
            reservation.address
            for _, _, record in _records(data_dir)
            for reservation in record.reservations
        }

    def have(self, reservation: Reservation, owner: Owner) -> bool:
        key = key_of(owner.container_id, owner.ifname)
        recorded = any(has_record(self._data_dir, network, key) for network in self._networks)
        if recorded or reservation.address in self._named:
            return False
        source = self._store.imported.read(reservation.address)
        return source is None or not is_held_at_source(source, reservation.address, owner)
