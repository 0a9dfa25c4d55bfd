"""The routing block, read: what is to be set in the pod beside its interfaces."""

from __future__ import annotations

from multinic_cni.conf import table
from multinic_cni.values import Value
from multinic_ipam.networks import Network, parse_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Document = Mapping[str, Any]

ALL, NONE = "all", "none"
# Kinds of ipam whose routes we deal out; other plugins' blocks go to the delegates as they are.
DEALT_OUT = frozenset({"multi-nic-ipam", "host-device-ipam", "multi-config"})


class PodRoute(Value):
    """A route; `gateway` is None for the NIC's own, `nics` None for every NIC that reaches it."""

    destination: Network
    gateway: tuple[int, int] | None = None
    nics: tuple[str, ...] | None = None
    metric: int = 0
    mtu: int = 0


class CrossRail(Value):
    """`via` names a NIC, or is ALL or NONE."""

    supernets: tuple[Network, ...]
    via: str


class Neighbor(Value):
    """A neighbour's address and MAC; `nics` is None for the one in whose network it is."""

    version: int
    number: int
    mac: str
    nics: tuple[str, ...] | None = None


class Routing(Value):
    """The block with its defaults. NICs are named as in the conf, or by their own name.

    `keep_on_primary` is None where the block says nothing of it.
    """

    source_rules: bool
    device_rules: bool
    first_table: int
    routes: tuple[PodRoute, ...]
    default_route: str
    keep_on_primary: tuple[Network, ...] | None
    cross_rail: CrossRail | None
    sysctls: Mapping[str, str]
    dad: bool
    link_local: bool
    neighbors: tuple[Neighbor, ...]
    gateway_check: str
    announce: bool
    node_routes: bool


def routing_in(conf: Document) -> Routing | None:
    """Return a net conf's routing; None where nothing of it is asked for.

    The operator's multipath form stands in ipam.routes, and is asked for without a block.
    """
    block, ipam = conf.get("routing"), conf.get("ipam") or {}
    routes = ipam.get("routes") or () if ipam.get("type") in DEALT_OUT else ()
    multipath = multipath_routes(routes)
    if block is None and not multipath:
        return None
    words = {**table.ROUTING_DEFAULTS, **({"announce": False} if block is None else block)}
    keep = words.get("keepOnPrimary")
    return Routing(
        source_rules=words["sourceRules"],
        device_rules=words["deviceRules"],
        first_table=words["firstTable"],
        routes=tuple(_route(each) for each in (*multipath, *(words.get("routes") or ()))),
        default_route=words.get("defaultRoute") or "",
        keep_on_primary=None if keep is None else tuple(map(Network.parse, keep)),
        cross_rail=_cross_rail(words["crossRail"]) if words.get("crossRail") else None,
        sysctls=words.get("sysctls") or {},
        dad=words["dad"],
        link_local=words["linkLocal"],
        neighbors=tuple(_neighbor(each) for each in words.get("neighbors") or ()),
        gateway_check=words["gatewayCheck"],
        announce=words["announce"],
        node_routes=words["nodeRoutes"],
    )


def multipath_routes(routes: Sequence[Document]) -> list[Document]:
    """Return those routes of an ipam block whose destination stands there more than once.

    They are ours to set: each delegate would set its own, and the kernel keep one of them.
    """
    destinations = [_destination(route) for route in routes]
    return [
        route
        for route, destination in zip(routes, destinations, strict=True)
        if destinations.count(destination) > 1
    ]


def _destination(route: Document) -> tuple[int, int, int]:
    network = Network.parse(route["dst"])
    return network.version, network.first, network.length


def _route(words: Document) -> PodRoute:
    gateway, nics = words.get("gw"), words.get("nics")
    return PodRoute(
        destination=Network.parse(words["dst"]),
        gateway=parse_address(gateway) if gateway else None,
        nics=None if nics is None else tuple(nics),
        metric=words.get("metric") or words.get("priority") or 0,
        mtu=words.get("mtu") or 0,
    )


def _cross_rail(words: Document) -> CrossRail:
    supernet = words["supernet"]
    listed = [supernet] if isinstance(supernet, str) else supernet
    return CrossRail(supernets=tuple(map(Network.parse, listed)), via=words["via"])


def _neighbor(words: Document) -> Neighbor:
    version, number = parse_address(words["address"])
    nics = words.get("nics")
    return Neighbor(
        version=version,
        number=number,
        mac=words["mac"].lower(),
        nics=None if nics is None else tuple(nics),
    )
