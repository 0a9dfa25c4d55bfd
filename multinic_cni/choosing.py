"""Which NICs a pod gets on this node, by the net conf, the pod's wishes and the node's facts."""

from __future__ import annotations

from multinic_cni.conf.problems import shortened
from multinic_cni.delegate_types import TAKE_THE_NIC
from multinic_cni.delegates import device_of_template
from multinic_cni.errors import BAD_CONF, NO_NICS, CniError
from multinic_cni.judging import NodeJudge, PodJudge
from multinic_cni.log import log
from multinic_cni.plan import admin_of, wish_of
from multinic_ipam.networks import Network
from multinic_selectors.candidates import SelectionError, Wish, candidates_among, unmatched
from multinic_selectors.devices import is_auxiliary, normal_pci_address
from multinic_selectors.selection import first, select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.host import Host
    from multinic_cni.plan import Asked
    from multinic_selectors.candidates import Admin, Choice
    from multinic_selectors.loads import Load
    from multinic_selectors.rails import Rails
    from multinic_selectors.selection import Pick, Selection

    Loads = Callable[[], Mapping[str, Load]]
    Devices = Callable[[], Sequence[str]]

# Drivers that hand a device to a program or a virtual machine.
NO_NIC_DRIVERS = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub", "xen-pciback"})
# Strategies that look at what other pods have taken: their calls choose one after the other.
COUNTING = frozenset({"topology", "perfOpt", "costOpt"})


def choose(
    conf: NetConf,
    host: Host,
    devices: Devices,
    loads: Loads,
    found_out: Mapping[str, str] | None = None,
) -> Selection:
    """Choose NICs for a pod; CniError 100 says why not each other, 2 or 7 what is wrong in a wish.

    `devices` returns the PCI addresses of what the pod has besides NICs, `loads` what other pods
    have taken of each NIC; both are asked only by strategies that need them. `found_out` is what
    the call knows of NICs' troubles besides.
    """
    asked = wish_of(conf)
    try:
        judge = PodJudge(conf, host, asked.class_name, found_out)
        judge.refuse_unknown_classes(pod=True)
        admin = _admin(conf, host)
        _serve_devices(conf, host, admin, asked.wish)
        pick = _strategy(conf, host, asked, devices, loads)
        return select(host.nics, admin, asked.wish, judge, pick)
    except SelectionError as error:
        raise _no_nics(error, conf, host, asked.wish) from error


def pods_that_went_may_be_why(conf: NetConf, error: CniError) -> bool:
    """Tell whether NICs fell short by what was counted: of pods, too, that went without a DEL."""
    return error.code == NO_NICS and counts(conf)


def takes_turn(conf: NetConf) -> bool:
    """Tell whether a call has to choose after others: by what they have taken, or taking NICs."""
    return counts(conf) or conf.chain[0]["type"] in TAKE_THE_NIC


def counts(conf: NetConf) -> bool:
    """Tell whether what others have taken decides: not for topology that takes all NICs anyway."""
    strategy = conf.attach_policy.strategy
    return looks_at_devices(conf) if strategy == "topology" else strategy in COUNTING


def looks_at_devices(conf: NetConf) -> bool:
    """Tell whether it matters what else the pod has; not where all NICs are taken anyway."""
    limited = conf.attach_policy.nics is not None or wish_of(conf).wish.nics is not None
    return conf.attach_policy.strategy == "topology" and limited


def choose_for_nobody(conf: NetConf, host: Host) -> Selection:
    """Choose as for a pod without wishes, whatever others have taken; CniError as `choose`."""
    try:
        judge = NodeJudge(conf, host)
        judge.refuse_unknown_classes(pod=False)
        return select(host.nics, _admin(conf, host), Wish(), judge)
    except SelectionError as error:
        raise _no_nics(error, conf, host, Wish()) from error


def all_of_network(conf: NetConf, host: Host) -> tuple[list[Choice], list[tuple[str, str]]]:
    """Return every NIC that pods of a network may get, in whatever state, and what is missing.

    (entry, why) are the conf's entries that fit no NIC. Raises CniError as `choose`.
    """
    try:
        judge = NodeJudge(conf, host)
        judge.refuse_unknown_classes(pod=False)
        admin = _admin(conf, host)
        candidates, _ = candidates_among(host.nics, admin)
        fitting = [choice for choice in candidates if not judge.misfit(choice.nic)]
        return fitting, unmatched(host.nics, admin)
    except SelectionError as error:
        raise _no_nics(error, conf, host, Wish()) from error


def _no_nics(error: SelectionError, conf: NetConf, host: Host, wish: Wish) -> CniError:
    details = "see masterNets, masters, rails and attachPolicy in the net conf"
    message = "; ".join([str(error), *_in_pods(conf, host, wish)])
    return CniError(NO_NICS, message, details)


