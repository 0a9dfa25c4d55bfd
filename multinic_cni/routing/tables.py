"""A table for each NIC, so that what its addresses send leaves by it.

Without one, the replies of a pod with eight NICs all leave by the first.
"""

from __future__ import annotations

from multinic_cni.errors import ROUTING_FAILED, CniError
from multinic_cni.messages import RT_TABLE_MAIN, RTN_UNICAST
from multinic_cni.route_messages import RT_SCOPE_LINK, RTPROT_BOOT, RTPROT_STATIC, WHOLE
from multinic_cni.routing.pod import VERSIONS
from multinic_cni.routing.steps import NamedHop, RouteStep, RuleStep
from multinic_ipam.networks import LINK_LOCAL, Network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from multinic_cni.conf.routing import Routing
    from multinic_cni.route_messages import KernelRoute
    from multinic_cni.routing.pod import PodNow, RoutedNic

# Behind the local table's rule (0), before those of others (sbr's and iproute2's come from 32765
# down): a socket bound to an interface, an address of ours, the former default's address.
DEVICE_PRIORITY, SOURCE_PRIORITY, PRIMARY_PRIORITY = 1000, 1001, 1002
SPAN = 1000  # from one block of tables to the next
PRIMARY_PLACE = SPAN - 1
LAST_TABLE = 0xFFFF_FFFF
SET_BY_PROGRAMS = frozenset({RTPROT_BOOT, RTPROT_STATIC})  # not by the kernel, nor by a router


def first_table(wanted: int, places: Sequence[int], taken: Collection[int]) -> int:
    """Return the first of a block of tables, of which this attachment's are not taken.

    A rail has the same number on every node, unless another attachment of the pod has it already.
    """
    first, used = wanted, frozenset(taken)
    while used.intersection(first + place for place in places):
        first += SPAN
    if first + max(places, default=0) > LAST_TABLE:
        message = f"the pod has no free routing tables from {wanted} on"
        raise CniError(ROUTING_FAILED, message, "give a smaller routing.firstTable")
    return first


def own_routes(nic: RoutedNic, table: int) -> Iterator[RouteStep]:
    """Yield what a NIC's table has in any case: its networks, and the way out of them."""
    for version in VERSIONS:
        for network, address in nic.networks(version):
            yield RouteStep(
                nic=nic.nic,
                network=network,
                table=table,
                hops=(NamedHop(ifname=nic.ifname),),
                # IPv6 knows no scopes of routes, and refuses a source that is still being asked for
                # (duplicate address detection).
                scope=RT_SCOPE_LINK if version == 4 else 0,  # noqa: PLR2004 - of IPv4
                source=address if version == 4 else 0,  # noqa: PLR2004 - the same
            )
        if version in nic.gateways:
            gateway = nic.gateways[version]
            yield RouteStep(
                nic=nic.nic,
                network=Network(version, 0, 0),
                table=table,
                hops=(hop_by(nic, version, gateway),),
            )


def link_local_route(nic: RoutedNic, table: int) -> RouteStep:
    """Return what keeps IPv6's neighbours on the link for a socket that is bound to it.

    By the rule of its interface it looks here first, and would find the way to the gateway.
    """
    hops = (NamedHop(ifname=nic.ifname),)
    return RouteStep(nic=nic.nic, network=LINK_LOCAL[1], table=table, hops=hops)


def routes_of_delegates(nic: RoutedNic, table: int, pod: PodNow) -> Iterator[RouteStep]:
    """Yield what a NIC's delegates have set in the main table (ipam.routes), for its own table.

    Without it the NIC's addresses would go by its default gateway there, or by another NIC. ptp
    has even its own network behind the gateway.
    """
    own = {link.index for link in pod.links.values() if link.name == nic.ifname}
    for route in pod.routes:
        is_of_main = (route.table, route.kind) == (RT_TABLE_MAIN, RTN_UNICAST)
        by_own = own == {hop.link for hop in route.hops}
        if is_of_main and by_own and route.protocol in SET_BY_PROGRAMS:
            yield as_step(nic, route, pod).but(table=table, protocol=RTPROT_STATIC)


def as_step(nic: RoutedNic, route: KernelRoute, pod: PodNow) -> RouteStep:
    """Return a route of the pod's as a step, with its own protocol: it comes back as it was."""
    return RouteStep(
        nic=nic.nic,
        network=Network(route.version, route.destination, route.prefix_length),
        table=route.table,
        hops=tuple(
            NamedHop(ifname=pod.name_of(hop.link), gateway=hop.gateway, onlink=hop.onlink)
            for hop in route.hops
        ),
        protocol=route.protocol,
        scope=route.scope,
        metric=route.metric,
        mtu=route.mtu,
        source=route.source,
    )


def own_rules(nic: RoutedNic, table: int, routing: Routing) -> Iterator[RuleStep]:
    for version in VERSIONS:
        sources = [number for family, number, _ in nic.addresses if family == version]
        if routing.device_rules and sources:
            yield RuleStep(
                nic=nic.nic,
                version=version,
                priority=DEVICE_PRIORITY,
                table=table,
                oif=nic.ifname,
            )
        for number in sources:
            yield from_rule(nic.nic, version, number, table, SOURCE_PRIORITY)


def from_rule(nic: str, version: int, number: int, table: int, priority: int) -> RuleStep:
    source = Network(version, number, WHOLE[version])
    return RuleStep(nic=nic, version=version, priority=priority, table=table, source=source)


def hop_by(nic: RoutedNic, version: int, gateway: int) -> NamedHop:
    """Return a next hop; a pool's gateway may lie outside of the NIC's network."""
    outside = not nic.reaches((version, gateway))
    return NamedHop(ifname=nic.ifname, gateway=gateway, onlink=outside)
