"""What an earlier call left: told apart from a living attachment, and cleared."""

from __future__ import annotations

import os

from multinic_cni import host
from multinic_cni.errors import ALREADY_ATTACHED, DECODE_FAILURE, CniError
from multinic_cni.log import log
from multinic_cni.netns import PodNetns
from multinic_cni.removal import pod_of, remove
from multinic_cni.reservations import release_all_of
from multinic_ipam.store import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.attachments.claim import Claim
    from multinic_cni.attachments.record import Record
    from multinic_cni.preparation import Plan

PROC = "/proc"


def clear_leftover(claim: Claim, plan: Plan) -> None:
    """Undo what a crash or a lost DEL left of this attachment; CniError 103 if it is alive.

    The specification forbids a second ADD without a DEL between (section 2, "ADD").
    """
    call, conf = plan.call, plan.conf
    record = readable_record(
        claim, conf.data_dir, Owner(call.container_id, call.ifname), plan.deadline
    )
    if record is None:
        return
    if record.complete and is_alive(record):
        message = (
            f"{call.container_id} {call.ifname} is attached to network {conf.name} already:"
            " the runtime must send DEL before another ADD"
        )
        raise CniError(ALREADY_ATTACHED, message)
    log.warning("clearing what an earlier ADD left")
    errors = remove(
        claim,
        record,
        data_dir=conf.data_dir,
        netns=call.netns,
        path=call.path,
        environment=plan.delegation.environment,
        deadline=plan.deadline,
    )
    if errors:
        raise errors[0]


def readable_record(claim: Claim, data_dir: str, owner: Owner, deadline: float) -> Record | None:
    """Read the record; a damaged one is put aside and the owner's addresses are released.

    Its links cannot be known any more: they go with the pod's netns.
    """
    try:
        return claim.read()
    except CniError as error:
        if error.code != DECODE_FAILURE:
            raise
        log.error(error.message)
    claim.quarantine()
    release_all_of(data_dir, deadline, owner)
    return None


def is_alive(record: Record) -> bool:
    """Tell whether the record's netns exists: at its path, or because a process is in it.

    The path may have been unmounted while containers still run; inode numbers are reused, so the
    identity counts and not the name.
    """
    if record.boot_id != host.boot_id():
        return False
    pod = pod_of(record, record.netns)
    if pod is not None:
        pod.close()
        return True
    return any(_is_in(process, record) for process in os.listdir(PROC) if process.isdecimal())


def _is_in(process: str, record: Record) -> bool:
    path = f"{PROC}/{process}/ns/net"
    try:
        status = os.stat(path)
        if (status.st_dev, status.st_ino) != (record.netns_id.device, record.netns_id.inode):
            return False
        pod = PodNetns(path)
    except OSError:
        return False  # it has ended since
    same = pod.id.is_same(record.netns_id)
    pod.close()
    return same
