"""What is known when a pod's routes are planned: our interfaces, and what the pod has already."""

from __future__ import annotations

from multinic_cni.route_messages import WHOLE
from multinic_cni.route_netlink import routes_of, rules_of
from multinic_cni.values import Value
from multinic_ipam.networks import Network, parse_address, split_cidr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from multinic_cni.attachments.record import NicRecord
    from multinic_cni.messages import Address, Link
    from multinic_cni.netlink import Netlink
    from multinic_cni.route_messages import KernelRoute, Rule
    from multinic_cni.routing.steps import RouteStep
    from multinic_selectors.candidates import Choice

VERSIONS = (4, 6)
DEFAULT_METRIC = {4: 0, 6: 1024}  # what the kernel takes where none is given


class RoutedNic(Value):
    """An interface of ours: `words` are those by which a conf may name its NIC.

    `addresses` are (4 or 6, address, prefix length); `gateways` are by 4 or 6.
    """

    nic: str
    words: Collection[str]
    place: int
    ifname: str
    addresses: Sequence[tuple[int, int, int]]
    gateways: Mapping[int, int]

    def networks(self, version: int) -> list[tuple[Network, int]]:
        """Return the networks on the link, each with the NIC's address in it."""
        return [
            (Network.around(family, number, length), number)
            for family, number, length in self.addresses
            if family == version and length < WHOLE[version]
        ]

    def reaches(self, gateway: tuple[int, int]) -> bool:
        version, _ = gateway
        return any(network.holds(*gateway) for network, _ in self.networks(version))


class PodNow(Value):
    """Links by name, addresses, routes of all tables and rules, of both families."""

    links: Mapping[str, Link]
    addresses: Sequence[Address]
    routes: Sequence[KernelRoute]
    rules: Sequence[Rule]

    @property
    def tables(self) -> set[int]:
        """The tables that have routes, or that a rule leads to."""
        return {route.table for route in self.routes} | {rule.table for rule in self.rules}

    def name_of(self, index: int) -> str:
        return next((name for name, link in self.links.items() if link.index == index), "")


def key_of_route(route: KernelRoute) -> tuple[int, ...]:
    """Return what two routes of a pod cannot share."""
    place = (route.version, route.table, route.destination, route.prefix_length)
    return (*place, route.metric or DEFAULT_METRIC[route.version])


def key_of_step(step: RouteStep) -> tuple[int, ...]:
    network = step.network
    place = (network.version, step.table, network.first, network.length)
    return (*place, step.metric or DEFAULT_METRIC[network.version])


def look(netlink: Netlink) -> PodNow:
    """Ask the kernel; raises OSError."""
    return PodNow(
        links={link.name: link for link in netlink.links()},
        addresses=netlink.addresses(),
        routes=[route for version in VERSIONS for route in routes_of(netlink, version)],
        rules=rules_of(netlink),
    )


def routed_nics(
    nics: Sequence[NicRecord],
    choices: Sequence[Choice],
    entries: Sequence[str],
    rails: Collection[str] = (),
) -> list[RoutedNic]:
    """Return a pod's interfaces as they are planned with.

    `choices` are those by which the NICs were chosen, `entries` those of the conf that number them.
    `rails` are the rails' names: a NIC that happens to be called so is not that rail.
    """
    places = [choice.place for choice in choices]
    if None in places or len(set(places)) < len(places):
        places = list(range(len(choices)))  # a glob stands for several NICs: it numbers none
    return [
        _routed(nic, choice, entries, rails, place or 0)
        for nic, choice, place in zip(nics, choices, places, strict=True)
    ]


def _routed(
    nic: NicRecord, choice: Choice, entries: Sequence[str], rails: Collection[str], place: int
) -> RoutedNic:
    ips = nic.result.ips if nic.result else ()
    gateways: dict[int, int] = {}
    for ip in ips:
        if ip.gateway:
            gateways.setdefault(*parse_address(ip.gateway))
    entry = () if choice.place is None else entries[choice.place : choice.place + 1]
    return RoutedNic(
        nic=nic.nic,
        words={choice.nic.name, *choice.nic.altnames}.difference(rails).union(entry),
        place=place,
        ifname=nic.ifname,
        addresses=[split_cidr(ip.address) for ip in ips],
        gateways=gateways,
    )
