"""What an ADD would do by a net conf, found out on its own way, but nothing is changed for it."""

from __future__ import annotations

from errno import EROFS

from multinic_cni.addressing import ipam_block, uses_store
from multinic_cni.assignment import assign
from multinic_cni.choosing import (
    COUNTING,
    choose,
    looks_at_devices,
    pods_that_went_may_be_why,
)
from multinic_cni.conf.netconf import problems_in, read_net_conf
from multinic_cni.conflicts import uneven_mtus, use_of
from multinic_cni.delegates import chain_confs, link_for_delegate
from multinic_cni.errors import BAD_CONF, BAD_ENVIRONMENT, CniError, io_failure
from multinic_cni.invocation import Invocation, ifname_problem
from multinic_cni.liveness import loads_of_the_living
from multinic_cni.nic_uses import NicUse, begin_use
from multinic_cni.plan import inner_names
from multinic_cni.pod_devices import not_nics
from multinic_cni.pod_devices.functions import Functions
from multinic_cni.preparation import functions_of, nic_shares
from multinic_cni.requests import for_delegates, read_requests, without_served
from multinic_cni.reservations import Want, choose_all, in_store
from multinic_cni.result import read_result
from multinic_cni.upkeep.moved_shares import refuse_moved_shares
from multinic_cni.values import Value
from multinic_ipam.preview import Preview
from multinic_ipam.reservation import Owner
from multinic_selectors.candidates import SelectionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from multinic_cni.admin.node import Node
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.delegates import Wanted
    from multinic_cni.host import Host
    from multinic_cni.requests import Requests
    from multinic_cni.reservations import Addresses
    from multinic_cni.sharing import NicShares
    from multinic_ipam.store import Store
    from multinic_selectors.candidates import Choice
    from multinic_selectors.loads import Load
    from multinic_selectors.rdma import RdmaPort
    from multinic_selectors.selection import Selection

NOBODY = "explain"  # the containerID of a pod that is none


class Question(Value):
    """What the pod would ask for, by `cni-args`; its devices, by any of their ids; CNI_IFNAME."""

    nics: int | None = None
    class_name: str = ""
    target: str = ""
    devices: Sequence[str] = ()
    ifname: str = "net1"


class Forecast:
    """What becomes of a net conf, as far as it goes: what an `error` comes before is not there.

    `rdma`, `names`, `addresses` and `confs` go with the chosen NICs. `refused` are the others, with
    why not; `missing` the entries of the conf that fit no NIC.
    """

    def __init__(self) -> None:
        self.conf: NetConf | None = None
        self.devices: Sequence[str] = ()
        self.loads: Mapping[str, Load] = {}
        self.selection: Selection | None = None
        self.refused: Sequence[tuple[str, str]] = ()
        self.missing: Sequence[tuple[str, str]] = ()
        self.rdma: Sequence[Sequence[RdmaPort]] = ()
        self.names: Sequence[str] = ()
        self.shares: Sequence[NicShares] = ()
        self.addresses: Addresses = []
        self.confs: Sequence[Sequence[Mapping[str, Any]]] = ()
        self.notes: list[str] = []
        self.error: CniError | None = None

    @property
    def chosen(self) -> Sequence[Choice]:
        return self.selection.chosen if self.selection else ()

    @property
    def why(self) -> Mapping[str, str]:
        """What speaks for the chosen NICs, where the strategy compares."""
        return dict(self.selection.why) if self.selection else {}


def forecast(document: object, question: Question, node: Node) -> Forecast:
    """Go the way of an ADD until it would change something."""
    found = Forecast()
    try:
        called_as = document.get("type") if isinstance(document, dict) else None
        read = read_net_conf(
            _asked(_without_log(document), question),
            called_as if isinstance(called_as, str) else "",
        )
        conf = found.conf = read.but(data_dir=node.path(read.data_dir))
        _choose(found, conf, question, node)
        requests, wanted = _name(found, conf, question)
        functions = functions_of(conf, node.host, found.chosen)
        if uses_store(conf):
            found.shares = nic_shares(conf, found.chosen, node.host)
        found.addresses = [[] for _ in found.chosen]
        _ask_store(found, conf, requests, node)
        found.confs = [
            chain_confs(conf, link, ipam_block(conf, choice.nic, own), each, function)
            for choice, own, each, function in zip(
                found.chosen, found.addresses, wanted, functions, strict=True
            )
            for link in [link_for_delegate(choice.nic.name, conf.vlan)]
        ]
    except CniError as error:
        found.error = error
    return found


def _without_log(document: object) -> object:
    """Return a valid conf without its log, which is for calls; a wrong one as it is."""
    if not isinstance(document, dict) or problems_in(document):
        return document
    others = {key: value for key, value in document.items() if key != "logFile"}
    return {**others, "logLevel": "error"}


def _asked(document: object, question: Question) -> object:
    """Put the pod's wishes where Multus puts them."""
    asked = {
        "nics": question.nics,
        "class": question.class_name or None,
        "target": question.target or None,
    }
    wishes = {key: value for key, value in asked.items() if value is not None}
    if not wishes or not isinstance(document, dict):
        return document
    args = document.get("args")
    args = {} if args is None else args
    cni = args.get("cni") if isinstance(args, dict) else args
    cni = {} if cni is None else cni
    if not isinstance(cni, dict):
        return document  # what is wrong with it, the reader of the conf says
    return {**document, "args": {**args, "cni": {**cni, **wishes}}}


