"""The routes from a node to the other nodes' pods, for networks that nodes route. Pure.

On NIC k the block of node j goes by node j's NIC k.
"""

from __future__ import annotations

from multinic_cni.conf.node import PATH
from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.other_nodes import MOST_NODES, OtherNodes, too_many
from multinic_cni.sharing import Sharing
from multinic_cni.values import Value
from multinic_ipam.networks import BITS, Network, canonical, format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.conf.node import Peer
    from multinic_cni.host_index import ThisNode
    from multinic_cni.other_nodes import OtherNode
    from multinic_ipam.shares import Share
    from multinic_selectors.candidates import Choice


class NodeRoute(Value):
    """A part of a node's block, by that node's NIC; `link` is the index of our own."""

    destination: Network
    gateway: int
    nic: str
    link: int
    node: str

    def __str__(self) -> str:
        gateway = format_address(self.destination.version, self.gateway)
        return f"{self.destination} via {gateway} dev {self.nic}"


class WantedRoutes(Value):
    """One family of a network; `subnets` are what its pods have addresses of, on all nodes."""

    network: str
    version: int
    subnets: tuple[Network, ...]
    routes: tuple[NodeRoute, ...]


class Wanted(Value):
    """What the node needs, and what of it cannot be: a NIC that is missing or down, say."""

    families: tuple[WantedRoutes, ...]
    left_out: tuple[str, ...] = ()


def wanted_routes(
    conf: NetConf, choices: Sequence[Choice], node: ThisNode, peers: Mapping[str, Peer]
) -> Wanted:
    """Return the routes to the blocks of all other nodes by all these NICs.

    CniError 7 where nodes have no blocks of their own, or where their NICs are not known.
    """
    sharing = Sharing(conf, node, ())
    known = _peers_of(conf, peers)
    subnets: dict[int, dict[Network, None]] = {}
    routes: dict[int, list[NodeRoute]] = {}
    left_out: list[str] = []
    for choice in choices:
        if not choice.nic.up:  # the kernel takes no route by it
            left_out.append(f"NIC {choice.nic.name} is down: it has no routes to other nodes")
            continue
        for each in sharing.cuts_of(choice):
            network = each.cut.network
            others = OtherNodes(conf, choice, each, node)
            found = others.among(known) if known else others.derived()
            routes.setdefault(network.version, []).extend(_routes(choice, found))
            whole = [subnet for subnet in conf.subnets if subnet.overlaps(network)] or [network]
            subnets.setdefault(network.version, {}).update(dict.fromkeys(whole))
            left_out += others.left_out
    for listed in routes.values():
        _refuse_doubles(listed)
    families = [
        WantedRoutes(
            network=conf.name,
            version=version,
            subnets=tuple(subnets[version]),
            routes=tuple(routes[version]),
        )
        for version in routes
    ]
    return Wanted(families=tuple(families), left_out=tuple(left_out))


def _peers_of(conf: NetConf, peers: Mapping[str, Peer]) -> Mapping[str, Peer]:
    """Return the peers if one has an address in this network: the file may be about others."""
    entries = set(map(canonical, conf.masters_in_order))
    named = (canonical(entry) for peer in peers.values() for entry in peer.addresses)
    return peers if any(entry in entries for entry in named) else {}


def merged(families: Sequence[WantedRoutes]) -> list[WantedRoutes]:
    """Put together what networks with a subnet in common want; CniError 7 where they differ.

    They have one rule for it, and one table.
    """
    groups: list[list[WantedRoutes]] = []
    for family in families:
        alike = [group for group in groups if any(_in_common(family, each) for each in group)]
        groups = [group for group in groups if group not in alike]
        groups.append([*(each for group in alike for each in group), family])
    return [_as_one(group) for group in groups]


def _in_common(one: WantedRoutes, other: WantedRoutes) -> bool:
    return any(subnet in other.subnets for subnet in one.subnets)


def _as_one(alike: Sequence[WantedRoutes]) -> WantedRoutes:
    listed = [route for each in alike for route in each.routes]
    routes = list({(str(route), route.node): route for route in listed}.values())
    _refuse_doubles(routes)
    names = ", ".join(dict.fromkeys(each.network for each in alike))
    subnets = tuple(dict.fromkeys(subnet for each in alike for subnet in each.subnets))
    return alike[0].but(network=names, subnets=subnets, routes=tuple(routes))


def _routes(choice: Choice, found: Sequence[OtherNode]) -> list[NodeRoute]:
    nic = choice.nic
    routes = [
        NodeRoute(
            destination=network,
            gateway=each.gateway,
            nic=nic.name,
            link=nic.index,
            node=each.node,
        )
        for each in found
        for network in _networks_in(each.share)
    ]
    if len(routes) > MOST_NODES:
        raise too_many(nic.name, len(routes))
    return routes


def _networks_in(share: Share) -> Iterator[Network]:
    """Cut a run of addresses into networks, the fewest: a block by `hostBlock` is one already."""
    version, at = share.link.version, share.first
    while at <= share.last:
        by_place = (at & -at).bit_length() - 1 if at else BITS[version]
        by_length = (share.last - at + 1).bit_length() - 1
        bits = min(by_place, by_length)
        yield Network(version, at, BITS[version] - bits)
        at += 1 << bits


def _refuse_doubles(routes: Sequence[NodeRoute]) -> None:
    """Refuse a block to which two NICs lead: on which of them its pods are, nobody knows."""
    by_block: dict[tuple[int, int], NodeRoute] = {}
    for route in routes:
        other = by_block.setdefault((route.destination.first, route.destination.length), route)
        if other is route:
            continue
        if other.node != route.node:
            message = (
                f"{other.node} and {route.node} have the same share {route.destination}: correct"
                f" peers in {PATH}, or hosts"
            )
        else:
            message = (
                f"NICs {other.nic} and {route.nic} share {route.destination} of {route.node}: for"
                " routes between nodes each NIC needs a network of its own (interfaceBlock, and an"
                " entry of masterNets, masters or rails for each NIC)"
            )
        raise CniError(BAD_CONF, message)
