"""Mend what `ipam check` finds, where no living pod can lose by it."""

from __future__ import annotations

import time

from multinic_cni.admin.collection import PLUGIN_PATH, collect
from multinic_cni.admin.findings import check_store
from multinic_cni.admin.stock import DAMAGED, LOCK_SECONDS, ORPHANED, take_stock
from multinic_cni.attachments.claim import claim_idle, key_of
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.errors import CniError, io_failure
from multinic_cni.liveness import Living
from multinic_cni.reservations import with_store
from multinic_cni.upkeep.sweeping import sweep
from multinic_cni.values import Value
from multinic_ipam.reservation import NOBODY, Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from multinic_cni.admin.collection import Collection
    from multinic_cni.admin.findings import Finding
    from multinic_cni.admin.stock import Attachment, Stock
    from multinic_cni.attachments.claim import Claim
    from multinic_cni.attachments.record import Record
    from multinic_ipam.reservation import Reservation
    from multinic_ipam.store import Store


class Mend(Value):
    """What was done about one thing, or why it could not be done; the subject as a Finding's."""

    subject: str
    deed: str
    error: str = ""


def repair_store(data_dir: str) -> list[Mend]:
    """Do what can be done; `check_store` finds the rest again.

    Goes by what is there now, not by what was found: each step looks again under its locks. Raises
    CniError, OSError for what concerns the whole store.
    """
    collection = collect(data_dir, PLUGIN_PATH)
    if any(each.error for each in collection.attachments):
        sweep(data_dir, _soon())  # what their delegates hold may stay, their addresses need not
    mends = list(_mends_of(collection))
    for attachment in _affected(check_store(data_dir)):
        mends += _mend(data_dir, attachment)
    return mends + with_store(data_dir, _soon(), lambda store: _remove_damaged(store, data_dir))


def _soon() -> float:
    return time.monotonic() + LOCK_SECONDS


def _mends_of(collection: Collection) -> Iterator[Mend]:
    for cleared in collection.attachments:
        subject = f"{cleared.attachment.network} {cleared.attachment.key}"
        yield Mend(subject=subject, deed="cleared", error=cleared.error)
    for holding in collection.addresses:
        yield Mend(subject=holding.reservation.address, deed="freed")
    for path in collection.unfinished:
        yield Mend(subject=path, deed="removed")


def _affected(findings: Sequence[Finding]) -> list[Attachment]:
    """Return the attachments that have lost a file, or whose record is damaged."""
    found = [each.attachment for each in findings if each.attachment]
    found += [
        attachment
        for each in findings
        if each.holding and each.kind == DAMAGED
        for attachment in each.holding.named_by
    ]
    return list({(each.network, each.key): each for each in found}.values())


def _mend(data_dir: str, attachment: Attachment) -> list[Mend]:
    subject = f"{attachment.network} {attachment.key}"
    try:
        claim = claim_idle(data_dir, attachment.network, attachment.key)
        if claim is None:
            return []
        try:
            if attachment.damaged:
                return _put_aside(claim, data_dir, attachment)
            return _restore(claim, data_dir)
        finally:
            claim.close()
    except (CniError, DamagedRecordError) as error:
        return [Mend(subject=subject, deed="", error=str(error))]
    except OSError as error:
        return [Mend(subject=subject, deed="", error=io_failure("mend it", error).message)]


def _put_aside(claim: Claim, data_dir: str, attachment: Attachment) -> list[Mend]:
    """Put a damaged record aside if no address goes with it: its pod may live."""

    def holds_nothing(store: Store) -> bool:
        stock = take_stock(store, data_dir)
        owners = [each.owner for each in stock.holdings]
        return None not in owners and attachment.key not in {
            key_of(owner.container_id, owner.ifname) for owner in owners if owner
        }

    if not with_store(data_dir, _soon(), holds_nothing):
        return []
    claim.quarantine()
    return [Mend(subject=f"{attachment.network} {attachment.key}", deed="put aside")]


def _restore(claim: Claim, data_dir: str) -> list[Mend]:
    """Write the address files of a living pod that are gone, damaged, or name nobody."""
    record = claim.read()
    if record is None or not Living().has(record):
        return []
    restored = with_store(data_dir, _soon(), lambda store: _restore_lost(store, data_dir, record))
    return [Mend(subject=each, deed="restored") for each in restored]


def _restore_lost(store: Store, data_dir: str, record: Record) -> list[str]:
    owner = Owner(record.container_id, record.ifname)
    lost = store.not_held(record.reservations, owner)
    stock = take_stock(store, data_dir, [each.address for each in lost])
    restorable = [each for each in lost if _is_undisputed(stock, each)]
    for reservation in restorable:
        for holding in stock.of(reservation.address):
            store.release([holding.reservation], holding.owner or NOBODY)
        store.restore([reservation], owner)
    return [each.address for each in restorable]


def _is_undisputed(stock: Stock, reservation: Reservation) -> bool:
    """Tell whether nobody but one living pod can have an address."""
    files = stock.of(reservation.address)
    return len(stock.living_with(reservation.address)) == 1 and all(
        each.state in {DAMAGED, ORPHANED} and each.reservation.block == reservation.block
        for each in files
    )


def _remove_damaged(store: Store, data_dir: str) -> list[Mend]:
    """Remove files that do not say whose they are, where no record can name them."""
    mends = []
    for holding in take_stock(store, data_dir).holdings:
        if holding.state != DAMAGED or holding.keeper:
            continue
        address, error = holding.reservation.address, ""
        try:
            if store.release([holding.reservation], NOBODY):
                error = "cannot remove it: it is no file"
        except OSError as failure:
            error = io_failure("remove it", failure).message
        mends.append(Mend(subject=address, deed="removed", error=error))
    return mends
