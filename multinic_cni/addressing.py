"""Addresses of each NIC's interface: its pools, and its delegate's ipam block. Pure."""

from __future__ import annotations

from multinic_cni.errors import BAD_CONF, NO_ADDRESS, CniError
from multinic_ipam.networks import (
    BITS,
    Network,
    canonical,
    format_address,
    parse_address,
    split_cidr,
)
from multinic_ipam.pools import GeometryError, Pool, host_pool, range_pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.conf.node import Node
    from multinic_ipam.reservation import Reservation
    from multinic_selectors.nics import Nic
    from multinic_selectors.selection import Choice

    # For each family, the pools to try one after the other.
    Alternatives = Sequence[Sequence[Pool]]

OWN = "multi-nic-ipam"
LINK_LOCAL = (Network.parse("169.254.0.0/16"), Network.parse("fe80::/10"))


def uses_store(conf: NetConf) -> bool:
    return conf.ipam.get("type") == OWN


def pools_of(
    conf: NetConf, choice: Choice, host_index: int, node_addresses: Iterable[tuple[int, int]]
) -> Alternatives:
    """Return the pools of a chosen NIC's addresses, one alternative list per family.

    `node_addresses`, (version, address), are never given to a pod. CniError 7 for numbers that do
    not fit, and for a NIC that has no pool.
    """
    excluded = [
        *(_excluded(text) for text in conf.ipam.get("excludeCIDRs") or ()),
        *(_excluded(text) for text in _gateways(conf.ipam)),
        *(Network(version, number, BITS[version]) for version, number in node_addresses),
    ]
    try:
        if conf.subnets:
            return [[_share(conf, subnet, choice, host_index, excluded)] for subnet in conf.subnets]
        return _ranges(conf, choice, excluded)
    except GeometryError as error:
        message = f"no addresses for NIC {choice.nic.name}: {error}"
        raise CniError(BAD_CONF, message) from None


def host_index(conf: NetConf, read_node: Callable[[], Node], host_name: Callable[[], str]) -> int:
    """Return this node's number; CniError 7 that says how to give it one.

    Never a hash, never modulo: two nodes with one index give out the same addresses.
    """
    if not uses_store(conf) or not conf.subnets or not conf.ipam.get("hostBlock"):
        return 0
    node = read_node()  # only where it matters
    if node.host_index is not None:
        return node.host_index
    name = node.name or host_name()
    if name in conf.hosts:
        return conf.hosts[name]
    message = f"this node ({name}) has no host index, so its share of subnet is not known"
    details = (
        f'add "{name}" to the net conf\'s hosts, or put {{"hostIndex": N}} into'
        " /etc/cni/multinic/node.json on this node, with another N on each node"
    )
    raise CniError(BAD_CONF, message, details)


def ipam_without_nic(conf: NetConf) -> dict[str, Any] | None:
    """Return the ipam block for what concerns no single NIC: which plugin it is, no addresses."""
    kind = conf.ipam.get("type")
    if kind in {OWN, "host-device-ipam"}:
        return {"type": "static"}
    if kind == "multi-config":
        return {"type": conf.ipam["ipam_type"]}
    return conf.ipam or None


def ipam_block(
    conf: NetConf, nic: Nic, addresses: Sequence[tuple[Reservation, Pool]]
) -> dict[str, Any] | None:
    """Return the ipam block of a NIC's first delegate; None to leave the template's own."""
    kind = conf.ipam.get("type")
    if kind == OWN:
        chosen = [_chosen(reservation, pool) for reservation, pool in addresses]
        return _static(chosen, conf.ipam)
    if kind == "host-device-ipam":
        return _static(_own_addresses(nic), conf.ipam)
    if kind == "multi-config":
        return _per_master(nic, conf.ipam)
    return conf.ipam or None


def _share(
    conf: NetConf, subnet: Network, choice: Choice, index: int, excluded: Sequence[Network]
) -> Pool:
    pool = host_pool(
        subnet,
        interface_bits=conf.ipam.get("interfaceBlock", 0),
        host_bits=conf.ipam.get("hostBlock", 0),
        interface_index=choice.place or 0,
        host_index=index,
        excluded=excluded,
    )
    if not pool.size:
        raise GeometryError(f"this node's share, {pool.block}, has no address for a pod")
    return pool


