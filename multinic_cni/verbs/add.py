"""ADD: attach the pod to every chosen NIC, or leave no trace (specification, section 2, "ADD")."""

from __future__ import annotations

import time

from multinic_cni import cancellation
from multinic_cni.attaching import attach
from multinic_cni.attachments.claim import claim, key_of
from multinic_cni.conf.netconf import read_net_conf
from multinic_cni.errors import BAD_ENVIRONMENT, NAME_TAKEN, TRY_AGAIN, CniError, io_failure
from multinic_cni.intent import Intent
from multinic_cni.log import log
from multinic_cni.merge import merge
from multinic_cni.netns import PodNetns
from multinic_cni.preparation import prepare, refuse_own_netns
from multinic_cni.requests import refuse_ignored
from multinic_cni.result import Result
from multinic_cni.upkeep import backlog
from multinic_cni.upkeep.reboot import reclaim_after_boot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.attaching import Attached
    from multinic_cni.attachments.claim import Claim
    from multinic_cni.attachments.record import Record
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.device_info import DeviceInfo
    from multinic_cni.invocation import Invocation
    from multinic_cni.preparation import Plan
    from multinic_cni.routing.visiting import Visit

# The deadline may be what made a roll-back necessary: it has as long again, within these bounds.
SHORTEST_ROLL_BACK, LONGEST_ROLL_BACK = 5.0, 30.0


def add(call: Invocation, document: object) -> tuple[dict[str, object], DeviceInfo | None]:
    """Attach and return the merged result's document; CniError after a whole roll-back.

    The device information is to be written once the runtime has the result: it waits for the
    plugin's end, and an ADD that fails, for want of a reader too, leaves no file.
    """
    refuse_own_netns(call)
    conf = read_net_conf(document, call.called_as)
    deadline = time.monotonic() + conf.timeout
    pod = _open_pod(call.netns)
    try:
        reclaim_after_boot(conf.data_dir, deadline)
        key = key_of(call.container_id, call.ifname)
        held = claim(conf.data_dir, conf.name, key, deadline)
        try:
            readable = not held.has_record() or _clear_leftover(held, call, conf, deadline)
            # Only now: an earlier ADD may have moved a NIC into the pod.
            plan = prepare(call, conf, deadline)
            try:
                _refuse_taken_names(pod, plan.names)
                _make_sure_of_node_routes(plan)
                if not readable:
                    _put_aside(held, conf, key, deadline)
                result = _attach_or_roll_back(held, plan, pod)
            finally:
                plan.end_turn()
        finally:
            held.close()
        if not backlog.is_empty(conf.data_dir):
            _work_off_backlog(conf, call, deadline)
    except OSError as error:
        raise io_failure("attach the pod", error) from error
    finally:
        pod.close()
    return result.to_document(conf.cni_version), plan.device_info


def _clear_leftover(held: Claim, call: Invocation, conf: NetConf, deadline: float) -> bool:
    from multinic_cni.leftovers import clear_leftover  # noqa: PLC0415 - after a crash or a lost DEL

    return clear_leftover(held, call, conf, deadline)


def _put_aside(held: Claim, conf: NetConf, key: str, deadline: float) -> None:
    from multinic_cni.leftovers import put_aside  # noqa: PLC0415 - where a record is damaged

    put_aside(held, conf.data_dir, conf.name, key, deadline)


def _work_off_backlog(conf: NetConf, call: Invocation, deadline: float) -> None:
    from multinic_cni.leftovers import work_off_backlog  # noqa: PLC0415 - after a boot

    work_off_backlog(conf.data_dir, call.path, deadline)


def _open_pod(path: str) -> PodNetns:
    try:
        return PodNetns(path)
    except OSError as error:
        message = f"CNI_NETNS {path} cannot be used: {error.strerror}"
        raise CniError(BAD_ENVIRONMENT, message) from error


def _refuse_taken_names(pod: PodNetns, names: Sequence[str]) -> None:
    """Refuse a clash: a delegate would fail on it, and its DEL remove the other's interface."""
    # A delegate that looks an inner name up would find an altname, too.
    used = {name for link in pod.netlink.links() for name in (link.name, *link.altnames)}
    taken = used.intersection(names)
    if taken:
        message = (
            f"the pod has an interface {', '.join(sorted(taken))} already, which is not this"
            " attachment's: choose another CNI_IFNAME"
        )
        raise CniError(NAME_TAKEN, message)


