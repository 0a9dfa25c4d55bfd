"""GC: remove every attachment that the runtime does not list (specification, section 2, "GC")."""

from __future__ import annotations

import time

from multinic_cni.addressing import ipam_without_nic
from multinic_cni.attachments.claim import (
    claim_idle,
    has_record,
    key_of,
    keys,
    networks,
    peek,
)
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.conf.netconf import read_net_conf
from multinic_cni.delegates import chain_confs
from multinic_cni.delegation import (
    ask_if_supported,
    delegation_without_pod,
    environment_for_delegates,
)
from multinic_cni.errors import CniError, io_failure, join_errors
from multinic_cni.execution import drive
from multinic_cni.leftovers import put_aside
from multinic_cni.log import log
from multinic_cni.removal import remove
from multinic_cni.reservations import with_store
from multinic_cni.versions import require
from multinic_ipam.reservation import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.invocation import Invocation
    from multinic_ipam.store import Store

    Valid = frozenset[tuple[str, str]]


def gc(call: Invocation, document: object) -> None:
    """Clear what is stale; CniError with all failures at the end.

    No list means do nothing: libcni's own tool sends none, and an absent list is not an empty one.
    """
    conf = read_net_conf(document, call.called_as)
    require(conf.cni_version, "1.1.0", "GC")
    if conf.valid_attachments is None:
        return
    valid = frozenset(conf.valid_attachments)
    deadline = time.monotonic() + conf.timeout
    errors = _clear_stale(call, conf, valid, deadline)
    for phase in (_release_orphans, _forward):
        try:
            errors += phase(call, conf, valid, deadline)
        except CniError as error:
            errors.append(error)
        except OSError as error:
            errors.append(io_failure("collect garbage", error))
    if errors:
        raise join_errors(errors)


def _clear_stale(call: Invocation, conf: NetConf, valid: Valid, deadline: float) -> list[CniError]:
    errors: list[CniError] = []
    for key in keys(conf.data_dir, conf.name):
        container_id, _, ifname = key.partition(":")
        if (container_id, ifname) in valid:
            continue
        try:
            errors += _clear(call, conf, key, Owner(container_id, ifname), deadline)
        except CniError as error:
            errors.append(error)
        except OSError as error:
            errors.append(io_failure(f"clear attachment {key}", error))
    return errors


def _clear(
    call: Invocation, conf: NetConf, key: str, owner: Owner, deadline: float
) -> list[CniError]:
    held = claim_idle(conf.data_dir, conf.name, key)
    if held is None:
        log.info("attachment is busy, left alone", attachment=key)
        return []
    try:
        try:
            record = held.read()
        except DamagedRecordError as error:
            log.error(str(error))
            put_aside(held, conf.data_dir, owner, deadline)
            return []
        if record is None:
            return []
        log.info("clearing stale attachment", attachment=key, pod=record.pod)
        return remove(
            held,
            record,
            data_dir=conf.data_dir,
            netns="",
            path=call.path,
            environment=environment_for_delegates(),
            deadline=deadline,
        )
    finally:
        held.close()


def _release_orphans(
    _call: Invocation, conf: NetConf, valid: Valid, deadline: float
) -> list[CniError]:
    """Release reservations that no record names.

    The store's lock is held: every ADD writes its record before its address files, under it.
    """
    known = networks(conf.data_dir)

    def work(store: Store) -> None:
        for reservation, owner in list(store.reservations()):
            if owner is None:
                log.error("address file is damaged", address=reservation.address)
                continue
            key = key_of(owner.container_id, owner.ifname)
            recorded = any(has_record(conf.data_dir, network, key) for network in known)
            if not recorded and (owner.container_id, owner.ifname) not in valid:
                log.warning("releasing an address without an owner", address=reservation.address)
                store.release([reservation], owner)

    with_store(conf.data_dir, deadline, work)
    return []


def _forward(call: Invocation, conf: NetConf, valid: Valid, deadline: float) -> list[CniError]:
    """Send GC to each delegate that knows it, with the list of the names that it was given."""
    expanded = [
        {"containerID": container_id, "ifname": inner}
        for container_id, ifname in sorted(valid)
        for inner in _inner_names(conf, container_id, ifname)
    ]
    lists = {"cni.dev/valid-attachments": expanded, "cni.dev/attachments": expanded}
    delegation = delegation_without_pod(call.path)
    tasks = [
        ask_if_supported(delegation, "GC", {**template, **lists})
        for template in chain_confs(conf, None, ipam_without_nic(conf))
    ]
    errors = drive(tasks, deadline, conf.max_parallel)
    return [error for error in errors if error is not None]


def _inner_names(conf: NetConf, container_id: str, ifname: str) -> list[str]:
    try:
        record = peek(conf.data_dir, conf.name, key_of(container_id, ifname))
    except (CniError, DamagedRecordError, OSError, ValueError) as error:
        log.error(f"valid attachment {container_id} {ifname}: {error}")
        record = None
    return [nic.ifname for nic in record.nics] if record else [ifname]
