"""What an ADD would do by a net conf, found out on its own way, but nothing is changed for it."""

from __future__ import annotations

from errno import EROFS

from multinic_cni.addressing import ipam_block, uses_store
from multinic_cni.assignment import assign
from multinic_cni.choosing import COUNTING, choose
from multinic_cni.conf.netconf import problems_in, read_net_conf
from multinic_cni.conflicts import use_of
from multinic_cni.delegates import chain_confs
from multinic_cni.errors import BAD_CONF, BAD_ENVIRONMENT, CniError, io_failure
from multinic_cni.invocation import Invocation, ifname_problem
from multinic_cni.plan import inner_names
from multinic_cni.pod_devices import devices_called
from multinic_cni.preparation import functions_of, nic_shares
from multinic_cni.requests import for_delegates, read_requests, without_served
from multinic_cni.reservations import Want, choose_all, in_store
from multinic_cni.result import read_result
from multinic_cni.upkeep.moved_shares import refuse_moved_shares
from multinic_cni.upkeep.nic_uses import NicUse, begin_use
from multinic_cni.values import Value
from multinic_ipam.preview import Preview
from multinic_ipam.reservation import Owner

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

    `names`, `addresses` and `confs` go with the chosen NICs.
    """

    def __init__(self) -> None:
        self.conf: NetConf | None = None
        self.devices: Sequence[str] = ()
        self.loads: Mapping[str, Load] = {}
        self.selection: Selection | None = None
        self.names: Sequence[str] = ()
        self.shares: Sequence[NicShares] = ()
        self.addresses: Addresses = []
        self.confs: Sequence[Sequence[Mapping[str, Any]]] = ()
        self.notes: list[str] = []
        self.error: CniError | None = None

    @property
    def chosen(self) -> Sequence[Choice]:
        return self.selection.chosen if self.selection else ()


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
            chain_confs(conf, choice.nic.name, ipam_block(conf, choice.nic, own), each, function)
            for choice, own, each, function in zip(
                found.chosen, found.addresses, wanted, functions, strict=True
            )
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
    found.devices = _functions(question.devices, node.host)
    if strategy == "topology" and not found.devices:
        found.notes.append("no devices are given (--devices), so that no NIC is near to any")
    if strategy != "topology" and found.devices:
        found.notes.append(f"the strategy {strategy} does not look at the pod's devices")
    try:
        found.loads = node.loads_in(conf.data_dir)
    except OSError as error:
        failure = io_failure("count what attached pods have taken", error)
        if strategy in COUNTING:
            raise failure from error
        found.notes.append(failure.message)
    found.selection = choose(conf, node.host, lambda: found.devices, lambda: found.loads)


def _functions(names: Sequence[str], host: Host) -> Sequence[str]:
    """Return the PCI addresses of devices; CniError 7 for one that this node does not have."""
    functions: dict[str, None] = {}
    for name in names:
        called = [each for each in devices_called([name], host) if host.sysfs.exists(each)]
        if not called:
            message = f"--devices {name}: no PCI function of this node goes by it"
            details = "`multinic-cni topology` shows which GPUs and NICs there are"
            raise CniError(BAD_CONF, message, details)
        functions.update(dict.fromkeys(called))
    return list(functions)


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
    if not use:
        return
    wanted = NicUse(
        network=conf.name,
        owner=Owner(NOBODY, ""),
        use=use,
        nics=[choice.nic for choice in found.chosen],
        present=[nic.name for nic in host.nics],
    )
    try:
        begin_use(store.root, conf.data_dir, wanted)
    except OSError as error:
        if error.errno != EROFS:
            raise
        # It would be noted now, for the next call: nobody has refused it.