def _make_sure_of_node_routes(plan: Plan) -> None:
    """Give the node its routes to the other nodes' pods; they are no pod's, and stay."""
    if plan.conf.routing is not None and plan.conf.routing.node_routes:
        from multinic_cni.node_routes import make_sure  # noqa: PLC0415 - where it is asked for

        make_sure(plan.conf, plan.host, plan.deadline)


def _attach_or_roll_back(held: Claim, plan: Plan, pod: PodNetns) -> Result:
    record = _settle_or_roll_back(held, plan, pod)
    held.let_children_inherit()
    started = record
    visit = _visit(held, plan, pod)
    try:
        if visit:
            started = record = visit.begin(record)
        outcomes = attach(record, plan.delegation, plan.deadline)
        started = _started(record, outcomes)
        _raise_first_error(outcomes)
        if plan.conf.mtu:
            _set_mtus(started, plan, pod)
        if visit:
            started = visit.plan(started)
            started = visit.carry_out(started)
        result = _merged(plan, outcomes, pod)
        if visit:
            result = result.but(routes=(*result.routes, *visit.routes(started)))
        held.write(started.but(complete=True))
    except BaseException:
        _roll_back(held, started, plan)
        raise
    if plan.rdma:
        from multinic_cni.rdma_naming import log_attached  # noqa: PLC0415 - where there is RDMA

        log_attached([outcome.nic for outcome in outcomes], plan.rdma)
    return result


def _set_mtus(record: Record, plan: Plan, pod: PodNetns) -> None:
    from multinic_cni.routing.sizes import set_mtus  # noqa: PLC0415 - for confs that ask for it

    set_mtus(record.nics, plan.conf.mtu, pod.netlink)


def _visit(held: Claim, plan: Plan, pod: PodNetns) -> Visit | None:
    """Return what is to be done in the pod beside the delegates' work; None if nothing is."""
    if plan.conf.routing is None and plan.conf.ipam.get("type") != "host-device-ipam":
        return None
    from multinic_cni.routing.visiting import Visit  # noqa: PLC0415 - for confs that ask for it

    return Visit(held, plan, pod)


def _settle_or_roll_back(held: Claim, plan: Plan, pod: PodNetns) -> Record:
    """Settle what is to be done. Nothing was started where that fails: the addresses go back."""
    try:
        return Intent(held, plan, pod).settle()
    except BaseException:
        written = held.read()
        if written is not None:
            nothing = written.but(nics=tuple(nic.but(confs=()) for nic in written.nics))
            _roll_back(held, nothing, plan)
        raise


def _started(record: Record, outcomes: Sequence[Attached]) -> Record:
    """Return the record of what was done: each chain as far as it was executed."""
    return record.but(
        nics=tuple(each.nic.but(confs=each.nic.confs[: each.started]) for each in outcomes)
    )


def _raise_first_error(outcomes: Sequence[Attached]) -> None:
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    for error in errors:
        log.error(error.message)
    if cancellation.cancelled():
        raise CniError(TRY_AGAIN, "the runtime called the plugin off")
    if errors:
        raise errors[0]


def _merged(plan: Plan, outcomes: Sequence[Attached], pod: PodNetns) -> Result:
    links = {link.name: link for link in pod.netlink.links()}
    refuse_ignored(plan.wanted, [outcome.nic for outcome in outcomes], links)
    parts = [(outcome.nic.ifname, outcome.nic.result or Result()) for outcome in outcomes]
    functions = dict(zip(plan.names, plan.functions, strict=True))
    return merge(plan.previous, parts, plan.call.netns, links, plan.conf.dns, functions=functions)


def _roll_back(held: Claim, started: Record, plan: Plan) -> None:
    """Undo what was started. What cannot be undone stays recorded, for DEL to try again."""
    from multinic_cni.removal import remove  # noqa: PLC0415 - where something has failed

    cancellation.ignore_from_now_on()
    log.info("rolling back")
    seconds = min(max(plan.conf.timeout, SHORTEST_ROLL_BACK), LONGEST_ROLL_BACK)
    try:
        errors = remove(
            held,
            started,
            data_dir=plan.conf.data_dir,
            netns=plan.call.netns,
            path=plan.call.path,
            environment=plan.delegation.environment,
            deadline=time.monotonic() + seconds,
        )
    except (CniError, OSError) as failure:
        log.error(f"roll-back failed: {failure}")  # the caller raises what made it necessary
        return
    for error in errors:
        log.error(f"roll-back failed: {error.message}")
