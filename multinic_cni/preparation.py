"""What one ADD is about to do: everything that can be found out before anything is changed."""

from __future__ import annotations

from multinic_cni import host
from multinic_cni.addressing import host_index, ipam_without_nic, pools_of
from multinic_cni.conf.node import read_node
from multinic_cni.delegates import chain_confs, delegate_cni_args, executables
from multinic_cni.delegation import Delegation, environment_for_delegates
from multinic_cni.errors import BAD_NETNS, NO_NICS, CniError, join_errors
from multinic_cni.log import log
from multinic_cni.netns import is_own
from multinic_cni.plan import admin_of, device_of, inner_names, wish_of
from multinic_cni.result import Result, read_result
from multinic_cni.values import Value
from multinic_selectors.devices import nics_of_device
from multinic_selectors.selection import SelectionError, select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.addressing import Alternatives
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.invocation import Invocation
    from multinic_selectors.nics import Nic
    from multinic_selectors.selection import Choice

NOT_SERVED = ("IP", "MAC", "GATEWAY")
SERVED = frozenset({"nics", "masters", "master"})


class Plan(Value):
    """One ADD: `choices` and `names` belong together; `nics` are all of the node's."""

    call: Invocation
    conf: NetConf
    previous: Result
    nics: list[Nic]
    choices: Sequence[Choice]
    names: list[str]
    delegation: Delegation
    deadline: float


def prepare(call: Invocation, conf: NetConf, deadline: float) -> Plan:
    """Choose the NICs, name the interfaces, find the delegates; raises CniError."""
    previous = read_result(conf.prev_result, "prevResult")
    nics = host.nics()
    choices = _choose(conf, nics)
    _warn_of_requests(call, conf)
    existing = {each.name for each in previous.interfaces if each.sandbox}
    delegation = delegation_for(call)
    _find_executables(conf, delegation)
    return Plan(
        call=call,
        conf=conf,
        previous=previous,
        nics=nics,
        choices=choices,
        names=inner_names(conf.interface_names, call.ifname, choices, existing),
        delegation=delegation,
        deadline=deadline,
    )


def wanted_pools(
    conf: NetConf, choices: Sequence[Choice], nics: Sequence[Nic]
) -> list[tuple[str, Alternatives]]:
    """Return each chosen NIC's name and pools; `nics` are all of the node's."""
    index = host_index(conf, read_node, host.name)
    node = [(version, number) for nic in nics for version, number, _ in nic.addresses]
    return [(choice.nic.name, pools_of(conf, choice, index, node)) for choice in choices]


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


def _choose(conf: NetConf, nics: list[Nic]) -> Sequence[Choice]:
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
        selection = select(nics, admin, wish)
    except SelectionError as error:
        details = "see masterNets, masters and attachPolicy in the net conf"
        raise CniError(NO_NICS, str(error), details) from None
    for name, reason in selection.refused:
        log.debug(f"NIC {name} not taken: {reason}")
    for name, reason in selection.unhealthy:
        log.warning(f"NIC {name} not taken: {reason}")
    log.info("NICs chosen", nics=",".join(choice.nic.name for choice in selection.chosen))
    return selection.chosen


def _nics_of(device: str) -> list[str]:
    names = nics_of_device(device)
    if not names:
        message = f"the device {device} (pciBusID or deviceID) has no NIC on this node"
        raise CniError(NO_NICS, message)
    log.info("the NIC is that of a device", device=device, nics=",".join(names))
    return names


def _warn_of_requests(call: Invocation, conf: NetConf) -> None:
    """Say what the pod asks for and does not get: an address or a MAC of its own choice."""
    asked = {name for name in NOT_SERVED if call.arg(name)}
    asked |= {name for name in ("ips", "mac") if conf.runtime_config.get(name)}
    asked |= {f"args.cni.{name}" for name in conf.cni_args if name not in SERVED}
    if asked:
        log.warning("requests of the pod are not served", requests=",".join(sorted(asked)))


def _find_executables(conf: NetConf, delegation: Delegation) -> None:
    """Find every program now: one that is missing must not cost the pool an address at each try."""
    missing = delegation.missing(executables(chain_confs(conf, None, ipam_without_nic(conf))))
    if missing:
        raise join_errors(missing)
