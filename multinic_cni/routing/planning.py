"""From the routing block to the steps that set it in a pod, in their order. Pure."""

from __future__ import annotations

from multinic_cni.conf.routing import ALL, NONE
from multinic_cni.errors import BAD_CONF, ROUTING_FAILED, CniError
from multinic_cni.log import log
from multinic_cni.messages import RT_TABLE_MAIN
from multinic_cni.route_messages import RT_SCOPE_LINK, RTN_UNREACHABLE
from multinic_cni.routing.pod import key_of_route, key_of_step
from multinic_cni.routing.primary import former_defaults, take_default
from multinic_cni.routing.steps import NamedHop, NeighborStep, RouteStep, SysctlStep
from multinic_cni.routing.tables import (
    PRIMARY_PLACE,
    first_table,
    hop_by,
    link_local_route,
    own_routes,
    own_rules,
    routes_of_delegates,
)
from multinic_ipam.networks import format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from multinic_cni.conf.routing import CrossRail, PodRoute, Routing
    from multinic_cni.routing.pod import PodNow, RoutedNic
    from multinic_cni.routing.steps import Step
    from multinic_ipam.networks import Network

IFNAME = "IFNAME"
# With several NICs on one wire, each answers for its own addresses only (arp_ignore), asks in its
# own name (arp_announce), and takes what comes to it although the main table would send the reply
# elsewhere: loosely, since the kernel takes the larger of this and `all`, where 1 is strict.
WITH_SOURCE_RULES = {
    f"net/ipv4/conf/{IFNAME}/arp_ignore": "1",
    f"net/ipv4/conf/{IFNAME}/arp_announce": "2",
    f"net/ipv4/conf/{IFNAME}/rp_filter": "2",
}


