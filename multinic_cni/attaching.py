"""Attach and detach all NICs of a record at once, each through its chain of delegates."""

from __future__ import annotations

from multinic_cni.delegates import (
    FORGETS_IPAM_WITHOUT_NETNS,
    STATELESS_IPAM,
    ipam_type,
    limit_at_once,
)
from multinic_cni.delegation import Call, ask
from multinic_cni.errors import CniError
from multinic_cni.execution import drive
from multinic_cni.log import log
from multinic_cni.result import Result, read_result
from multinic_cni.values import Value
from multinic_cni.versions import NEWEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_cni.delegation import Delegation
    from multinic_cni.execution import Task


class Attached(Value):
    """How one NIC's chain ended; `started` counts the delegates executed, the failed one too."""

    nic: NicRecord
    started: int
    result: Result | None = None
    error: CniError | None = None


def attach(record: Record, delegation: Delegation, deadline: float) -> list[Attached]:
    """Execute ADD of every NIC's chain; never raises for a delegate, each outcome says its error.

    After a failure no other chain starts its next delegate: all will be undone.
    """
    failed: list[str] = []
    tasks = [_attach_nic(nic, delegation, failed) for nic in record.nics]
    return drive(tasks, deadline, _at_once(record))


def _attach_nic(nic: NicRecord, delegation: Delegation, failed: list[str]) -> Task[Attached]:
    previous: dict[str, Any] | None = None
    confs = list(nic.confs)
    result = Result()
    for position, conf in enumerate(confs):
        if failed:
            return Attached(nic=nic, started=position)
        chained = conf if previous is None else {**conf, "prevResult": previous}
        call = Call(command="ADD", conf=chained, nic=nic.nic, ifname=nic.ifname)
        answer = yield from ask(delegation, call)
        confs[position] = {**conf, "cniVersion": answer.conf["cniVersion"]}
        tried = nic.but(confs=tuple(confs))
        error = answer.error
        if error is None:
            try:
                result = read_result(answer.result, f"the result of {call.who}")
            except CniError as unreadable:
                error = unreadable
        if error is not None:
            failed.append(nic.nic)
            return Attached(nic=tried, started=position + 1, error=error)
        previous = result.to_document(answer.conf["cniVersion"])
        nic = tried.but(result=result.to_document(NEWEST))
    return Attached(nic=nic, started=len(confs), result=result)


class Detached(Value):
    """How one NIC's DEL ended; `ipam_pending`: its IPAM may still hold an address."""

    nic: NicRecord
    errors: tuple[CniError, ...]
    ipam_pending: bool


def detach(record: Record, delegation: Delegation, deadline: float) -> list[Detached]:
    """Execute DEL of every NIC's chain, in reverse within it; every delegate gets its own."""
    tasks = [_detach_nic(nic, delegation) for nic in record.nics if nic.confs]
    return drive(tasks, deadline, _at_once(record))


def _at_once(record: Record) -> int | None:
    confs = [conf for nic in record.nics for conf in nic.confs]
    return limit_at_once(confs, record.max_parallel)


def _detach_nic(nic: NicRecord, delegation: Delegation) -> Task[Detached]:
    errors = []
    for conf in reversed(nic.confs):
        answer = yield from ask(delegation, _call("DEL", conf, nic))
        if answer.error is not None:
            errors.append(answer.error)
            log.warning(answer.error.message)
    ipam_pending = False
    kind = ipam_type(nic.confs)
    forgotten = not delegation.netns and nic.confs[0]["type"] in FORGETS_IPAM_WITHOUT_NETNS
    if kind not in STATELESS_IPAM and (errors or forgotten):
        # It may have failed before it came to its IPAM: vlan does when its master is gone.
        conf = {**nic.confs[0], "type": kind}
        answer = yield from ask(delegation, _call("DEL", conf, nic))
        ipam_pending = answer.error is not None
        if answer.error is not None:
            errors.append(answer.error)
    return Detached(nic=nic, errors=tuple(errors), ipam_pending=ipam_pending)


def check(nics: Sequence[NicRecord], delegation: Delegation, deadline: float) -> list[CniError]:
    """Execute CHECK of every NIC's chain; each record's `result` is what its delegates compare."""
    tasks = [_check_nic(nic, delegation) for nic in nics]
    return [error for errors in drive(tasks, deadline) for error in errors]


def _check_nic(nic: NicRecord, delegation: Delegation) -> Task[list[CniError]]:
    errors = []
    for conf in nic.confs:
        answer = yield from ask(delegation, _call("CHECK", conf, nic))
        if answer.error is not None:
            errors.append(answer.error)
    return errors


def _call(command: str, conf: dict[str, Any], nic: NicRecord) -> Call:
    """Give a delegate the conf and the name that it had, and its chain's result as prevResult."""
    if nic.result is not None:
        previous = read_result(nic.result, "the record").to_document(conf["cniVersion"])
        conf = {**conf, "prevResult": previous}
    return Call(command=command, conf=conf, nic=nic.nic, ifname=nic.ifname)
