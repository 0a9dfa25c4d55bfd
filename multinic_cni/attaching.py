"""Attach and detach all NICs of a record at once, each through its chain of delegates."""

from __future__ import annotations

from multinic_cni.answers import Call
from multinic_cni.delegate_types import FORGETS_IPAM_WITHOUT_NETNS, STATELESS_IPAM
from multinic_cni.delegates import ipam_type, limit_at_once
from multinic_cni.delegation import ask
from multinic_cni.errors import DELEGATE_FAILED, CniError
from multinic_cni.execution import drive
from multinic_cni.log import log
from multinic_cni.result import Result, read_result
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.answers import Answer
    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_cni.delegation import Delegation
    from multinic_cni.execution import Task


class Attached(Value):
    """How one NIC's chain ended; `started` counts the delegates executed, the failed one too."""

    nic: NicRecord
    started: int
    error: CniError | None = None


def attach(record: Record, delegation: Delegation, deadline: float) -> list[Attached]:
    """Execute ADD of every NIC's chain; never raises for a delegate, each outcome says its error.

    After a failure no other chain starts its next delegate: all will be undone.
    """
    failed: list[str] = []
    tasks = [_attach_nic(nic, delegation, failed) for nic in record.nics]
    return drive(tasks, deadline, _at_once(record))


def _attach_nic(nic: NicRecord, delegation: Delegation, failed: list[str]) -> Task[Attached]:
    confs = list(nic.confs)
    for position, conf in enumerate(confs):
        if failed:
            return Attached(nic=nic, started=position)
        call = Call(command="ADD", conf=conf, nic=nic.nic, ifname=nic.ifname, previous=nic.result)
        answer = yield from ask(delegation, call)
        confs[position] = answer.conf
        nic = nic.but(confs=tuple(confs))
        try:
            result = _result_of(answer, call)
        except CniError as error:
            failed.append(nic.nic)
            return Attached(nic=nic, started=position + 1, error=error)
        nic = nic.but(result=result)
    return Attached(nic=nic, started=len(confs))


def _result_of(answer: Answer, call: Call) -> Result:
    if answer.error is not None:
        raise answer.error
    try:
        return read_result(answer.result, "its result")
    except CniError as error:
        message = f"{call.who} ended well, but {error.message}"
        raise CniError(DELEGATE_FAILED, message) from None


class Detached(Value):
    """How one NIC's DEL ended: (type, error) of delegates that failed.

    `ipam_pending`: its IPAM may still hold an address.
    """

    nic: NicRecord
    errors: tuple[tuple[str, CniError], ...]
    ipam_pending: bool


def detach(record: Record, delegation: Delegation, deadline: float) -> list[Detached]:
    """Execute DEL of every NIC's chain, in reverse within it; every delegate gets its own."""
    tasks = [_detach_nic(nic, delegation) for nic in record.nics if nic.confs]
    return drive(tasks, deadline, _at_once(record))


def _detach_nic(nic: NicRecord, delegation: Delegation) -> Task[Detached]:
    errors = []
    for conf in reversed(nic.confs):
        answer = yield from ask(delegation, _call("DEL", conf, nic))
        if answer.error is not None:
            errors.append((conf["type"], answer.error))
            log.warning(answer.error.message)
    ipam_pending = False
    kind = ipam_type(nic.confs)
    forgotten = not delegation.netns and nic.confs[0]["type"] in FORGETS_IPAM_WITHOUT_NETNS
    if kind not in STATELESS_IPAM and (errors or forgotten):
        # It may have failed before it came to its IPAM: vlan does when its master is gone.
        conf = {**nic.confs[0], "type": kind}
        answer = yield from ask(delegation, _call("DEL", conf, nic))
        if answer.error is not None:
            ipam_pending = True
            errors.append((kind, answer.error))
    return Detached(nic=nic, errors=tuple(errors), ipam_pending=ipam_pending)


def check(record: Record, delegation: Delegation, deadline: float) -> list[CniError]:
    """Execute CHECK of every NIC's chain; each NIC's `result` is what its delegates compare."""
    tasks = [_check_nic(nic, delegation) for nic in record.nics]
    return [error for errors in drive(tasks, deadline, _at_once(record)) for error in errors]


def _check_nic(nic: NicRecord, delegation: Delegation) -> Task[list[CniError]]:
    errors = []
    for conf in nic.confs:
        answer = yield from ask(delegation, _call("CHECK", conf, nic))
        if answer.error is not None:
            errors.append(answer.error)
    return errors


def _call(command: str, conf: dict[str, object], nic: NicRecord) -> Call:
    """Give a delegate the conf and the name that it had, and its chain's result as prevResult."""
    return Call(command=command, conf=conf, nic=nic.nic, ifname=nic.ifname, previous=nic.result)


def _at_once(record: Record) -> int | None:
    confs = [conf for nic in record.nics for conf in nic.confs]
    return limit_at_once(confs, record.max_parallel)
