"""STATUS: whether an ADD could be served now (specification, section 2, "STATUS")."""

from __future__ import annotations

import time

from multinic_cni.addressing import ipam_without_nic, uses_store
from multinic_cni.choosing import choose_for_nobody
from multinic_cni.conf.netconf import read_net_conf
from multinic_cni.delegates import chain_confs, executables
from multinic_cni.delegation import ask_if_supported, delegation_without_pod
from multinic_cni.errors import (
    LIMITED_CONNECTIVITY,
    NO_NICS,
    NOT_AVAILABLE,
    CniError,
    io_failure,
)
from multinic_cni.execution import drive
from multinic_cni.host import Host
from multinic_cni.preparation import wanted_pools
from multinic_cni.reservations import Want, choose_all, with_store
from multinic_cni.upkeep.moved_shares import refuse_moved_shares
from multinic_cni.upkeep.reboot import reclaim_after_boot
from multinic_cni.upkeep.sweeping import after_sweep
from multinic_cni.versions import require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.invocation import Invocation
    from multinic_ipam.store import Store
    from multinic_selectors.candidates import Choice


def status(call: Invocation, document: object) -> None:
    """Raise CniError 50 with every reason why an ADD would fail, 51 if pods suffer already."""
    conf = read_net_conf(document, call.called_as)
    require(conf.cni_version, "1.1.0", "STATUS")
    deadline = time.monotonic() + conf.timeout
    errors = _problems(call, conf, deadline)
    if errors:
        impaired = any(error.code == LIMITED_CONNECTIVITY for error in errors)
        code = LIMITED_CONNECTIVITY if impaired else NOT_AVAILABLE
        raise CniError(code, "; ".join(error.message for error in errors))


def _problems(call: Invocation, conf: NetConf, deadline: float) -> list[CniError]:
    host = Host()
    choices, errors = _choices(conf, host)
    errors += _store_problems(conf, choices, host, deadline)
    delegation = delegation_without_pod(call.path)
    nic = choices[0].nic.name if choices else None
    confs = chain_confs(conf, nic, ipam_without_nic(conf))
    errors += delegation.missing(executables(confs))
    tasks = [ask_if_supported(delegation, "STATUS", each) for each in confs]
    answers = drive(tasks, deadline, conf.max_parallel)
    return errors + [error for error in answers if error is not None]


def _choices(conf: NetConf, host: Host) -> tuple[Sequence[Choice], list[CniError]]:
    try:
        return choose_for_nobody(conf, host).chosen, []
    except CniError as error:
        if error.code != NO_NICS:
            return [], [error]  # pods that are attached have what they had
        return [], [CniError(LIMITED_CONNECTIVITY, error.message)]  # they have lost NICs, too


def _store_problems(
    conf: NetConf, choices: Sequence[Choice], host: Host, deadline: float
) -> list[CniError]:
    """Lock and write the store, and choose an address for each NIC without reserving it.

    What a stale pod holds is no reason: an ADD would free it.
    """
    try:
        reclaim_after_boot(conf.data_dir, deadline)
        with_store(conf.data_dir, deadline, lambda store: store.prove_writable())
        if uses_store(conf):
            wants = [
                Want(nic=nic, alternatives=pools, cooldown=conf.ipam.get("cooldown") or 0)
                for nic, pools in wanted_pools(conf, choices, host)
            ]

            def choose_for_all(store: Store) -> None:
                refuse_moved_shares(store.root, conf.data_dir, conf.name, wants)
                choose_all(store, wants)

            after_sweep(
                conf.data_dir,
                deadline,
                lambda: with_store(conf.data_dir, deadline, choose_for_all),
            )
    except CniError as error:
        return [error]
    except OSError as error:
        return [io_failure("use the address store", error)]
    return []
