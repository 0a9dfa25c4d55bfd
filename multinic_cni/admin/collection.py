"""Clear all that pods have left which live no more: `multinic-cni gc`."""

from __future__ import annotations

import os
import time

from multinic_cni.admin.findings import attachment_of
from multinic_cni.admin.stock import LOCK_SECONDS, ORPHANED, STALE, inspect, take_stock
from multinic_cni.attachments.claim import claim_idle
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.attachments.records import has_record, keys, networks, peek
from multinic_cni.errors import CniError, io_failure, join_errors
from multinic_cni.leftovers import clear_stale
from multinic_cni.liveness import Living
from multinic_cni.reservations import with_store
from multinic_cni.upkeep import backlog
from multinic_cni.upkeep.reboot import reclaim_after_boot
from multinic_cni.values import Value
from multinic_cni.vlans import remove_unused, unused
from multinic_ipam.reservation import NOBODY
from multinic_ipam.survey import leftovers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.admin.stock import Attachment, Holding, Rest, Stock
    from multinic_ipam.store import Store

PLUGIN_PATH = ("/opt/cni/bin", "/usr/lib/cni")
DELEGATES_SECONDS = 60.0  # for one attachment
ALL = 1 << 20  # more than a node ever has
BUSY = "a call is at work on it, or a delegate that such a call has left running"


class Cleared(Value):
    """A stale attachment and why it is still there; `error` is empty if it has gone."""

    attachment: Attachment
    error: str = ""


class Collection(Value):
    """What was cleared, or would be."""

    attachments: Sequence[Cleared]
    addresses: Sequence[Holding]  # that belonged to no attachment
    quarantine: Sequence[Rest]  # that is over
    unfinished: Sequence[str]
    vlans: Sequence[str]  # that no attachment uses


def preview(data_dir: str) -> Collection:
    """Return what `collect` would clear; raises CniError, OSError."""
    stock = inspect(data_dir)
    return Collection(
        attachments=[Cleared(attachment=each) for each in _gone(stock)],
        addresses=[each for each in stock.holdings if _is_free_to_go(each)],
        quarantine=[each for each in stock.quarantine if each.is_over],
        unfinished=stock.unfinished,
        vlans=unused(data_dir, [each.record for each in stock.attachments if each.lives]),
    )


def collect(data_dir: str, path: tuple[str, ...]) -> Collection:
    """Clear stale attachments with their delegates' DEL, and what belongs to nobody.

    `path` are folders of delegates that are not where they were at their ADD. Raises CniError,
    OSError for what concerns the whole store; an attachment's failure goes into the answer.
    """
    before = inspect(data_dir)
    reclaim_after_boot(data_dir, _soon())
    waiting = with_store(data_dir, _soon(), lambda store: backlog.take(store.root, ALL))
    cleared = [_clear(data_dir, each, path) for each in [*_gone(before), *_torn(before, waiting)]]
    failed = [(e.attachment.network, e.attachment.key) for e in cleared if e and e.error]
    again = [each for each in waiting if each in failed]
    if again:
        with_store(data_dir, _soon(), lambda store: backlog.put_back(store.root, again))
    _remove_locks(data_dir)
    return Collection(
        attachments=[each for each in cleared if each is not None],
        addresses=with_store(data_dir, _soon(), lambda store: _free(store, data_dir, before)),
        quarantine=with_store(data_dir, _soon(), lambda store: _end_quarantine(store, before)),
        unfinished=with_store(data_dir, _soon(), lambda store: _remove(store, data_dir)),
        vlans=with_store(data_dir, _soon(), lambda store: remove_unused(store.root, data_dir)),
    )


def _soon() -> float:
    return time.monotonic() + LOCK_SECONDS


def _gone(stock: Stock) -> list[Attachment]:
    return [each for each in stock.attachments if each.record and not each.lives]


def _is_free_to_go(holding: Holding) -> bool:
    of_nobody = holding.attachment is None and holding.state in {ORPHANED, STALE}
    return of_nobody and not holding.keeper


def _torn(stock: Stock, waiting: Sequence[tuple[str, str]]) -> list[Attachment]:
    """Return those that a power cut has torn: the first call after the boot made them wait."""
    damaged = [each for each in stock.attachments if each.damaged]
    return [each for each in damaged if (each.network, each.key) in waiting]


def _clear(data_dir: str, attachment: Attachment, path: tuple[str, ...]) -> Cleared | None:
    """Clear one; None if its pod lives after all, since it was attached anew."""
    network, key, living = attachment.network, attachment.key, Living()
    path = (*attachment.record.path, *path) if attachment.record else path
    deadline = time.monotonic() + DELEGATES_SECONDS
    try:
        errors = clear_stale(data_dir, network, key, path, deadline, unless=living.has)
        record = None if errors else peek(data_dir, network, key)
        if record and living.has(record):
            return None
    except CniError as error:
        return Cleared(attachment=attachment, error=error.message)
    except OSError as error:
        return Cleared(attachment=attachment, error=io_failure("clear it", error).message)
    except DamagedRecordError:
        return Cleared(attachment=attachment, error=BUSY)
    if errors:
        return Cleared(attachment=attachment, error=join_errors(errors).message)
    return Cleared(attachment=attachment, error=BUSY if record else "")


def _remove_locks(data_dir: str) -> None:
    """Remove the lock files that killed calls have left without a record."""
    for network in networks(data_dir):
        for key in keys(data_dir, network):
            claim = (
                None if has_record(data_dir, network, key) else claim_idle(data_dir, network, key)
            )
            if claim is not None:
                claim.close()


def _free(store: Store, data_dir: str, before: Stock) -> list[Holding]:
    """Free what belongs to nobody; return that, and what a reboot's reclaim has freed already."""
    now = take_stock(store, data_dir)
    there = {(each.reservation.block, each.reservation.address) for each in now.holdings}
    reclaimed = [
        each
        for each in before.holdings
        if each.attachment is None
        and (each.reservation.block, each.reservation.address) not in there
    ]
    freed = [each for each in now.holdings if _is_free_to_go(each)]
    for each in freed:
        store.release([each.reservation], each.owner or NOBODY)
    return [*reclaimed, *freed]


def _end_quarantine(store: Store, before: Stock) -> list[Rest]:
    over = [each for each in before.quarantine if each.is_over]
    for each in over:
        store.end_quarantine(each.address)
    return over


def _remove(store: Store, data_dir: str) -> list[str]:
    """Remove what killed calls have not finished, but no file that a call is just writing."""
    removed = []
    for path in leftovers(store.root):
        place = attachment_of(path)
        claim = claim_idle(data_dir, *place) if place else None
        if place and claim is None:
            continue
        try:
            os.unlink(path, dir_fd=store.root.descriptor)
            removed.append(path)
        except FileNotFoundError:
            pass  # its call has come to an end
        finally:
            if claim is not None:
                claim.close()
    return removed