def _ranges(conf: NetConf, choice: Choice, excluded: Sequence[Network]) -> Alternatives:
    # Networks may be written in another way than ours ("fd00:0::/64").
    by_master = {canonical(key): listed for key, listed in conf.ipam["ranges"].items()}
    master = _key_of_ranges(conf, choice, by_master)
    pools = [
        range_pool(
            Network.parse(each.get("subnet") or master),
            start=each.get("rangeStart"),
            end=each.get("rangeEnd"),
            gateway=each.get("gateway"),
            excluded=excluded,
        )
        for each in by_master[master]
    ]
    by_family = ([pool for pool in pools if pool.block.version == version] for version in (4, 6))
    return [family for family in by_family if family]


def _key_of_ranges(conf: NetConf, choice: Choice, by_master: Mapping[str, object]) -> str:
    """Return whose ranges a NIC has: its entry of masterNets or masters, else its network's."""
    masters = [*(str(net) for net in conf.master_nets), *conf.masters]
    if choice.place is not None and masters[choice.place] in by_master:
        return masters[choice.place]
    for key in by_master:
        if "/" in key:
            network = Network.parse(key)
            if any(network.holds(version, number) for version, number, _ in choice.nic.addresses):
                return key
    raise GeometryError(f"ipam.ranges has no entry for it: it has {', '.join(by_master)}")


def _gateways(ipam: Mapping[str, Any]) -> list[str]:
    """Return every gateway that the block names: another range of its subnet must not give it."""
    ranges = [each for listed in (ipam.get("ranges") or {}).values() for each in listed]
    gateways = [each.get("gateway") for each in ranges]
    gateways += [route.get("gw") for route in ipam.get("routes") or ()]
    return [gateway for gateway in gateways if gateway]


def _excluded(text: str) -> Network:
    if "/" in text:
        return Network.parse(text)
    version, number = parse_address(text)
    return Network(version, number, BITS[version])


def _chosen(reservation: Reservation, pool: Pool) -> dict[str, str]:
    address = {"address": f"{reservation.address}/{pool.prefix_length}"}
    if pool.gateway is not None:
        address["gateway"] = format_address(pool.block.version, pool.gateway)
    return address


def _own_addresses(nic: Nic) -> list[dict[str, str]]:
    own = [
        {"address": f"{format_address(version, number)}/{length}"}
        for version, number, length in nic.addresses
        if not any(net.holds(version, number) for net in LINK_LOCAL)
    ]
    if not own:
        message = f"NIC {nic.name} has no address that the pod could get (host-device-ipam)"
        raise CniError(NO_ADDRESS, message)
    return own


def _static(addresses: list[dict[str, str]], ipam: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block for the static plugin, with the routes that this interface can have.

    A gateway is on one NIC's link: on the others the kernel would call it unreachable.
    """
    block: dict[str, Any] = {"type": "static", "addresses": addresses}
    links = [Network.around(*split_cidr(each["address"])) for each in addresses]
    routes = [_with_gateway(route, addresses) for route in ipam.get("routes") or ()]
    reachable = [
        route
        for route in routes
        if "gw" not in route or any(link.holds(*parse_address(route["gw"])) for link in links)
    ]
    if reachable:
        block["routes"] = reachable
    if ipam.get("dns"):
        block["dns"] = ipam["dns"]
    return block


def _with_gateway(
    route: Mapping[str, Any], addresses: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    """Say the gateway that a route without one gets: that of the address.

    Else the main plugins add the route with it, return it without, and their CHECK misses it.
    """
    route = {key: value for key, value in route.items() if value is not None}
    family = ":" in route["dst"]
    gateways = [each["gateway"] for each in addresses if "gateway" in each]
    own = [gateway for gateway in gateways if (":" in gateway) == family]
    return {"gw": own[0], **route} if own else route


def _per_master(nic: Nic, ipam: Mapping[str, Any]) -> dict[str, Any]:
    names = (nic.name, *nic.altnames)
    arguments = next((ipam["args"][name] for name in names if name in ipam["args"]), None)
    if arguments is None:
        message = f"ipam.args has no entry for NIC {nic.name}; it has {', '.join(ipam['args'])}"
        raise CniError(BAD_CONF, message)
    block = {**arguments, "type": ipam["ipam_type"]}
    if ipam.get("routes") and "routes" not in block:
        block["routes"] = ipam["routes"]
    return block
