"""STATUS: whether an ADD could be served now (specification, section 2, "STATUS")."""

from __future__ import annotations

import os
import time

from multinic_cni import host
from multinic_cni.addressing import host_index, ipam_without_nic, pools_of, uses_store
from multinic_cni.conf.netconf import read_net_conf
from multinic_cni.conf.node import read_node
from multinic_cni.delegates import chain_confs, executables
from multinic_cni.delegation import (
    Call,
    Delegation,
    ask,
    delegate_environment,
    not_found,
    spoken_versions,
)
from multinic_cni.errors import (
    INCOMPATIBLE_VERSION,
    LIMITED_CONNECTIVITY,
    NOT_AVAILABLE,
    CniError,
    io_failure,
)
from multinic_cni.execution import drive
from multinic_cni.log import log
from multinic_cni.plan import admin_of
from multinic_cni.reservations import with_store
from multinic_cni.versions import at_least
from multinic_selectors.selection import SelectionError, Wish, select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.execution import Task
    from multinic_cni.invocation import Invocation
    from multinic_selectors.selection import Choice


def status(call: Invocation, document: object) -> None:
    """Raise CniError 50 with every reason why an ADD would fail, 51 if pods suffer already."""
    conf = read_net_conf(document, call.called_as)
    if not at_least(conf.cni_version, "1.1.0"):
        message = f"STATUS needs cniVersion 1.1.0 or later, not {conf.cni_version}"
        raise CniError(INCOMPATIBLE_VERSION, message)
    log.configure(file=conf.log_file, level=conf.log_level)
    deadline = time.monotonic() + conf.timeout
    errors = _problems(call, conf, deadline)
    if errors:
        impaired = any(error.code == LIMITED_CONNECTIVITY for error in errors)
        code = LIMITED_CONNECTIVITY if impaired else NOT_AVAILABLE
        raise CniError(code, "; ".join(error.message for error in errors))


def _problems(call: Invocation, conf: NetConf, deadline: float) -> list[CniError]:
    errors: list[CniError] = []
    try:
        nics = host.nics()
        choices = select(nics, admin_of(conf), Wish()).chosen
        node = [(version, number) for nic in nics for version, number, _ in nic.addresses]
        errors += _store_problems(conf, choices, node, deadline)
    except SelectionError as error:
        # Existing pods have lost NICs too.
        return [CniError(LIMITED_CONNECTIVITY, str(error))]
    except CniError as error:
        return [error]
    delegation = Delegation(
        container_id="",
        netns="",
        path=call.path,
        cni_args="",
        environment=delegate_environment(os.environ),
    )
    confs = chain_confs(conf, choices[0].nic.name, ipam_without_nic(conf))
    missing = [kind for kind in executables(confs) if delegation.find(kind) is None]
    errors += [not_found(kind, call.path) for kind in missing]
    tasks = [_ask(delegation, each) for each in confs if each["type"] not in missing]
    return errors + [error for error in drive(tasks, deadline) if error is not None]


def _store_problems(
    conf: NetConf, choices: Sequence[Choice], node: list[tuple[int, int]], deadline: float
) -> list[CniError]:
    """Lock and write the store, and choose an address for each NIC without reserving it."""
    try:
        families = []
        if uses_store(conf):
            index = host_index(conf, read_node(), host.name())
            families = [
                pools for choice in choices for pools in pools_of(conf, choice, index, node)
            ]
        with_store(conf.data_dir, deadline, lambda store: store.prove_usable(families))
    except CniError as error:
        return [error]
    except OSError as error:
        return [io_failure("use the data directory", error)]
    return []


def _ask(delegation: Delegation, conf: Mapping[str, Any]) -> Task[CniError | None]:
    """Ask a delegate; one that does not know STATUS is not unhealthy."""
    versions = yield from spoken_versions(delegation, conf["type"])
    if "1.1.0" not in versions:
        return None
    answer = yield from ask(delegation, Call(command="STATUS", conf=conf, nic="", ifname=""))
    error = answer.error
    if error is None or error.code in {NOT_AVAILABLE, LIMITED_CONNECTIVITY}:
        return error
    unsupported = "unknown CNI_COMMAND" in error.message or error.code == INCOMPATIBLE_VERSION
    return None if unsupported else error
