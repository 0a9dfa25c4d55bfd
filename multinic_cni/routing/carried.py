"""What goes into the pod with a NIC that has its own addresses there (host-device-ipam). Pure.

The delegates carry the addresses; the NIC's routes and rules on the node would be lost.
"""

from __future__ import annotations

from multinic_cni.handover.documents import read_former
from multinic_cni.messages import RT_TABLE_MAIN
from multinic_cni.routing.steps import NamedHop, RouteStep, RuleStep
from multinic_ipam.networks import Network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from multinic_cni.attachments.record import NicRecord
    from multinic_cni.handover.former import FormerRoute
    from multinic_cni.route_messages import Rule
    from multinic_cni.routing.steps import Step


def carried_steps(nic: NicRecord) -> list[Step]:
    """Return the steps by which a NIC's routes and rules come into the pod; none if none are noted.

    The pod's own default route stays: only other tables' go with the NIC. Of a route over several
    NICs each brings its own next hops, under the same destination and metric. Rules without a
    source, or for what comes in by a link, are the node's policy and stay there.
    """
    former = read_former(nic.nic, nic.former)
    own = {(each.version, each.number) for each in former.addresses}
    routes = [_route(nic, each, own) for each in former.routes if not _is_default_of_main(each)]
    # A gateway may be reached by a route of the NIC's own, which must be there before.
    routes.sort(key=lambda step: any(hop.gateway for hop in step.hops))
    rules = [_rule(nic, each) for each in former.rules if _is_by_source(nic, each)]
    return [*routes, *rules]


def _is_default_of_main(each: FormerRoute) -> bool:
    return each.route.table == RT_TABLE_MAIN and each.route.prefix_length == 0


def _is_by_source(nic: NicRecord, rule: Rule) -> bool:
    """Tell whether a step can say the rule, too: without its other conditions it would be wider."""
    others = rule.destination or rule.iif or rule.oif not in {"", nic.nic}
    return bool(rule.source) and not others


def _route(nic: NicRecord, each: FormerRoute, own: Container[tuple[int, int]]) -> RouteStep:
    route = each.route
    # Another NIC's address, by which the node preferred to send, stays there with that NIC.
    source = route.source if (route.version, route.source) in own else 0
    return RouteStep(
        nic=nic.nic,
        network=Network(route.version, route.destination, route.prefix_length),
        table=route.table,
        hops=tuple(
            NamedHop(ifname=nic.ifname, gateway=hop.gateway, onlink=hop.onlink)
            for hop in each.hops
            if hop.dev == nic.nic
        ),
        kind=route.kind,
        protocol=route.protocol,
        scope=route.scope,
        metric=route.metric,
        mtu=route.mtu,
        source=source,
    )


def _rule(nic: NicRecord, rule: Rule) -> RuleStep:
    source = Network(rule.version, *rule.source) if rule.source else None
    return RuleStep(
        nic=nic.nic,
        version=rule.version,
        priority=rule.priority,
        table=rule.table,
        source=source,
        oif=nic.ifname if rule.oif else "",
    )
