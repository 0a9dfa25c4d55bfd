"""DEL: undo what the record says, and nothing else (specification, section 2, "DEL").

The conf may have been edited since, the NICs, the netns, the prevResult may be gone: of stdin only
the network's name and the data directory matter.
"""

from __future__ import annotations

import os
import time

from multinic_cni.attachments.claim import claim_for_delete, key_of
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.conf import table
from multinic_cni.conf.formats import absolute_path, network_name
from multinic_cni.delegation import environment_for_delegates
from multinic_cni.errors import BAD_CONF, DECODE_FAILURE, CniError, io_failure, join_errors
from multinic_cni.leftovers import put_aside
from multinic_cni.log import LEVELS, log
from multinic_cni.removal import remove
from multinic_cni.upkeep import sticky
from multinic_cni.upkeep.reboot import reclaim_after_boot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.invocation import Invocation

LONGEST_TIMEOUT = 3600


def delete(call: Invocation, document: object) -> None:
    """Detach the pod; success if there is nothing of it. CniError only when a retry can help."""
    if not isinstance(document, dict):
        raise CniError(DECODE_FAILURE, "the net conf is not a JSON object")
    network = document.get("name")
    problem = network_name(network) if isinstance(network, str) else "is missing"
    if not isinstance(network, str) or problem:
        raise CniError(BAD_CONF, f"name: {problem}")
    level = document.get("logLevel")
    log.configure(file=_path(document, "logFile"), level=level if level in LEVELS else "info")
    data_dir = _path(document, "dataDir") or str(table.NET_CONF_DEFAULTS["dataDir"])
    deadline = time.monotonic() + _timeout(document)
    try:
        _delete(call, network, data_dir, deadline)
    except OSError as error:
        raise io_failure("detach the pod", error) from error


def _delete(call: Invocation, network: str, data_dir: str, deadline: float) -> None:
    _reclaim(data_dir, deadline)
    key = key_of(call.container_id, call.ifname)
    held = claim_for_delete(data_dir, network, key, deadline)
    if held is None:
        log.info("nothing to delete")
        return
    try:
        try:
            record = held.read()
        except DamagedRecordError as error:
            log.error(str(error))
            put_aside(held, data_dir, network, key, deadline)
            return
        if record is None:
            return
        errors = remove(
            held,
            record,
            data_dir=data_dir,
            netns=call.netns,
            path=call.path,
            environment=environment_for_delegates(),
            deadline=deadline,
        )
    finally:
        held.close()
    if errors:
        raise join_errors(errors)
    sticky.refresh(data_dir, record)


def _reclaim(data_dir: str, deadline: float) -> None:
    """Do what the first call after a boot does, if it can be: this pod must go in any case."""
    if not os.path.isdir(data_dir):
        return  # what was never attached leaves no trace
    try:
        reclaim_after_boot(data_dir, deadline)
    except (CniError, OSError) as error:
        log.warning(f"addresses of earlier boots are not freed: {error}")


def _path(document: dict[str, object], key: str) -> str:
    """Return a path of the conf, empty if it is no usable one."""
    value = document.get(key)
    return value if isinstance(value, str) and not absolute_path(value) else ""


def _timeout(document: dict[str, object]) -> int:
    value = document.get("timeout")
    default = table.NET_CONF_DEFAULTS["timeout"]
    usable = value if type(value) is int and 1 <= value <= LONGEST_TIMEOUT else default
    return usable if type(usable) is int else 0
