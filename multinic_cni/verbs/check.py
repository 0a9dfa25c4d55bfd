"""CHECK: compare the pod with the record (specification, section 2, "CHECK")."""

from __future__ import annotations

import time
from _socket import AF_INET, AF_INET6

from multinic_cni import attaching, host
from multinic_cni.attachments.claim import claim_existing, key_of
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.conf.netconf import read_net_conf
from multinic_cni.errors import (
    BAD_CONF,
    CHECK_FAILED,
    CniError,
    io_failure,
    join_errors,
)
from multinic_cni.log import log
from multinic_cni.preparation import delegation_for, refuse_own_netns
from multinic_cni.removal import pod_of
from multinic_cni.reservations import with_store
from multinic_cni.result import Result, read_result
from multinic_cni.versions import require
from multinic_ipam.networks import Network, NetworkError, split_cidr
from multinic_ipam.reservation import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from multinic_cni.attachments.claim import Claim
    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.invocation import Invocation
    from multinic_cni.netns import PodNetns


def check(call: Invocation, document: object) -> None:
    """Raise one CniError with everything that is not as ADD left it."""
    refuse_own_netns(call)
    conf = read_net_conf(document, call.called_as)
    require(conf.cni_version, "0.4.0", "CHECK")
    if conf.prev_result is None:
        raise CniError(BAD_CONF, "CHECK needs prevResult")
    deadline = time.monotonic() + conf.timeout
    try:
        errors = _check(call, conf, read_result(conf.prev_result, "prevResult"), deadline)
    except OSError as error:
        raise io_failure("check the pod", error) from error
    if errors:
        raise join_errors(errors)


def _check(call: Invocation, conf: NetConf, previous: Result, deadline: float) -> list[CniError]:
    key = key_of(call.container_id, call.ifname)
    held = claim_existing(conf.data_dir, conf.name, key, deadline)
    try:
        record = _readable(held) if held else None
        if held is None or record is None or not record.complete:
            return [_finding(f"network {conf.name} has no complete attachment {key} on this node")]
        pod = pod_of(record, call.netns)
        if pod is None or pod.path != call.netns:
            if pod is not None:
                pod.close()
            return [_finding(f"CNI_NETNS {call.netns} is not the netns that ADD was given")]
        held.let_children_inherit()
        try:
            findings = [
                *_missing_reservations(conf.data_dir, record, deadline),
                *_missing_in_result(record, previous, {call.netns, record.netns}),
                *_missing_in_pod(record, previous, pod),
                *_other_mtus(record, conf.mtu, pod),
                *_missing_routes(record, pod),
                *_faulty_vlans(record),
            ]
        finally:
            pod.close()
        macs = _macs_on_node(record)
        slices = tuple(
            nic.but(result=_slice(nic, previous, call.netns, macs)) for nic in record.nics
        )
        delegates = attaching.check(record.but(nics=slices), delegation_for(call), deadline)
        return [*(_finding(text) for text in findings), *delegates]
    finally:
        if held:
            held.close()


def _readable(held: Claim) -> Record | None:
    try:
        return held.read()
    except DamagedRecordError as error:
        log.error(str(error))
        return None


def _finding(text: str) -> CniError:
    return CniError(CHECK_FAILED, text)


def _missing_reservations(data_dir: str, record: Record, deadline: float) -> list[str]:
    if not record.reservations:
        return []
    owner = Owner(record.container_id, record.ifname)
    lost = with_store(data_dir, deadline, lambda store: store.not_held(record.reservations, owner))
    return [f"address {each.address} of pool {each.block} is not reserved for it" for each in lost]


def _missing_in_result(record: Record, previous: Result, netns: set[str]) -> list[str]:
    """Compare what the runtime remembers; later plugins may have changed routes and macs."""
    names = {each.name for each in previous.interfaces if each.sandbox in netns}
    addresses = {ip.address for ip in previous.ips}
    return [
        *(
            f"prevResult lacks interface {nic.ifname}"
            for nic in record.nics
            if nic.ifname not in names
        ),
        *(
            f"prevResult lacks address {ip.address} of {nic.ifname}"
            for nic in record.nics
            for ip in _result_of(nic).ips
            if ip.address not in addresses
        ),
    ]


