"""What one ADD is about to do: everything that can be found out before anything is changed."""

from __future__ import annotations

from multinic_cni.addressing import ipam_without_nic
from multinic_cni.choosing import (
    choose,
    looks_at_devices,
    pods_that_went_may_be_why,
    takes_turn,
)
from multinic_cni.conflicts import uneven_mtus
from multinic_cni.delegates import (
    can_use_function,
    chain_confs,
    delegate_cni_args,
    executables,
    uses_nic,
)
from multinic_cni.delegation import Delegation, environment_for_delegates
from multinic_cni.errors import BAD_NETNS, CniError, join_errors
from multinic_cni.host import Host, boot_id
from multinic_cni.host_index import ThisNode
from multinic_cni.log import log
from multinic_cni.netns import is_own
from multinic_cni.plan import inner_names
from multinic_cni.requests import Requests, for_delegates, read_requests, without_served
from multinic_cni.result import Result, read_result
from multinic_cni.sharing import Sharing
from multinic_cni.values import Value
from multinic_cni.versions import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.addressing import Alternatives
    from multinic_cni.attachments.loads import Turn
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.delegates import Wanted
    from multinic_cni.device_info import DeviceInfo
    from multinic_cni.invocation import Invocation
    from multinic_cni.sharing import NicShares
    from multinic_selectors.candidates import Choice
    from multinic_selectors.loads import Load
    from multinic_selectors.selection import Selection

SERVED = frozenset({"nics", "masters", "master", "class", "target", "ips", "mac"})


class Plan(Value):
    """One ADD: `choices`, `functions`, `names` and `wanted` belong together.

    `functions` are PCI addresses, empty for NICs without, or where nobody asks for them. `rdma` has
    the RDMA devices by NIC, for the log.
    `turn` is to be ended when the record is written, by which other calls count.
    """

    call: Invocation
    conf: NetConf
    previous: Result
    host: Host
    choices: Sequence[Choice]
    functions: Sequence[str]
    rdma: Mapping[str, str]
    device_info: DeviceInfo | None
    names: list[str]
    requests: Requests
    wanted: Sequence[Wanted]
    delegation: Delegation
    deadline: float
    turn: Turn | None

    def end_turn(self) -> None:
        if self.turn is not None:
            self.turn.end()


def prepare(call: Invocation, conf: NetConf, deadline: float) -> Plan:
    """Choose the NICs, name the interfaces, find the delegates; raises CniError."""
    host = Host()
    # Before the turn: the kubelet may be slow, and all other calls would wait for it.
    devices = _devices_of_pod(host, call) if looks_at_devices(conf) else ()
    if not takes_turn(conf):
        return _prepare(call, conf, deadline, host=host, devices=devices, turn=None)
    from multinic_cni.attachments.loads import take_turn  # noqa: PLC0415 - for those that count

    turn = take_turn(conf.data_dir, deadline)
    try:
        return _prepare(call, conf, deadline, host=host, devices=devices, turn=turn)
    except BaseException:
        turn.end()
        raise


def _prepare(
    call: Invocation,
    conf: NetConf,
    deadline: float,
    *,
    host: Host,
    devices: Sequence[str],
    turn: Turn | None,
) -> Plan:
    previous = read_result(conf.prev_result, "prevResult")
    selection = _selection_by_gateways(conf, host, devices, deadline)
    _log(selection)
    uneven = uneven_mtus(conf, [choice.nic for choice in selection.chosen])
    if uneven:
        log.warning(uneven)
    choices = selection.chosen
    requests = without_served(read_requests(call, conf), previous)
    _warn_of_requests(call, conf)
    existing = {each.name for each in previous.interfaces if each.sandbox}
    delegation = delegation_for(call)
    _find_executables(conf, delegation)
    names = inner_names(conf.interface_names, call.ifname, choices, existing)
    functions = functions_of(conf, host, choices)
    nics_and_names = [(choice.nic.name, name) for choice, name in zip(choices, names, strict=True)]
    return Plan(
        call=call,
        conf=conf,
        previous=previous,
        host=host,
        choices=choices,
        functions=functions,
        rdma=_rdma_of(conf, host, choices),
        device_info=_device_info(conf, host, choices, functions),
        names=names,
        requests=requests,
        wanted=for_delegates(requests, conf, call.ifname, nics_and_names),
        delegation=delegation,
        deadline=deadline,
        turn=turn,
    )


