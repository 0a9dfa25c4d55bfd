"""The pod's default route goes to a NIC of ours; what must not follow stays where it was.

Probes and NodePorts come to the primary interface's address, and are answered from it: so its
former default keeps a table of its own. Cluster addresses stay routed by it.
"""

from __future__ import annotations

from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.messages import RT_TABLE_MAIN, RTN_UNICAST
from multinic_cni.routing.pod import VERSIONS
from multinic_cni.routing.steps import RouteStep
from multinic_cni.routing.tables import PRIMARY_PRIORITY, as_step, from_rule, hop_by
from multinic_ipam.networks import LINK_LOCAL, Network, is_link_local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from multinic_cni.route_messages import KernelRoute
    from multinic_cni.routing.pod import PodNow, RoutedNic
    from multinic_cni.routing.steps import Step

LINK_LOCAL_V4 = LINK_LOCAL[0]  # node-local DNS and metadata services live there


def take_default(
    nic: RoutedNic, table: int, pod: PodNow, keep: Sequence[Network] | None, own: Collection[str]
) -> Iterator[Step]:
    """Yield the steps that lead the default route to a NIC, family by family.

    `table` becomes the former default's; `keep` are networks that stay on it, None where nobody has
    said which; `own` are the interfaces of this attachment. CniError 7 where something is missing.
    """
    if not nic.gateways:
        message = f"routing.defaultRoute: NIC {nic.nic} ({nic.ifname}) has no gateway"
        details = "give its pool one: gateway, gatewayIndex or ipam.ranges"
        raise CniError(BAD_CONF, message, details)
    for version in VERSIONS:
        if version in nic.gateways:
            former = former_defaults(version, pod, own)
            if former:
                yield from _keep_former(nic, table, pod, former, _kept(keep, version))
            yield RouteStep(
                nic=nic.nic,
                network=Network(version, 0, 0),
                table=RT_TABLE_MAIN,
                hops=(hop_by(nic, version, nic.gateways[version]),),
            )


def former_defaults(version: int, pod: PodNow, own: Collection[str]) -> list[KernelRoute]:
    """Return the pod's default routes of the main table that are not by interfaces of ours."""
    return [
        route
        for route in pod.routes
        if (route.version, route.table, route.prefix_length) == (version, RT_TABLE_MAIN, 0)
        and route.kind == RTN_UNICAST
        and not any(pod.name_of(hop.link) in own for hop in route.hops)
    ]


def _kept(keep: Sequence[Network] | None, version: int) -> list[Network]:
    if keep is None:
        message = (
            "routing.defaultRoute: keepOnPrimary must say which networks stay on the pod's primary"
            " interface, and neither the net conf nor node.json does"
        )
        details = "name the cluster's service and pod CIDRs there, or [] where there are none"
        raise CniError(BAD_CONF, message, details)
    listed = [*keep, LINK_LOCAL_V4]
    kept = {str(network): network for network in listed if network.version == version}
    return list(kept.values())


def _keep_former(
    nic: RoutedNic,
    table: int,
    pod: PodNow,
    former: Sequence[KernelRoute],
    keep: Sequence[Network],
) -> Iterator[Step]:
    version = former[0].version
    links = {hop.link for route in former for hop in route.hops}
    main = [route for route in pod.routes if _is_of_main(route, version, links)]
    # A gateway is reached by a route on the link, which must be there before.
    for route in sorted(main, key=lambda route: any(hop.gateway for hop in route.hops)):
        yield as_step(nic, route, pod).but(table=table)
    for address in pod.addresses:
        of_link = (address.version, address.link in links) == (version, True)
        if of_link and not is_link_local(version, address.number):
            yield from_rule(nic.nic, version, address.number, table, PRIMARY_PRIORITY)
    on_link = [_network(route) for route in main if not any(hop.gateway for hop in route.hops)]
    present = {str(_network(route)) for route in main}
    for network in keep:
        reached = any(each.holds(version, network.first) for each in on_link)
        if str(network) not in present and not (reached and network.size == 1):
            yield as_step(nic, former[0], pod).but(network=network, metric=0)
    for route in former:
        yield as_step(nic, route, pod).but(goes=True)


def _is_of_main(route: KernelRoute, version: int, links: Collection[int]) -> bool:
    is_main = (route.version, route.table, route.kind) == (version, RT_TABLE_MAIN, RTN_UNICAST)
    return is_main and any(hop.link in links for hop in route.hops)


def _network(route: KernelRoute) -> Network:
    return Network(route.version, route.destination, route.prefix_length)
