"""Tables of routes between nodes, and the rules that lead to them, in the node's kernel.

What is ours carries our routing protocol's number: the kernel's state is the only state. A rule
comes last and goes first, so that a call which is killed leaves at worst a table that nobody reads.
"""

from __future__ import annotations

import errno

from multinic_cni.errors import ROUTING_FAILED, CniError
from multinic_cni.messages import RTN_UNICAST
from multinic_cni.netlink import NetlinkError
from multinic_cni.route_messages import Hop, KernelRoute, Rule
from multinic_cni.route_netlink import (
    add_route,
    add_rule,
    delete_route,
    delete_rule,
    routes_of,
    rules_of,
)
from multinic_cni.values import Value
from multinic_ipam.networks import Network, format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from multinic_cni.netlink import Netlink
    from multinic_cni.peers import NodeRoute, WantedRoutes

PROTOCOL = 113  # neither in iproute2's rt_protos, nor one of the usual network plugins'
PRIORITY = 30000  # before the main table's 32766, where a default route would take the packets
FIRST_TABLE, LAST_TABLE = 2000, 2999
# A NIC that goes takes its routes with it, between our look and our word.
GONE = frozenset({errno.ENOENT, errno.ESRCH, errno.ENODEV})


class Standing(Value):
    """What the kernel has for one family of a network, and the table that is to have it.

    `rules` are ours to its subnets; `routes` are all of the table, those of others, too.
    """

    table: int
    rules: tuple[Rule, ...]
    routes: tuple[KernelRoute, ...]

    def ours_in(self, subnets: Sequence[Network]) -> list[KernelRoute]:
        """Return our routes to these subnets: another network of ours may use the table, too."""
        return [
            route
            for route in self.routes
            if route.protocol == PROTOCOL
            and any(each.holds(route.version, route.destination) for each in subnets)
        ]


class Difference(Value):
    """What has to change. `replaced` are routes of ours to blocks that go another way now."""

    table: int
    missing: tuple[NodeRoute, ...]
    missing_rules: tuple[Rule, ...]
    replaced: tuple[KernelRoute, ...]
    surplus: tuple[KernelRoute, ...]
    surplus_rules: tuple[Rule, ...]

    @property
    def count(self) -> int:
        parts = (self.missing, self.missing_rules, self.replaced, self.surplus, self.surplus_rules)
        return sum(map(len, parts))


def standing(netlink: Netlink, wanted: WantedRoutes) -> Standing:
    """Look up what there is: in the table that our rules name, else in a free one.

    Raises NetlinkError, and CniError where no table is free.
    """
    rules = [rule for rule in rules_of(netlink) if rule.version == wanted.version]
    own = tuple(rule for rule in rules if leads_to(rule, wanted.subnets))
    taken = {rule.table for rule in rules}
    if own:
        listed = routes_of(netlink, wanted.version, own[0].table)
        return Standing(table=own[0].table, rules=own, routes=tuple(listed))
    for table in range(FIRST_TABLE, LAST_TABLE + 1):
        if table in taken:
            continue
        listed = routes_of(netlink, wanted.version, table)
        if all(route.protocol == PROTOCOL for route in listed):  # a killed call's, if any
            return Standing(table=table, rules=own, routes=tuple(listed))
    message = f"no routing table is free on this node: {FIRST_TABLE} to {LAST_TABLE} are in use"
    raise CniError(ROUTING_FAILED, message, "`ip route show table all` shows what they have")


def is_ours(rule: Rule) -> bool:
    return rule.protocol == PROTOCOL and rule.destination is not None


def leads_to(rule: Rule, subnets: Sequence[Network]) -> bool:
    """Tell whether a rule is ours, for one of these subnets."""
    return is_ours(rule) and any(
        (each.version, each.first, each.length) == (rule.version, *(rule.destination or ()))
        for each in subnets
    )


def difference(wanted: WantedRoutes, standing: Standing) -> Difference:
    """Compare. A route that somebody else has put there does as well as ours. Pure."""
    present = {way_of(route) for route in standing.routes}
    missing = [each for each in wanted.routes if wanted_way(each) not in present]
    ways = {wanted_way(each) for each in wanted.routes}
    blocks = {way[:2] for way in map(wanted_way, missing)}
    unwanted = [route for route in standing.ours_in(wanted.subnets) if way_of(route) not in ways]
    replaced = [each for each in unwanted if (each.destination, each.prefix_length) in blocks]
    rules = [_rule(each, standing.table) for each in wanted.subnets] if wanted.routes else []
    return Difference(
        table=standing.table,
        missing=tuple(missing),
        missing_rules=tuple(rule for rule in rules if rule not in standing.rules),
        replaced=tuple(replaced),
        surplus=tuple(route for route in unwanted if route not in replaced),
        surplus_rules=tuple(rule for rule in standing.rules if rule not in rules),
    )