def functions_of(conf: NetConf, host: Host, choices: Sequence[Choice]) -> list[str]:
    """Return each NIC's PCI address where the result, the delegates or the runtime want it.

    They are asked for before a delegate moves the NIC.
    """
    wanted = at_least(conf.cni_version, "1.1.0") or can_use_function(conf) or _file_for(conf)
    if not wanted or not uses_nic(conf):
        return ["" for _ in choices]
    return [host.sysfs.pci_address(choice.nic.name) for choice in choices]


def _rdma_of(conf: NetConf, host: Host, choices: Sequence[Choice]) -> Mapping[str, str]:
    """Name the NICs' RDMA devices while the NICs are here; a node without RDMA opens no file."""
    if not uses_nic(conf) or not (conf.attach_policy.rdma or host.has_rdma):
        return {}
    from multinic_cni.rdma_naming import rdma_devices  # noqa: PLC0415 - where there is RDMA

    return rdma_devices(host, [choice.nic for choice in choices])


def _device_info(
    conf: NetConf, host: Host, choices: Sequence[Choice], functions: Sequence[str]
) -> DeviceInfo | None:
    """Describe the first NIC that is a PCI function, if the runtime asks for it."""
    named = zip(choices, functions, strict=True) if _file_for(conf) else ()
    for choice, function in named:
        if function:
            from multinic_cni.device_info import device_info  # noqa: PLC0415 - if asked for

            return device_info(_file_for(conf), host, choice.nic.name, function)
    return None


def _file_for(conf: NetConf) -> object:
    return conf.runtime_config.get("CNIDeviceInfoFile")


def _selection_by_gateways(
    conf: NetConf, host: Host, devices: Sequence[str], deadline: float
) -> Selection:
    """Choose, and ask the gateways of the chosen NICs where the conf wants it."""
    if conf.routing is None or conf.routing.gateway_check == "off":
        return _selection(conf, host, devices)
    from multinic_cni.gateways import GatewayCheck  # noqa: PLC0415 - if asked for

    check = GatewayCheck(conf, deadline, lambda choices: wanted_pools(conf, choices, host))
    return check.select(lambda silent: _selection(conf, host, devices, silent))


def _selection(
    conf: NetConf,
    host: Host,
    devices: Sequence[str],
    found_out: Mapping[str, str] | None = None,
) -> Selection:
    """Choose; where NICs fall short, pods that went and had no DEL are not counted any more."""

    def loads() -> Mapping[str, Load]:
        from multinic_cni.attachments.loads import loads_on  # noqa: PLC0415 - for those that count

        return loads_on(conf.data_dir, boot_id(), host.nics)

    def loads_of_the_living() -> Mapping[str, Load]:
        from multinic_cni import liveness  # noqa: PLC0415 - where NICs fall short

        return liveness.loads_of_the_living(conf.data_dir, host.nics)

    try:
        return choose(conf, host, lambda: devices, loads, found_out)
    except CniError as error:
        if not pods_that_went_may_be_why(conf, error):
            raise
        return choose(conf, host, lambda: devices, loads_of_the_living, found_out)


def _devices_of_pod(host: Host, call: Invocation) -> Sequence[str]:
    from multinic_cni.pod_devices import Pod, devices_of_pod  # noqa: PLC0415 - if a policy asks

    pod = Pod(
        uid=call.arg("K8S_POD_UID"),
        namespace=call.arg("K8S_POD_NAMESPACE"),
        name=call.arg("K8S_POD_NAME"),
    )
    return devices_of_pod(pod, host)


def wanted_pools(
    conf: NetConf, choices: Sequence[Choice], host: Host
) -> list[tuple[str, Alternatives]]:
    """Return each chosen NIC's name and pools."""
    return [(each.choice.nic.name, each.pools) for each in nic_shares(conf, choices, host)]


def nic_shares(conf: NetConf, choices: Sequence[Choice], host: Host) -> list[NicShares]:
    """Return what this node may give each chosen NIC's interface, and why; raises CniError."""
    node = ThisNode(conf.hosts, lambda: host.file, lambda: host.name)
    addresses = [(version, number) for nic in host.nics for version, number, _ in nic.addresses]
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


def _log(selection: Selection) -> None:
    for name, reason in selection.refused:
        log.debug(f"NIC {name} not taken: {reason}")
    # A conflict is a mistake of confs.
    for name, reason in (*selection.unhealthy, *selection.conflicts):
        log.warning(f"NIC {name} not taken: {reason}")
    for name, reason in selection.missing:
        log.info(f"{name}: {reason}")  # other nodes may have it, by the same conf
    for note in selection.notes:
        log.warning(note)
    for name, reason in selection.why:
        log.debug(f"NIC {name} taken: {reason}")
    log.info("NICs chosen", nics=",".join(choice.nic.name for choice in selection.chosen))


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
