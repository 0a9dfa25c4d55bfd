"""What an earlier call left: told apart from a living attachment, and cleared."""

from __future__ import annotations

import os

from multinic_cni import host
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.delegation import environment_for_delegates
from multinic_cni.errors import ALREADY_ATTACHED, CniError
from multinic_cni.log import log
from multinic_cni.netns import PodNetns
from multinic_cni.removal import pod_of, remove
from multinic_cni.reservations import release_all_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.attachments.claim import Claim
    from multinic_cni.attachments.record import Record
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.invocation import Invocation
    from multinic_ipam.reservation import Owner

PROC = "/proc"
FIRST_PID_NAMESPACE = 0xEFFFFFFC  # PROC_PID_INIT_INO, include/linux/proc_ns.h


def clear_leftover(claim: Claim, call: Invocation, conf: NetConf, deadline: float) -> bool:
    """Undo what a crash or a lost DEL left of this attachment; CniError 103 if it is alive.

    The specification forbids a second ADD without a DEL between (section 2, "ADD"). Returns False
    if the record is damaged: then nothing is known, so nothing is done.
    """
    try:
        record = claim.read()
    except DamagedRecordError as error:
        log.error(str(error))
        return False
    if record is None:
        return True
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
        environment=environment_for_delegates(),
        deadline=deadline,
    )
    if errors:
        raise errors[0]
    return True


def put_aside(claim: Claim, data_dir: str, owner: Owner, deadline: float) -> None:
    """Put a damaged record aside and release the owner's addresses.

    Its links cannot be known any more: they go with the pod's netns.
    """
    claim.quarantine()
    release_all_of(data_dir, deadline, owner)


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
    if os.stat(f"{PROC}/self/ns/pid").st_ino != FIRST_PID_NAMESPACE:
        return True  # the pod's processes cannot be seen from here
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
