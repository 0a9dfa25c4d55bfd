"""Free the addresses of pods that live no more and whose DEL never came.

Their delegates' DELs follow by the backlog: a call that needs an address must not pay for hundreds.
"""

from __future__ import annotations

from multinic_cni.attachments.claim import claim_idle, key_of
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.attachments.records import all_records, has_record, networks
from multinic_cni.errors import CniError
from multinic_cni.liveness import Living
from multinic_cni.log import log
from multinic_cni.releasing import release_own
from multinic_cni.reservations import CrowdedError, ExhaustedError, with_store
from multinic_cni.upkeep import backlog
from multinic_cni.upkeep.imports import is_held_at_source, source_of
from multinic_cni.values import Value
from multinic_ipam.reservation import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

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
    for seen in all_records(data_dir):
        if seen.record is None:
            log.warning(seen.trouble)
        elif seen.record.reservations and not living.has(seen.record):
            count = _free(data_dir, seen.network, seen.key, living, deadline)
            kept += len(seen.record.reservations) if count is None else 0
            freed += count or 0
    freed += with_store(data_dir, deadline, lambda store: _free_imported(store, data_dir))
    if freed or kept:
        log.warning("stale addresses swept", freed=freed, kept=kept)
    return Swept(freed=freed, kept=kept)


def after_sweep(data_dir: str, deadline: float, work: Callable[[], T]) -> T:
    """Do something that needs free addresses; what is crowded is swept before that is said."""
    try:
        return work()
    except CrowdedError:
        return sweep_and_repeat(data_dir, deadline, work)


def sweep_and_repeat(data_dir: str, deadline: float, work: Callable[[], T]) -> T:
    """Do once more what a crowd was in the way of; the error tells what the sweep has found."""
    swept = sweep(data_dir, deadline)
    try:
        return work()
    except ExhaustedError as error:
        raise CniError(error.code, f"{error.message}; {_told(swept)}", error.details) from None


def _told(swept: Swept) -> str:
    told = [f"{swept.freed} stale freed"] if swept.freed else []
    told += [f"{swept.kept} of them stale but busy"] if swept.kept else []
    return ", ".join(told) or "none of them stale"


def _free(data_dir: str, network: str, key: str, living: Living, deadline: float) -> int | None:
    """Free a stale attachment's addresses; return how many it had, None if they must stay."""
    try:
        held = claim_idle(data_dir, network, key)
    except OSError as error:
        log.warning("stale attachment cannot be locked", attachment=key, reason=error.strerror)
        return None
    if held is None:
        return None
    try:
        record = held.read()
        if record is None or living.has(record):
            return 0

        def release(store: Store) -> int:
            owner = Owner(record.container_id, record.ifname)
            if len(store.not_held(record.reservations, owner)) < len(record.reservations):
                # First: without an address a later sweep would not look at it again.
                _remember(store, network, key)
            return release_own(store, data_dir, record)

        return with_store(data_dir, deadline, release)
    except (DamagedRecordError, OSError) as error:
        log.warning(f"stale attachment {key}: {error}")
        return None
    finally:
        held.close()


def _remember(store: Store, network: str, key: str) -> None:
    try:
        backlog.append(store.root, [(network, key)])
    except OSError as error:
        # A full disk must keep no address from being freed; `gc` finds the record.
        log.warning("backlog not written", reason=error.strerror)


def _free_imported(store: Store, data_dir: str) -> int:
    """Free addresses that were taken over from host-local and that it has freed since."""
    suspects = frozenset(store.imported.addresses())
    orphans = Orphans(data_dir, store)
    freed = 0
    for reservation in store.addresses() if suspects else ():
        owner = store.owner_of(reservation) if reservation.address in suspects else None
        if owner and orphans.have(reservation, owner):
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
        self._named: set[str] | None = None

    def have(self, reservation: Reservation, owner: Owner) -> bool:
        key = key_of(owner.container_id, owner.ifname)
        recorded = any(has_record(self._data_dir, network, key) for network in self._networks)
        if recorded or reservation.address in self._named_addresses():
            return False
        source = source_of(self._store.imported, reservation.address)
        return source is None or not is_held_at_source(source, reservation.address)

    def _named_addresses(self) -> set[str]:
        if self._named is None:  # mostly nothing is suspected, and then no record is read
            records = [seen.record for seen in all_records(self._data_dir) if seen.record]
            self._named = {each.address for record in records for each in record.reservations}
        return self._named