def _in_pods(conf: NetConf, host: Host, wish: Wish) -> Sequence[str]:
    """Say which pods have NICs that conf or pod name, and the node therefore has not."""
    if not host.is_this_node:
        return ()
    from multinic_cni.attachments.holders import holders_of  # noqa: PLC0415 - to word an error
    from multinic_cni.host import boot_id  # noqa: PLC0415 - the same

    alternatives = () if conf.rails is None else conf.rails or host.file.rails
    entries = [*conf.masters, *wish.masters, *(text for texts in alternatives for text in texts)]
    try:
        return holders_of(conf.data_dir, boot_id(), entries, {nic.name for nic in host.nics})
    except OSError:
        return ()  # the error that is worded says enough


def _admin(conf: NetConf, host: Host) -> Admin:
    admin = admin_of(conf)
    admin.rails = rails_of(conf, host)
    return admin


def rails_of(conf: NetConf, host: Host) -> Rails | None:
    """Return this node's rails, None for a conf without; raises SelectionError."""
    if conf.rails is None:
        return None
    from multinic_selectors.rails import find_rails  # noqa: PLC0415 - for confs that have some

    count = len(conf.masters_in_order)
    alternatives = conf.rails or host.file.rails
    if not alternatives:
        message = f"the net conf leaves it to node.json to name {count} rails, and it names none"
        raise SelectionError(message)
    if len(alternatives) > count:
        message = f"node.json names {len(alternatives)} rails, the net conf has {count}"
        raise SelectionError(message)
    return find_rails(alternatives, host.nics, host.sysfs, Network.parse)


def _serve_devices(conf: NetConf, host: Host, admin: Admin, wish: Wish) -> None:
    """Take the NICs of the devices that the runtime has given to the pod.

    The admin may name one in the template, too. Other devices (of a shared RDMA resource, say) are
    not NICs.
    """
    template = device_of_template(conf)
    named = [template] if template else conf.devices
    devices = [device for device in map(_device, named) if device]
    others = [shortened(each) for each in named if not _device(each)]
    if others and (template or conf.chain[0]["type"] in TAKE_THE_NIC):
        # Without it the delegate would get NICs that somebody else was given.
        message = f"the device {others[0]} is no PCI address, nor an auxiliary device's name"
        raise SelectionError(message)
    if others:
        log.warning("devices of the pod that are no NICs", devices=",".join(others))
    names = [name for device in devices for name in _nics_of(device, host, conf.data_dir)]
    wish.devices = tuple(dict.fromkeys(names))
    if names and not admin.masters and not admin.master_nets and admin.rails is None:
        admin.masters = names  # whoever named the device has chosen
    if names:
        log.info("the NICs are those of devices", devices=",".join(devices), nics=",".join(names))


def _device(text: str) -> str:
    """Return a device's name as sysfs has it; empty for what is no PCI function or auxiliary."""
    return text if is_auxiliary(text) else normal_pci_address(text)


def _nics_of(device: str, host: Host, data_dir: str) -> list[str]:
    names = host.sysfs.nics(device)
    present = {nic.name for nic in host.nics}
    if not present.intersection(names):
        why = _whereabouts(device, host, data_dir)
        message = f"the device {device} (pciBusID or deviceID) has no NIC on this node: {why}"
        raise SelectionError(message)
    return names


def _whereabouts(device: str, host: Host, data_dir: str) -> str:
    from multinic_cni.attachments.holders import holder_of  # noqa: PLC0415 - to word an error
    from multinic_cni.host import boot_id  # noqa: PLC0415 - the same

    try:
        pod = holder_of(data_dir, boot_id(), device) if host.is_this_node else ""
    except OSError:
        pod = ""  # the error that is worded says enough
    if pod or is_auxiliary(device):
        return pod or "it is not there, or its NIC is in another netns"
    if not host.sysfs.exists(device):
        return "there is no such device"
    driver = host.sysfs.driver_of(device)
    if not driver:
        return "no driver is bound to it"
    if driver in NO_NIC_DRIVERS:
        return f"its driver is {driver}, which makes none"
    return f"its driver is {driver}; somebody else has moved its NIC into another netns"


def _strategy(conf: NetConf, host: Host, asked: Asked, devices: Devices, loads: Loads) -> Pick:
    # What the runtime has given the pod is taken whole: a strategy can only find it wanting.
    target, least = asked.target, len(asked.wish.devices) or conf.attach_policy.min_nics
    match conf.attach_policy.strategy:
        case "topology" if looks_at_devices(conf):
            from multinic_cni.nearness import Nearness  # noqa: PLC0415 - if wanted
            from multinic_selectors.policies.topology import Topology  # noqa: PLC0415 - if wanted

            near = Nearness(host)
            return Topology(near.locations(devices()), near.location_of, loads()).pick
        case "perfOpt":
            from multinic_selectors.policies.perf_opt import PerfOpt  # noqa: PLC0415 - if wanted

            return PerfOpt(target, host.speed, loads(), least).pick
        case "costOpt":
            from multinic_selectors.policies.cost_opt import CostOpt  # noqa: PLC0415 - if wanted

            if target is None:
                message = "costOpt needs a target, and neither attachPolicy nor the pod gives one"
                raise CniError(BAD_CONF, message)
            return CostOpt(target, host.speed, loads(), least).pick
        case _:
            return first