def _missing_in_pod(record: Record, previous: Result, pod: PodNetns) -> list[str]:
    """Look for links, addresses and routes in the pod's netns.

    Routes only as far as prevResult has them still: later plugins and runtimes take some away.
    """
    kept = {str(route.get("dst")) for route in previous.routes}
    links = {link.name: link for link in pod.netlink.links()}
    addresses = {(a.link, a.version, a.number, a.prefix_length) for a in pod.netlink.addresses()}
    routes = {
        (route.version, route.destination, route.prefix_length)
        for family in (AF_INET, AF_INET6)
        for route in pod.netlink.routes(family)
    }
    findings = []
    for nic in record.nics:
        link = links.get(nic.ifname)
        if link is None:
            findings.append(f"interface {nic.ifname} (NIC {nic.nic}) is not in the pod")
            continue
        result = _result_of(nic)
        findings += [
            f"address {ip.address} is not on {nic.ifname}"
            for ip in result.ips
            if (link.index, *split_cidr(ip.address)) not in addresses
        ]
        findings += [
            f"route {route['dst']} of {nic.ifname} is not in the pod"
            for route in result.routes
            if str(route.get("dst")) in kept
            and "table" not in route
            and not _has_route(str(route.get("dst")), routes)
        ]
    return findings


def _other_mtus(record: Record, mtu: int, pod: PodNetns) -> list[str]:
    """Compare what the net conf asks for; where it asks for none, the NIC's may have changed."""
    links = {link.name: link.mtu for link in pod.netlink.links()} if mtu else {}
    return [
        f"interface {nic.ifname} (NIC {nic.nic}) has mtu {links[nic.ifname]}, not {mtu}"
        for nic in record.nics
        if links.get(nic.ifname, mtu) != mtu
    ]


def _missing_routes(record: Record, pod: PodNetns) -> list[str]:
    """Look for what was set in the pod beside the delegates' work."""
    if not record.routing:
        return []
    from multinic_cni.routing.leaving import missing  # noqa: PLC0415 - where something was set

    return missing(record, pod)


def _faulty_vlans(record: Record) -> list[str]:
    """Look for the VLANs on the node that the delegates were given instead of the NICs."""
    if not any(nic.master for nic in record.nics):
        return []
    from multinic_cni.vlans import faults  # noqa: PLC0415 - for those that have some

    return faults(record)


def _has_route(destination: str, routes: set[tuple[int, int, int]]) -> bool:
    try:
        network = Network.parse(destination)
    except NetworkError:
        return True  # a delegate's own notation: its CHECK knows
    return (network.version, network.first, network.length) in routes


def _result_of(nic: NicRecord) -> Result:
    return nic.result or Result()


def _macs_on_node(record: Record) -> dict[str, str]:
    """Return the present MACs of links on the node that delegates reported.

    A bridge has the lowest MAC of its ports: with the next pod, or the next NIC, it changes.
    """
    reported = {
        each.name for nic in record.nics for each in _result_of(nic).interfaces if not each.sandbox
    }
    links = host.links_of_node() if reported else []
    return {link.name: link.mac for link in links if link.name in reported}


def _slice(nic: NicRecord, previous: Result, netns: str, on_node: Mapping[str, str]) -> Result:
    """Return the part of prevResult that a NIC's delegates made, with the indexes they gave.

    A whole merged prevResult would make each of them look for the others' addresses. Routes that
    the runtime has removed since are not looked for.
    """
    own = _result_of(nic)
    current = {each.name: each.mac for each in previous.interfaces if each.sandbox == netns}
    current.update(on_node)
    kept = {str(route.get("dst")) for route in previous.routes}
    return own.but(
        interfaces=tuple(
            each.but(mac=current.get(each.name) or each.mac) for each in own.interfaces
        ),
        routes=tuple(route for route in own.routes if str(route.get("dst")) in kept),
    )