def wanted_way(route: NodeRoute) -> tuple[int, ...]:
    return route.destination.first, route.destination.length, route.link, route.gateway


def way_of(route: KernelRoute) -> tuple[int, ...]:
    """Return where a route leads; empty for one of several hops or none, which is no wanted one."""
    if len(route.hops) != 1 or route.kind != RTN_UNICAST:
        return ()
    return route.destination, route.prefix_length, route.hops[0].link, route.hops[0].gateway


def _rule(subnet: Network, table: int) -> Rule:
    return Rule(
        version=subnet.version,
        priority=PRIORITY,
        table=table,
        destination=(subnet.first, subnet.length),
        protocol=PROTOCOL,
    )


def settle(netlink: Netlink, wanted: WantedRoutes, lack: Difference) -> list[CniError]:
    """Make a difference go, under the store's lock; return what the kernel refused.

    One route that it refuses keeps no other from its place.
    """
    if not wanted.routes:
        removed = remove_rules(netlink, lack.surplus_rules)
        return [*removed, *remove_routes(netlink, lack.surplus)]
    errors = remove_routes(netlink, (*lack.replaced, *lack.surplus))
    for route in lack.missing:
        errors += _add(netlink, route, lack.table)
    errors += _add_rules(netlink, lack.missing_rules)
    return [*errors, *remove_rules(netlink, lack.surplus_rules)]


def _add(netlink: Netlink, wanted: NodeRoute, table: int) -> list[CniError]:
    route = KernelRoute(
        version=wanted.destination.version,
        table=table,
        destination=wanted.destination.first,
        prefix_length=wanted.destination.length,
        hops=(Hop(link=wanted.link, gateway=wanted.gateway),),
        protocol=PROTOCOL,
    )
    try:
        add_route(netlink, route)
    except NetlinkError as error:
        why = error.strerror
        if error.errno == errno.EEXIST:
            listed = routes_of(netlink, route.version, table)
            if wanted_way(wanted) in map(way_of, listed):
                return []  # another call was here
            why = f"somebody else has a route to {wanted.destination} in table {table}"
        elif error.errno in {errno.ENETUNREACH, errno.EHOSTUNREACH}:
            why = f"{why} (is the gateway in a network of {wanted.nic}?)"
        message = f"NIC {wanted.nic}: the route {wanted} to {wanted.node} cannot be added: {why}"
        return [CniError(ROUTING_FAILED, message)]
    return []


def _add_rules(netlink: Netlink, rules: Sequence[Rule]) -> list[CniError]:
    errors = []
    for rule in rules:
        try:
            add_rule(netlink, rule)
        except NetlinkError as error:
            if error.errno != errno.EEXIST:
                errors.append(_refused(f"the {worded_rule(rule)} cannot be added", error))
    return errors


def remove_rules(netlink: Netlink, rules: Sequence[Rule]) -> list[CniError]:
    """Remove rules; one that has gone already is no error. Return what the kernel refused."""
    errors = []
    for rule in rules:
        try:
            delete_rule(netlink, rule)
        except NetlinkError as error:
            if error.errno not in GONE:
                errors.append(_refused(f"the {worded_rule(rule)} cannot be removed", error))
    return errors


def remove_routes(netlink: Netlink, routes: Sequence[KernelRoute]) -> list[CniError]:
    """Remove routes, as remove_rules does."""
    errors = []
    for route in routes:
        try:
            delete_route(netlink, route)
        except NetlinkError as error:
            if error.errno not in GONE:
                text = f"the route to {destination_of(route)} in table {route.table}"
                errors.append(_refused(f"{text} cannot be removed", error))
    return errors


def _refused(what: str, error: NetlinkError) -> CniError:
    return CniError(ROUTING_FAILED, f"{what}: {error.strerror}")


def our_rules(netlink: Netlink) -> list[Rule]:
    return [rule for rule in rules_of(netlink) if is_ours(rule)]


def forgotten(netlink: Netlink) -> Iterator[KernelRoute]:
    """Walk our routes in tables that no rule of ours leads to: a killed call's, or a removed one's.

    All routes of the node are listed for it.
    """
    read = {(rule.version, rule.table) for rule in our_rules(netlink)}
    for version in (4, 6):
        for route in routes_of(netlink, version):
            if route.protocol == PROTOCOL and (version, route.table) not in read:
                yield route


def destination_of(route: KernelRoute) -> Network:
    return Network(route.version, route.destination, route.prefix_length)


def worded_rule(rule: Rule) -> str:
    subnet = Network(rule.version, *(rule.destination or (0, 0)))
    return f"rule to {subnet} lookup {rule.table}"


def worded_route(route: KernelRoute, names: Callable[[int], str]) -> str:
    """Word a route of ours as `ip` does; `names` gives a link's name."""
    hops = "".join(
        f" via {format_address(route.version, hop.gateway)} dev {names(hop.link)}"
        for hop in route.hops
    )
    return f"{destination_of(route)}{hops}"
