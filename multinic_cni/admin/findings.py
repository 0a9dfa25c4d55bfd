"""What is wrong in the store: `ipam check`."""

from __future__ import annotations

import os

from multinic_cni.admin.stock import DAMAGED, LIVE, ORPHANED, STALE, inspect
from multinic_cni.attachments.claim import ATTACHMENTS, LOCK, RECORD
from multinic_cni.attachments.records import has_record
from multinic_cni.values import Value
from multinic_ipam.folders import UNFINISHED
from multinic_ipam.locks import try_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_cni.admin.stock import Attachment, Holding, Stock
    from multinic_ipam.reservation import Reservation

DOUBLE, FOREIGN, MISSING = "double", "foreign", "missing"
REPAIR = "`ipam check --repair`"
KINDS = (DOUBLE, MISSING, DAMAGED, FOREIGN, ORPHANED, STALE)  # the worst first


class Finding(Value):
    """One thing that is wrong, what a person can do, and what it is about, for the repair.

    `subject` is an address, an attachment ("network containerID:ifname") or a file's path below the
    data directory.
    """

    kind: str
    subject: str
    problem: str
    advice: str
    attachment: Attachment | None = None
    holding: Holding | None = None
    reservation: Reservation | None = None
    unfinished: str = ""


def check_store(data_dir: str) -> list[Finding]:
    """Return all that is wrong. What a call is just at work on is not. Raises CniError, OSError."""
    stock = inspect(data_dir)
    found = [each for part in PARTS for each in part(stock) if _is_settled(data_dir, each)]
    return sorted(found, key=lambda each: (KINDS.index(each.kind), each.subject))


def attachment_of(path: str) -> tuple[str, str] | None:
    """Return network and key of the record that an unfinished file was to become."""
    folder, _, rest = path.partition("/")
    network, _, name = rest.partition("/")
    end = RECORD + UNFINISHED
    if folder != ATTACHMENTS or not name.startswith(".") or not name.endswith(end):
        return None
    return network, name[1 : -len(end)]


def _doubles(stock: Stock) -> Iterator[Finding]:
    advice = "delete one of the pods"
    living: dict[str, list[Attachment]] = {}
    for attachment in stock.attachments:
        if attachment.record and attachment.lives:
            for reservation in attachment.record.reservations:
                living.setdefault(reservation.address, []).append(attachment)
    for address, pods in living.items():
        if len(pods) > 1:
            named = ", ".join(f"{each.pod} ({each.network})" for each in pods)
            problem = f"{len(pods)} living pods have it: {named}"
            yield Finding(kind=DOUBLE, subject=address, problem=problem, advice=advice)
    blocks: dict[str, list[str]] = {}
    for holding in stock.holdings:
        blocks.setdefault(holding.reservation.address, []).append(holding.reservation.block)
    for address, own in blocks.items():
        if len(own) > 1:
            problem = f"is reserved in {len(own)} blocks: {', '.join(own)}"
            advice = "give the networks disjoint blocks, or the same"
            yield Finding(kind=DOUBLE, subject=address, problem=problem, advice=advice)


def _missing(stock: Stock) -> Iterator[Finding]:
    files = {(each.reservation.block, each.reservation.address): each for each in stock.holdings}
    for attachment in stock.attachments:
        if attachment.record is None or not attachment.lives:
            continue
        for reservation in attachment.record.reservations:
            holding = files.get((reservation.block, reservation.address))
            if holding and (holding.attachment is attachment or holding.state in {DAMAGED, LIVE}):
                continue  # it is in order, or found elsewhere
            problem = f"pod {attachment.pod} has it, but its file is "
            problem += f"{holding.pod}'s" if holding else "gone"
            free = holding is None or holding.state == ORPHANED
            yield Finding(
                kind=MISSING,
                subject=reservation.address,
                problem=problem,
                advice=f"{REPAIR}, before another pod gets it" if free else "delete the pod",
                attachment=attachment,
                reservation=reservation,
            )


def _damaged(stock: Stock) -> Iterator[Finding]:
    for holding in stock.holdings:
        if holding.state == DAMAGED:
            yield Finding(
                kind=DAMAGED,
                subject=holding.reservation.address,
                problem="its file does not say whose it is",
                advice=holding.keeper or REPAIR,
                holding=holding,
            )
    for attachment in stock.attachments:
        if attachment.damaged:
            yield Finding(
                kind=DAMAGED,
                subject=f"{attachment.network} {attachment.key}",
                problem=attachment.trouble,
                advice="when its pod has gone: `ipam release --force` what it has, then " + REPAIR,
                attachment=attachment,
            )
    for path in stock.unfinished:
        yield Finding(
            kind=DAMAGED,
            subject=path,
            problem="a killed call has left it unfinished",
            advice=REPAIR,
            unfinished=path,
        )


def _foreign(stock: Stock) -> Iterator[Finding]:
    for path, trouble in stock.strangers:
        yield Finding(kind=FOREIGN, subject=path, problem=trouble, advice="move it away")
    for one, other in stock.overlaps:
        yield Finding(
            kind=FOREIGN,
            subject=str(one),
            problem=f"overlaps block {other}: both have addresses in use",
            advice="give the networks disjoint blocks, or the same",
        )
    for attachment in stock.attachments:
        if attachment.record is None and not attachment.damaged:
            yield Finding(
                kind=FOREIGN,
                subject=f"{attachment.network} {attachment.key}",
                problem=attachment.trouble,
                advice="install the release that wrote it",
            )


def _orphaned(stock: Stock) -> Iterator[Finding]:
    for holding in stock.holdings:
        if holding.state == ORPHANED:
            yield Finding(
                kind=ORPHANED,
                subject=holding.reservation.address,
                problem=f"no record names it; its file is {holding.pod}'s",
                advice=holding.keeper or REPAIR,
                holding=holding,
            )


def _stale(stock: Stock) -> Iterator[Finding]:
    for attachment in stock.attachments:
        if attachment.record and not attachment.lives:
            yield Finding(
                kind=STALE,
                subject=f"{attachment.network} {attachment.key}",
                problem=f"pod {attachment.pod} has gone without a DEL",
                advice="`multinic-cni gc`",
                attachment=attachment,
            )
    for holding in stock.holdings:
        if holding.state == STALE and holding.attachment is None:
            yield Finding(
                kind=STALE,
                subject=holding.reservation.address,
                problem=f"host-local has freed it in {holding.source}",
                advice="`multinic-cni gc`",
                holding=holding,
            )


PARTS = (_doubles, _missing, _damaged, _foreign, _orphaned, _stale)


def _is_settled(data_dir: str, finding: Finding) -> bool:
    """Tell whether no call is at work on it, nor was a moment ago.

    A DEL frees the addresses under the store's lock and forgets the record after it; an ADD that
    has ended well writes its record anew without the lock.
    """
    if finding.unfinished:
        place = attachment_of(finding.unfinished)
        is_there = os.path.exists(f"{data_dir}/{finding.unfinished}")
        return is_there and (place is None or not _is_busy(data_dir, *place))
    if finding.attachment:
        network, key = finding.attachment.network, finding.attachment.key
        return not _is_busy(data_dir, network, key) and has_record(data_dir, network, key)
    return True


def _is_busy(data_dir: str, network: str, key: str) -> bool:
    """Tell whether a call holds an attachment's lock; changes nothing, unlike `claim_idle`."""
    path = f"{data_dir}/{ATTACHMENTS}/{network}/{key}{LOCK}"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)
