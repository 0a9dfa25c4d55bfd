"""Undo an attachment from its record: DEL's work, and that of GC and of ADD's roll-back."""

from __future__ import annotations

from errno import EINVAL, ENOENT, ENOTDIR

from multinic_cni import host
from multinic_cni.attaching import detach
from multinic_cni.delegates import LEAVE_NOTHING, MAKE_A_LINK
from multinic_cni.delegation import Delegation
from multinic_cni.errors import TRY_AGAIN, CniError
from multinic_cni.log import log
from multinic_cni.netns import PodNetns, is_own
from multinic_cni.reservations import release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from multinic_cni.attaching import Detached
    from multinic_cni.attachments.claim import Claim
    from multinic_cni.attachments.record import Record
    from multinic_cni.netlink import Link

# The path has gone, or is the plain file that was below the mount (EINVAL).
GONE = frozenset({ENOENT, ENOTDIR, EINVAL})


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
    if record.complete:
        _say_begun(claim, record)
    pod = pod_of(record, netns)
    try:
        delegation = Delegation(
            container_id=record.container_id,
            netns=pod.path if pod else "",
            path=(*path, *(folder for folder in record.path if folder not in path)),
            cni_args=record.cni_args,
            environment=environment,
        )
        claim.let_children_inherit()
        outcomes = detach(record, delegation, deadline)
        pending = _worth_a_retry(outcomes, pod)
    finally:
        if pod:
            pod.close()
    if claim.has_orphans() and not pending:
        message = "a process that a delegate left behind still runs, and may undo the DEL"
        pending = [CniError(TRY_AGAIN, message)]
    if pending:
        return pending
    release(data_dir, deadline, record)
    claim.forget()
    return []


def _say_begun(claim: Claim, record: Record) -> None:
    """Record that it lives no more: if we are killed now, a fresh ADD may clear it."""
    try:
        claim.write(record.but(complete=False))
    except OSError as error:
        # A full disk must not keep a pod from being deleted.
        log.warning("record not updated", reason=error.strerror)


def pod_of(record: Record, netns: str) -> PodNetns | None:
    """Open the pod's netns if it is still the one of the record; None if it is gone.

    A path can name another pod's by now, and inode numbers begin anew at a boot. Raises OSError
    where the kernel does not tell: that is not the same as gone.
    """
    if record.boot_id != host.boot_id():
        return None
    for path in dict.fromkeys((netns, record.netns)):
        if not path or is_own(path):
            continue
        try:
            pod = PodNetns(path)
        except OSError as error:
            if error.errno not in GONE:
                raise
            continue
        if pod.id.is_same(record.netns_id):
            return pod
        pod.close()
    return None


def _worth_a_retry(outcomes: list[Detached], pod: PodNetns | None) -> list[CniError]:
    """Return the errors after which something may be left.

    That is a link in the pod, an IPAM's address, or what a delegate keeps on the node. Others are
    history: the NIC has vanished and its children with it, or the netns is gone.
    """
    failed = [outcome for outcome in outcomes if outcome.errors]
    links = {link.name: link for link in pod.netlink.links()} if pod and failed else {}
    left = {outcome.nic.ifname for outcome in failed if outcome.nic.ifname in links}
    if pod:
        left -= _delete_links([links[name] for name in left], failed, pod)
    pending: list[CniError] = []
    for outcome in failed:
        keeps_something = any(kind not in LEAVE_NOTHING for kind, _ in outcome.errors)
        if outcome.ipam_pending or keeps_something or outcome.nic.ifname in left:
            pending += [error for _, error in outcome.errors]
        else:
            log.warning("delegate failed, but nothing is left", ifname=outcome.nic.ifname)
    return pending


def _delete_links(links: list[Link], failed: list[Detached], pod: PodNetns) -> set[str]:
    """Delete links whose delegate could not, and return the names of those that are gone.

    macvlan and vlan refuse a DEL when their master has another name by now, any plugin when it has
    been removed from the node. Only what such a delegate has made is deleted: never a NIC.
    """
    made = {outcome.nic.ifname: outcome.nic.confs[0]["type"] for outcome in failed}
    gone = set()
    for link in links:
        if link.kind != made[link.name] or link.kind not in MAKE_A_LINK:
            continue
        try:
            pod.netlink.delete_link(link.index)
        except OSError as error:
            log.warning("link cannot be deleted", ifname=link.name, reason=error.strerror)
        else:
            log.warning("link deleted, which its delegate did not", ifname=link.name)
            gone.add(link.name)
    return gone