class Planner:
    """One attachment's steps.

    `keep` are networks that stay on the pod's primary interface, `taken` tables that are not free.
    """

    def __init__(
        self,
        routing: Routing,
        nics: Sequence[RoutedNic],
        pod: PodNow,
        keep: Sequence[Network] | None = (),
        taken: Collection[int] = (),
    ) -> None:
        self._routing = routing
        self._nics = nics
        self._pod = pod
        self._keep = keep
        self._own = {nic.ifname for nic in nics}
        self._first = self._first_table({*taken, *pod.tables})

    def _first_table(self, taken: Collection[int]) -> int:
        places = [nic.place for nic in self._nics] if self._routing.source_rules else []
        if self._routing.default_route:
            places.append(PRIMARY_PLACE)
        return first_table(self._routing.first_table, places, taken)

    def steps(self) -> list[Step]:
        """Return everything to be done; CniError 7 for what this pod's NICs cannot have."""
        routes = [*self._routes(), *self._default()]
        refuse_what_is_there(routes, self._pod)
        return [*self._sysctls(), *self._neighbors(), *routes]

    def _sysctls(self) -> Iterator[SysctlStep]:
        settings = dict(WITH_SOURCE_RULES) if self._routing.source_rules else {}
        for key, value in self._routing.sysctls.items():
            settings[key if "/" in key else key.replace(".", "/")] = value
        for path, value in settings.items():
            parts = path.split("/")
            if IFNAME not in parts:
                yield SysctlStep(nic="", path=path, value=value)
                continue
            for nic in self._nics:
                own = "/".join(nic.ifname if part == IFNAME else part for part in parts)
                yield SysctlStep(nic=nic.nic, path=own, value=value)

    def _neighbors(self) -> Iterator[NeighborStep]:
        for neighbor in self._routing.neighbors:
            address = (neighbor.version, neighbor.number)
            nics = [
                nic for nic in self._named(neighbor.nics) if neighbor.nics or nic.reaches(address)
            ]
            if not nics:
                text = format_address(*address)
                log.warning(f"neighbour {text} is left out: the pod has no NIC in its network")
            for nic in nics:
                yield NeighborStep(
                    nic=nic.nic,
                    ifname=nic.ifname,
                    version=neighbor.version,
                    number=neighbor.number,
                    mac=neighbor.mac,
                )

    def _routes(self) -> list[Step]:
        """Return each NIC's table, then the main one; rules come behind the routes they lead to."""
        own, rules = [], []
        for nic in self._nics if self._routing.source_rules else ():
            table = self._first + nic.place
            own += self._own_table(nic, table)
            rules += list(own_rules(nic, table, self._routing))
        main = [step for nic in self._nics for step in self._wanted(nic, RT_TABLE_MAIN)]
        self._refuse_lost_routes({str(step.network) for step in main})
        self._refuse_lost_supernets({str(step.network) for step in main})
        kept = [step for step in joined(main) if not self._would_take_default(step)]
        return [*joined(own), *kept, *self._unreachable(), *rules]

    def _own_table(self, nic: RoutedNic, table: int) -> list[RouteStep]:
        """Return what is in a NIC's table; where its delegates know another way, theirs."""
        others = list(routes_of_delegates(nic, table, self._pod))
        known = set(map(key_of_step, others))
        routes = [step for step in own_routes(nic, table) if key_of_step(step) not in known]
        routes += [*self._wanted(nic, table), *others]
        has_ipv6 = any(version == 6 for version, _, _ in nic.addresses)  # noqa: PLR2004 - IPv6
        if has_ipv6 and self._routing.device_rules and self._routing.link_local:
            routes.append(link_local_route(nic, table))
        # A gateway is reached by a route on the link, which must be there before.
        return sorted(routes, key=lambda step: any(hop.gateway for hop in step.hops))

    def _refuse_lost_routes(self, planned: Collection[str]) -> None:
        """Refuse a route that no NIC can have. One of a rail that is missing is only logged."""
        for route in self._routing.routes:
            text = str(route.destination)
            if text in planned:
                continue
            if route.nics and not self._named(route.nics):
                log.warning(f"route {text} is left out: the pod has none of its NICs")
                continue
            gateway = format_address(*route.gateway) if route.gateway else ""
            reason = f"reaches its gateway {gateway}" if gateway else "has a gateway of its family"
            names = ", ".join(nic.nic for nic in self._nics)
            message = f"route {text}: none of the NICs {names} {reason}"
            raise CniError(ROUTING_FAILED, message, "see routing.routes and the NICs' pools")

    def _refuse_lost_supernets(self, planned: Collection[str]) -> None:
        cross = self._routing.cross_rail
        for supernet in cross.supernets if cross and cross.via != NONE else ():
            if cross and str(supernet) not in planned:
                names = ", ".join(nic.nic for nic in self._nics if self._leads(nic, cross))
                message = f"crossRail {supernet}: no gateway of its family on {names}"
                raise CniError(ROUTING_FAILED, message, "see routing.crossRail and the NICs' pools")

    def _would_take_default(self, step: RouteStep) -> bool:
        version = step.network.version
        taken = step.network.length == 0 and bool(former_defaults(version, self._pod, self._own))
        if taken:
            log.warning(f"route {step.network} is left out: the pod has a default route already")
        return taken

    def _wanted(self, nic: RoutedNic, table: int) -> Iterator[RouteStep]:
        """Yield a NIC's part of the routes that are asked for."""
        for route in self._routing.routes:
            if nic in self._named(route.nics):
                yield from self._by(nic, route, table)
        cross = self._routing.cross_rail
        if table == RT_TABLE_MAIN and cross and cross.via != NONE and self._leads(nic, cross):
            for supernet in cross.supernets:
                yield from self._by_gateway(nic, supernet, table)

    def _leads(self, nic: RoutedNic, cross: CrossRail) -> bool:
        if cross.via == ALL:
            return True
        if not any(cross.via in each.words for each in self._nics):
            raise self._no_such_nic("crossRail.via", cross.via)
        return cross.via in nic.words

    def _by(self, nic: RoutedNic, route: PodRoute, table: int) -> Iterator[RouteStep]:
        version = route.destination.version
        step = RouteStep(
            nic=nic.nic,
            network=route.destination,
            table=table,
            metric=route.metric,
            mtu=route.mtu,
        )
        if route.gateway is not None:
            # To a NIC that is named the kernel itself says that a gateway is not on its link.
            if route.nics or nic.reaches(route.gateway):
                yield step.but(hops=(NamedHop(ifname=nic.ifname, gateway=route.gateway[1]),))
        elif version in nic.gateways:
            yield step.but(hops=(hop_by(nic, version, nic.gateways[version]),))
        elif route.nics:
            scope = RT_SCOPE_LINK if version == 4 else 0  # noqa: PLR2004 - of IPv4
            yield step.but(hops=(NamedHop(ifname=nic.ifname),), scope=scope)

    def _by_gateway(self, nic: RoutedNic, network: Network, table: int) -> Iterator[RouteStep]:
        version = network.version
        if version in nic.gateways:
            hops = (hop_by(nic, version, nic.gateways[version]),)
            yield RouteStep(nic=nic.nic, network=network, table=table, hops=hops)

    def _unreachable(self) -> Iterator[RouteStep]:
        """Yield what keeps traffic to other rails from leaving by some default route."""
        cross = self._routing.cross_rail
        if cross is None or cross.via != NONE:
            return
        tables = {RT_TABLE_MAIN: self._nics[0]}
        if self._routing.source_rules:
            tables |= {self._first + nic.place: nic for nic in self._nics}
        for supernet in cross.supernets:
            for table, nic in tables.items():
                yield RouteStep(nic=nic.nic, network=supernet, table=table, kind=RTN_UNREACHABLE)

    def _default(self) -> Iterator[Step]:
        word = self._routing.default_route
        if not word:
            return
        nic = next((nic for nic in self._nics if word in nic.words), None)
        if nic is None:
            raise self._no_such_nic("defaultRoute", word)
        table = self._first + PRIMARY_PLACE
        yield from take_default(nic, table, self._pod, self._keep, self._own)

    def _named(self, words: Sequence[str] | None) -> list[RoutedNic]:
        if words is None:
            return list(self._nics)
        return [nic for nic in self._nics if any(word in nic.words for word in words)]

    def _no_such_nic(self, key: str, word: str) -> CniError:
        names = ", ".join(" or ".join(sorted(nic.words)) for nic in self._nics)
        message = f"routing.{key}: {word} is none of this pod's NICs, which are {names}"
        details = "name an entry of masterNets, masters or rails (rail0, rail1 …), or a NIC itself"
        return CniError(BAD_CONF, message, details)


def refuse_what_is_there(steps: Iterable[Step], pod: PodNow) -> None:
    """Refuse a route to where the pod has one already, as the kernel would.

    By then the record would say that it is ours, and undoing would take somebody else's away.
    """
    routes = [step for step in steps if isinstance(step, RouteStep)]
    present = set(map(key_of_route, pod.routes)) if routes else set()
    present -= {key_of_step(step) for step in routes if step.goes}
    for step in routes:
        if not step.goes and key_of_step(step) in present:
            message = f"NIC {step.nic}: the pod has a route to {step.network} already"
            details = "see the block routing in the net conf, and the pod's other networks"
            raise CniError(ROUTING_FAILED, message, details)


def joined(steps: Iterable[RouteStep]) -> list[RouteStep]:
    """Make one multipath route of those to the same destination; the kernel would keep one."""
    together: dict[tuple[object, ...], RouteStep] = {}
    for step in steps:
        network = step.network
        key = (step.table, network.version, network.first, network.length, step.metric)
        present = together.get(key)
        if present is None:
            together[key] = step
        else:
            new = [hop for hop in step.hops if hop not in present.hops]
            together[key] = present.but(hops=(*present.hops, *new))
    return list(together.values())