def _choose(found: Forecast, conf: NetConf, question: Question, node: Node) -> None:
    strategy = conf.attach_policy.strategy
    found.devices = _devices(found, question.devices, node.host)
    if found.devices and not looks_at_devices(conf):
        all_taken = "takes all NICs unless attachPolicy.nics or --nics says how many, and"
        why = f" {all_taken}" if strategy == "topology" else ""
        found.notes.append(f"the strategy {strategy}{why} does not look at the pod's devices")
    elif looks_at_devices(conf) and not found.devices:
        found.notes.append("no devices are given (--devices), so that no NIC is near to any")
    try:
        found.loads, notes = node.loads_in(conf.data_dir)
        found.notes += notes
    except OSError as error:
        failure = io_failure("count what attached pods have taken", error)
        if strategy in COUNTING:
            raise failure from error
        found.notes.append(failure.message)
    try:
        selection = _selection(found, conf, node)
    except CniError as error:
        raise _without_reasons(found, error, node.host) from error
    found.selection = selection
    found.rdma = [node.host.sysfs.rdma_ports(each.nic.name) for each in selection.chosen]
    found.refused = [*selection.unhealthy, *selection.conflicts, *selection.refused]
    found.missing = selection.missing
    found.notes += selection.notes
    uneven = uneven_mtus(conf, [choice.nic for choice in selection.chosen])
    found.notes += [uneven] if uneven else []


def _selection(found: Forecast, conf: NetConf, node: Node) -> Selection:
    """Choose as an ADD: if NICs fall short, without pods that have gone and had no DEL.

    Which have gone, only their own node can say.
    """
    try:
        return choose(conf, node.host, lambda: found.devices, lambda: found.loads)
    except CniError as error:
        if node.root or not pods_that_went_may_be_why(conf, error):
            raise
    found.loads = loads_of_the_living(conf.data_dir, node.host.nics)
    return choose(conf, node.host, lambda: found.devices, lambda: found.loads)


def _without_reasons(found: Forecast, error: CniError, host: Host) -> CniError:
    """Keep each NIC's reason, and return the error without them."""
    cause = error.__cause__
    if not isinstance(cause, SelectionError):
        return error
    names = {nic.name for nic in host.nics}
    found.refused = [each for each in cause.reasons if each[0] in names]
    found.missing = [each for each in cause.reasons if each[0] not in names]
    message = error.message.replace(str(cause), cause.summary, 1)
    return CniError(error.code, message, error.details)


def _devices(found: Forecast, names: Sequence[str], host: Host) -> Sequence[str]:
    """Return the PCI addresses of devices, without NICs, at which ADD does not look either.

    CniError 7 for one that this node does not have.
    """
    functions = Functions(host)
    devices: dict[str, None] = {}
    for name in names:
        address = functions.called(name)
        if not host.sysfs.exists(address):
            why = functions.why_unknown(name) or "no PCI function of this node goes by it"
            details = "`multinic-cni topology` shows which GPUs and NICs there are"
            raise CniError(BAD_CONF, f"--devices {name}: {why}", details)
        if not_nics([address], host):
            devices[address] = None
        else:
            found.notes.append(f"--devices {name}: it is a NIC, and those of a pod do not count")
    return list(devices)


def _name(found: Forecast, conf: NetConf, question: Question) -> tuple[Requests, Sequence[Wanted]]:
    """Name the interfaces; return what the pod asks for, and what the delegates are asked for."""
    problem = ifname_problem(question.ifname) if question.ifname else "names no interface"
    if problem:
        raise CniError(BAD_ENVIRONMENT, f"--ifname {question.ifname!r} {problem}")
    call = Invocation(
        command="ADD",
        container_id=NOBODY,
        netns="",
        ifname=question.ifname,
        path=(),
        cni_args=(),
        called_as="",
    )
    previous = read_result(conf.prev_result, "prevResult")
    existing = {each.name for each in previous.interfaces if each.sandbox}
    requests = without_served(read_requests(call, conf), previous)
    found.names = inner_names(conf.interface_names, question.ifname, found.chosen, existing)
    nics = [(each.nic.name, name) for each, name in zip(found.chosen, found.names, strict=True)]
    return requests, for_delegates(requests, conf, question.ifname, nics)


def _ask_store(found: Forecast, conf: NetConf, requests: Requests, node: Node) -> None:
    """Find out which addresses would be taken, and whether other pods forbid it."""
    nics = [(each.choice.nic.name, each.pools) for each in found.shares]
    cooldown = conf.ipam.get("cooldown") or 0
    wants = [
        Want(nic=nic, alternatives=pools, asked=asked, cooldown=cooldown)
        for (nic, pools), asked in zip(nics, assign(requests, nics) if nics else (), strict=True)
    ]

    def ask(store: Store) -> Addresses:
        if not node.root:  # which pods live, only their own node can say
            _refuse_other_uses(store, found, conf, node.host)
            refuse_moved_shares(store.root, conf.data_dir, conf.name, wants)
        return choose_all(store, wants)

    try:
        addresses = in_store(Preview(conf.data_dir), conf.data_dir, ask)
    except CniError as error:
        if not isinstance(error.__cause__, PermissionError):
            raise
        found.notes.append(f"addresses are not told: {error.message}; are you root?")
        return
    found.addresses = addresses or found.addresses


def _refuse_other_uses(store: Store, found: Forecast, conf: NetConf, host: Host) -> None:
    use = use_of(conf.chain[0])
    if not use and not conf.vlan:
        return
    wanted = NicUse(
        network=conf.name,
        owner=Owner(NOBODY, ""),
        use=use,
        nics=[choice.nic for choice in found.chosen],
        present=[nic.name for nic in host.nics],
        links=[link_for_delegate(each.nic.name, conf.vlan) for each in found.chosen if conf.vlan],
    )
    try:
        begin_use(store.root, conf.data_dir, wanted)
    except OSError as error:
        if error.errno != EROFS:
            raise
        # It would be noted now, for the next call: nobody has refused it.
