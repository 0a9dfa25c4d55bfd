"""What one ADD is about to do: everything that can be found out before anything is changed."""

from __future__ import annotations

from multinic_cni import host
from multinic_cni.addressing import ipam_without_nic
from multinic_cni.conf.node import read_node
from multinic_cni.delegates import chain_confs, delegate_cni_args, executables
from multinic_cni.delegation import Delegation, environment_for_delegates
from multinic_cni.errors import BAD_NETNS, NO_NICS, CniError, join_errors
from multinic_cni.host_index import ThisNode
from multinic_cni.log import log
from multinic_cni.netns import is_own
from multinic_cni.plan import admin_of, device_of, inner_names, wish_of
from multinic_cni.requests import Requests, for_delegates, read_requests, without_served
from multinic_cni.result import Result, read_result
from multinic_cni.sharing import Sharing
from multinic_cni.values import Value
from multinic_selectors.devices import nics_of_device
from multinic_selectors.selection import SelectionError, select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.addressing import Alternatives
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.delegates import Wanted
    from multinic_cni.invocation import Invocation
    from multinic_cni.sharing import NicShares
    from multinic_selectors.nics import Nic
    from multinic_selectors.selection import Choice, Selection

SERVED = frozenset({"nics", "masters", "master", "ips", "mac"})


class Plan(Value):
    """One ADD: `choices`, `names` and `wanted` belong together; `nics` are all of the node's."""

    call: Invocation
    conf: NetConf
    previous: Result
    nics: list[Nic]
    choices: Sequence[Choice]
    names: list[str]
    requests: Requests
    wanted: Sequence[Wanted]
    delegation: Delegation
    deadline: float


def prepare(call: Invocation, conf: NetConf, deadline: float) -> Plan:
    """Choose the NICs, name the interfaces, find the delegates; raises CniError."""
    previous = read_result(conf.prev_result, "prevResult")
    nics = host.nics()
    selection = choose(conf, nics)
    _log(selection)
    choices = selection.chosen
    requests = without_served(read_requests(call, conf), previous)
    _warn_of_requests(call, conf)
    existing = {each.name for each in previous.interfaces if each.sandbox}
    delegation = delegation_for(call)
    _find_executables(conf, delegation)
    names = inner_names(conf.interface_names, call.ifname, choices, existing)
    nics_and_names = [(choice.nic.name, name) for choice, name in zip(choices, names, strict=True)]
    return Plan(
        call=call,
        conf=conf,
        previous=previous,
        nics=nics,
        choices=choices,
        names=names,
        requests=requests,
        wanted=for_delegates(requests, conf, call.ifname, nics_and_names),
        delegation=delegation,
        deadline=deadline,
    )


def wanted_pools(
    conf: NetConf, choices: Sequence[Choice], nics: Sequence[Nic]
) -> list[tuple[str, Alternatives]]:
    """Return each chosen NIC's name and pools; `nics` are all of the node's."""
    return [(each.choice.nic.name, each.pools) for each in nic_shares(conf, choices, nics)]


def nic_shares(conf: NetConf, choices: Sequence[Choice], nics: Sequence[Nic]) -> list[NicShares]:
    """Return what this node may give each chosen NIC's interface, and why; raises CniError."""
    node = ThisNode(conf.hosts, read_node, host.name)
    addresses = [(version, number) for nic in nics for version, number, _ in nic.addresses]
    sharing = Sharing(conf, node, addresses)
    return [sharing.of(choice) for choice in choices]


def delegation_for(call: Invocation) -> Delegation:
    """Return how delegates are executed for a call that names its netns."""
    return Delegation(
        container_id=call.container_id,
        netns=call.netns,
        path=call.path,
        cni_args=delegate_cni_args(call.cni_args),
        environment=environment_for_delegates(),
    )


def refuse_own_netns(call: Invocation) -> None:
    """Refuse the plugin's own netns before anything happens: delegates would rename host links."""
    if is_own(call.netns):
        message = f"CNI_NETNS {call.netns} is the netns of the node itself, not a pod's"
        raise CniError(BAD_NETNS, message)


def choose(conf: NetConf, nics: Sequence[Nic]) -> Selection:
    """Choose NICs by the conf and what the pod asks for; CniError 100 says why not each other."""
    admin, wish = admin_of(conf), wish_of(conf.cni_args)
    device = device_of(conf)
    if device:
        names = _nics_of(device)
        wish.masters = names
        if not admin.masters and not admin.master_nets:
            admin.masters = names  # whoever named the device has chosen
    elif conf.devices:
        log.warning("the runtime's device is not served", devices=",".join(conf.devices))
    try:
        return select(nics, admin, wish)
    except SelectionError as error:
        details = "see masterNets, masters and attachPolicy in the net conf"
        raise CniError(NO_NICS, str(error), details) from None


def _log(selection: Selection) -> None:
    for name, reason in selection.refused:
        log.debug(f"NIC {name} not taken: {reason}")
    for name, reason in selection.unhealthy:
        log.warning(f"NIC {name} not taken: {reason}")
    log.info("NICs chosen", nics=",".join(choice.nic.name for choice in selection.chosen))


def _nics_of(device: str) -> list[str]:
    names = nics_of_device(device)
    if not names:
        message = f"the device {device} (pciBusID or deviceID) has no NIC on this node"
        raise CniError(NO_NICS, message)
    log.info("the NIC is that of a device", device=device, nics=",".join(names))
    return names


def _warn_of_requests(call: Invocation, conf: NetConf) -> None:
    """Say what the pod asks for and does not get."""
    asked = {"GATEWAY"} if call.arg("GATEWAY") else set()
    asked |= {f"args.cni.{name}" for name in conf.cni_args if name not in SERVED}
    if asked:
        log.warning("requests of the pod are not served", requests=",".join(sorted(asked)))


def _find_executables(conf: NetConf, delegation: Delegation) -> None:
    """Find every program now: one that is missing must not cost the pool an address at each try."""
    missing = delegation.missing(executables(chain_confs(conf, None, ipam_without_nic(conf))))
    if missing:
        raise join_errors(missing)
