"""Undo an attachment from its record: DEL's work, and that of GC and of ADD's roll-back."""

from __future__ import annotations

import time

from multinic_cni import host
from multinic_cni.attaching import detach
from multinic_cni.compensation import (
    delete_own_links,
    delete_temporary_links,
    may_have_left,
)
from multinic_cni.delegate_types import TAKE_THE_NIC
from multinic_cni.delegation import Delegation
from multinic_cni.errors import TRY_AGAIN, CniError
from multinic_cni.log import log
from multinic_cni.netns import open_same
from multinic_cni.releasing import release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from multinic_cni.attaching import Detached
    from multinic_cni.attachments.claim import Claim
    from multinic_cni.attachments.record import Record
    from multinic_cni.netns import PodNetns

ORPHAN_PATIENCE = 5.0  # seconds; a helper that a delegate's DEL leaves behind mostly ends at once


def remove(
    claim: Claim,
    record: Record,
    *,
    data_dir: str,
    netns: str,
    path: tuple[str, ...],
    environment: Mapping[str, str],
    deadline: float,
) -> list[CniError]:
    """DEL every delegate, release the addresses, forget the record.

    `netns` and `path` are the runtime's; what the record has is tried too. Returns the errors that
    a retry can mend: then nothing is released and the record stays, since the pod still holds all.
    Raises CniError if the store does not answer.
    """
    pod = pod_of(record, netns)
    if record.complete:
        _say_begun(claim, record)
    try:
        delegation = Delegation(
            container_id=record.container_id,
            netns=pod.path if pod else "",
            path=(*path, *(folder for folder in record.path if folder not in path)),
            cni_args=record.cni_args,
            environment=environment,
        )
        claim.let_children_inherit()
        _take_routes_back(record, pod)
        replaced = _replaced_nics(record, pod)
        outcomes = _detach(record, delegation, replaced, deadline)
        still_there = _bring_nics_home(record, pod, data_dir, deadline)
        if pod and not record.complete:
            delete_temporary_links(record, pod)
        pending = still_there + _worth_a_retry(outcomes, replaced, pod)
    finally:
        if pod:
            pod.close()
    patience = min(ORPHAN_PATIENCE, max(0.0, deadline - time.monotonic()))
    if claim.has_orphans(patience) and not pending:
        message = "a process that a delegate left behind still runs, and may undo the DEL"
        pending = [CniError(TRY_AGAIN, message)]
    if pending:
        return pending
    release(data_dir, deadline, record)
    claim.forget()
    return []


def _take_routes_back(record: Record, pod: PodNetns | None) -> None:
    """Undo what was set in the pod beside the delegates' work; the netns takes the rest with it."""
    if not pod or not record.routing:
        return
    from multinic_cni.routing.leaving import take_back  # noqa: PLC0415 - where something was set

    take_back(record, pod)


def _takes_nics(record: Record) -> bool:
    """Tell whether NICs themselves went into the pod. A boot brings home all that there are."""
    takes = any(nic.confs and nic.confs[0]["type"] in TAKE_THE_NIC for nic in record.nics)
    return takes and record.boot_id == host.boot_id()


def _replaced_nics(record: Record, pod: PodNetns | None) -> set[str]:
    """Return the inner names that the pod has given to other links than the NICs."""
    if not pod or not _takes_nics(record):
        return set()
    from multinic_cni.handover.returning import replaced_in  # noqa: PLC0415 - if NICs were moved

    return replaced_in(pod, record)


def _detach(
    record: Record, delegation: Delegation, replaced: set[str], deadline: float
) -> list[Detached]:
    """Execute DEL of all delegates; those of replaced NICs must not see what the pod has there."""
    if not replaced:
        return detach(record, delegation, deadline)
    own, others = (
        record.but(nics=tuple(nic for nic in record.nics if (nic.ifname in replaced) is told))
        for told in (False, True)
    )
    blind = delegation.but(netns="")
    return [*detach(own, delegation, deadline), *detach(others, blind, deadline)]


def _bring_nics_home(
    record: Record, pod: PodNetns | None, data_dir: str, deadline: float
) -> list[CniError]:
    if not _takes_nics(record):
        return []
    from multinic_cni.handover.returning import Return  # noqa: PLC0415 - see above

    return Return(record, pod, data_dir).bring_home(deadline)


def _say_begun(claim: Claim, record: Record) -> None:
    """Record that it lives no more: if we are killed now, a fresh ADD may clear it."""
    try:
        claim.write(record.but(complete=False))
    except OSError as error:
        # A full disk must not keep a pod from being deleted.
        log.warning("record not updated", reason=error.strerror)


def pod_of(record: Record, netns: str) -> PodNetns | None:
    """Open the pod's netns if it is still the one of the record; None if it is gone.

    Raises OSError where the kernel does not tell. Inode numbers begin anew at a boot.
    """
    if record.boot_id != host.boot_id():
        return None
    return open_same((netns, record.netns), record.netns_id)


def _worth_a_retry(
    outcomes: list[Detached], replaced: set[str], pod: PodNetns | None
) -> list[CniError]:
    """Return the errors after which something may be left.

    That is a link in the pod, if it is not the pod's own, an IPAM's address, or what a delegate
    keeps on the node. Others are history: the NIC has vanished and its children with it, or the
    netns is gone.
    """
    failed = [outcome for outcome in outcomes if outcome.errors]
    links = pod.netlink.links() if pod and failed else []
    names = {link.name for link in links} - replaced
    left = {outcome.nic.ifname for outcome in failed if outcome.nic.ifname in names}
    if pod and left:
        left -= delete_own_links([outcome.nic for outcome in failed], links, pod)
    pending: list[CniError] = []
    for outcome in failed:
        keeps_something = any(may_have_left(kind, outcome.nic) for kind, _ in outcome.errors)
        if outcome.ipam_pending or keeps_something or outcome.nic.ifname in left:
            pending += [error for _, error in outcome.errors]
        else:
            log.warning("delegate failed, but nothing is left", ifname=outcome.nic.ifname)
    return pending
