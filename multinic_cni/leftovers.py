"""What an earlier call left: told apart from a living attachment, and cleared."""

from __future__ import annotations

import time

from multinic_cni.attachments.claim import claim_idle
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.delegation import environment_for_delegates
from multinic_cni.errors import ALREADY_ATTACHED, CniError
from multinic_cni.liveness import Living
from multinic_cni.log import log
from multinic_cni.releasing import release_all_of
from multinic_cni.removal import remove
from multinic_cni.reservations import with_store
from multinic_cni.upkeep import backlog
from multinic_ipam.reservation import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from multinic_cni.attachments.claim import Claim
    from multinic_cni.attachments.record import Record
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.invocation import Invocation
    from multinic_ipam.store import Store

BACKLOG_SECONDS = 3.0


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
    if record.complete and Living().has(record):
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


def put_aside(claim: Claim, data_dir: str, network: str, key: str, deadline: float) -> None:
    """Put a damaged record aside and release the owner's addresses.

    Its links cannot be known any more: they go with the pod's netns. The addresses go first: should
    we be killed in between, the record still says that there is something to do.
    """
    container_id, _, ifname = key.partition(":")
    release_all_of(data_dir, network, Owner(container_id, ifname), deadline)
    claim.quarantine()


def clear_stale(
    data_dir: str,
    network: str,
    key: str,
    path: tuple[str, ...],
    deadline: float,
    *,
    unless: Callable[[Record], bool] = lambda _record: False,
) -> list[CniError] | None:
    """Undo an attachment of which no DEL is to come, unless a call is at work on it.

    Returns the errors after which it stays recorded, None if a call has it. Raises CniError,
    OSError.
    """
    held = claim_idle(data_dir, network, key)
    if held is None:
        log.info("attachment is busy, left alone", attachment=key)
        return None
    try:
        try:
            record = held.read()
        except DamagedRecordError as error:
            log.error(str(error))
            put_aside(held, data_dir, network, key, deadline)
            return []
        if record is None or unless(record):
            return []
        log.info("clearing stale attachment", attachment=key, pod=record.pod)
        return remove(
            held,
            record,
            data_dir=data_dir,
            netns="",
            path=path,
            environment=environment_for_delegates(),
            deadline=deadline,
        )
    finally:
        held.close()


def work_off_backlog(data_dir: str, path: tuple[str, ...], deadline: float) -> None:
    """DEL the delegates of two attachments whose addresses are free already.

    What fails is logged and goes back: a later call tries again.
    """
    if backlog.is_empty(data_dir):
        return
    deadline = min(deadline, time.monotonic() + BACKLOG_SECONDS)
    try:
        taken = with_store(data_dir, deadline, _take_two)
        failed = [each for each in taken if not _is_cleared(data_dir, each, path, deadline)]
        if failed:
            with_store(data_dir, deadline, lambda store: backlog.put_back(store.root, failed))
    except CniError as error:
        log.error(f"backlog: {error.message}")


def _take_two(store: Store) -> list[tuple[str, str]]:
    return backlog.take(store.root, 2)


def _is_cleared(
    data_dir: str, attachment: tuple[str, str], path: tuple[str, ...], deadline: float
) -> bool:
    network, key = attachment
    alive = Living().has  # it may have been attached anew since
    try:
        errors = clear_stale(data_dir, network, key, path, deadline, unless=alive)
    except FileNotFoundError:
        return True  # the network's folder has gone, and all with it
    except (CniError, OSError) as failure:
        log.error(f"stale attachment {key}: {failure}")
        return False
    for error in errors or ():
        log.error(f"stale attachment {key}: {error.message}")
    return errors == []
