"""What a NIC's delegate is told of addresses: its ipam block. Pure."""

from __future__ import annotations

from multinic_cni.errors import BAD_CONF, NO_ADDRESS, CniError
from multinic_ipam.networks import (
    Network,
    format_address,
    is_link_local,
    parse_address,
    split_cidr,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from multinic_cni.conf.netconf import NetConf
    from multinic_ipam.pools import Pool
    from multinic_ipam.reservation import Reservation
    from multinic_selectors.nics import Nic

    # For each family, the pools to try one after the other.
    Alternatives = Sequence[Sequence[Pool]]

OWN = "multi-nic-ipam"


def uses_store(conf: NetConf) -> bool:
    return conf.ipam.get("type") == OWN


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


def _chosen(reservation: Reservation, pool: Pool) -> dict[str, str]:
    address = {"address": f"{reservation.address}/{pool.prefix_length}"}
    if pool.gateway is not None:
        address["gateway"] = format_address(pool.block.version, pool.gateway)
    return address


def _own_addresses(nic: Nic) -> list[dict[str, str]]:
    own = [
        {"address": f"{format_address(version, number)}/{length}"}
        for version, number, length in nic.addresses
        if not is_link_local(version, number)
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
    routes = [_with_gateway(route, addresses) for route in _of_delegates(ipam.get("routes") or ())]
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


def _of_delegates(routes: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Leave out what becomes one multipath route over the NICs, when all of them are there."""
    if len(routes) < 2:  # noqa: PLR2004 - one destination twice
        return routes
    from multinic_cni.conf.routing import multipath_routes  # noqa: PLC0415 - for those with several

    ours = multipath_routes(routes)
    return [route for route in routes if route not in ours]


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
    routes = _of_delegates(ipam.get("routes") or ())
    if routes and "routes" not in block:
        block["routes"] = routes
    return block
