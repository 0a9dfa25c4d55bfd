"""GC: remove every attachment that the runtime does not list (specification, section 2, "GC")."""

from __future__ import annotations

import time

from multinic_cni.addressing import ipam_without_nic
from multinic_cni.attachments.claim import key_of
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.attachments.records import keys, peek
from multinic_cni.conf.netconf import read_net_conf
from multinic_cni.delegates import chain_confs
from multinic_cni.delegation import ask_if_supported, delegation_without_pod
from multinic_cni.errors import CniError, io_failure, join_errors
from multinic_cni.execution import drive
from multinic_cni.leftovers import clear_stale
from multinic_cni.log import log
from multinic_cni.reservations import with_store
from multinic_cni.upkeep.reboot import reclaim_after_boot
from multinic_cni.upkeep.sweeping import Orphans
from multinic_cni.versions import require

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
    errors: list[CniError] = []
    for phase in (_reclaim, _clear_stale, _release_orphans, _forward):
        try:
            errors += phase(call, conf, valid, deadline)
        except CniError as error:
            errors.append(error)
        except OSError as error:
            errors.append(io_failure("collect garbage", error))
    if errors:
        raise join_errors(errors)


def _reclaim(_call: Invocation, conf: NetConf, _valid: Valid, deadline: float) -> list[CniError]:
    reclaim_after_boot(conf.data_dir, deadline)
    return []


def _clear_stale(call: Invocation, conf: NetConf, valid: Valid, deadline: float) -> list[CniError]:
    errors: list[CniError] = []
    for key in keys(conf.data_dir, conf.name):
        container_id, _, ifname = key.partition(":")
        if (container_id, ifname) in valid:
            continue
        try:
            errors += clear_stale(conf.data_dir, conf.name, key, call.path, deadline) or ()
        except CniError as error:
            errors.append(error)
        except OSError as error:
            errors.append(io_failure(f"clear attachment {key}", error))
    return errors


def _release_orphans(
    _call: Invocation, conf: NetConf, valid: Valid, deadline: float
) -> list[CniError]:
    """Release reservations that no record names.

    The store's lock is held: every ADD writes its record before its address files, under it.
    """

    def work(store: Store) -> None:
        orphans = Orphans(conf.data_dir, store)
        for reservation, owner in list(store.reservations()):
            if owner is None:
                log.error("address file is damaged", address=reservation.address)
            elif (owner.container_id, owner.ifname) not in valid and orphans.have(
                reservation, owner
            ):
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
