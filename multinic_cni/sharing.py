"""Which addresses the interface of each chosen NIC may get on this node. Pure.

First the NIC's network, for each family; then the node's share of it; then its pool, without what
is never given.
"""

from __future__ import annotations

from multinic_cni.conf.share_words import (
    allocated_share,
    allocations_of,
    cut_of,
    excluded_by_address,
    excluded_by_place,
    words_of,
)
from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.host_index import derive
from multinic_cni.values import Value
from multinic_ipam.networks import Network, canonical, is_link_local, parse_address
from multinic_ipam.places import interface_network
from multinic_ipam.pools import GeometryError
from multinic_selectors.nics import least_movable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from multinic_cni.addressing import Alternatives
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.conf.share_words import Allocation, Words
    from multinic_cni.host_index import Derivation, HostIndex, ThisNode
    from multinic_ipam.pools import Pool
    from multinic_ipam.shares import Cut, Share
    from multinic_selectors.candidates import Choice
    from multinic_selectors.nics import Nic


class NicShare(Value):
    """A pool of a NIC, and how this node came to it.

    `host_index` is None where the index does not matter: every node has the same addresses, or the
    conf names the node's share (`by_name`).
    """

    network: Network
    pool: Pool
    host_index: HostIndex | None = None
    by_name: bool = False


class NicCut(Value):
    """How all nodes share one network of a NIC.

    `host_index` is this node's, None where the index does not matter for it. `derivation` is what
    the NIC's own address says of it. `allocations` name the shares of some nodes instead.
    """

    cut: Cut
    derivation: Derivation
    host_index: HostIndex | None
    allocations: Sequence[Allocation]


class NicShares(Value):
    """A chosen NIC's shares: for each family, those to try one after the other."""

    choice: Choice
    families: Sequence[Sequence[NicShare]]

    @property
    def pools(self) -> Alternatives:
        return [[share.pool for share in family] for family in self.families]


class Sharing:
    """How this node shares the networks of the NICs that were chosen, by one net conf.

    `node_addresses`, (version, address), are never given to a pod.
    """

    def __init__(
        self, conf: NetConf, node: ThisNode, node_addresses: Iterable[tuple[int, int]]
    ) -> None:
        self._conf = conf
        self._node = node
        self._never = [*node_addresses, *_gateways(conf.ipam)]
        self._allocations = allocations_of(conf.ipam)

    def of(self, choice: Choice) -> NicShares:
        """Return a NIC's shares, with the pools of its addresses.

        CniError 7 for numbers that do not fit, for a NIC that has no network, and for a node
        without a host index where one decides.
        """
        families: dict[int, list[NicShare]] = {}
        try:
            for network, words in _networks(self._conf, choice):
                families.setdefault(network.version, []).append(self._one(choice, network, words))
        except GeometryError as error:
            message = f"no addresses for NIC {choice.nic.name}: {error}"
            raise CniError(BAD_CONF, message) from None
        return NicShares(choice=choice, families=list(families.values()))

    def cuts_of(self, choice: Choice) -> list[NicCut]:
        """Return how each network of a NIC is shared; CniError 7 as `of`."""
        try:
            return [self._cut(choice, *each) for each in _networks(self._conf, choice)]
        except GeometryError as error:
            message = f"no addresses for NIC {choice.nic.name}: {error}"
            raise CniError(BAD_CONF, message) from None

    def _cut(self, choice: Choice, network: Network, words: Words) -> NicCut:
        cut = cut_of(words, network)
        own, others = self._allocated(network, words)
        derivation = self._derivation(choice, cut)
        decides = own is None and cut.deals
        index = self._node.index_of(choice.nic.name, derivation) if decides else None
        allocations = [*others, *([own] if own else ())]
        return NicCut(cut=cut, derivation=derivation, host_index=index, allocations=allocations)

    def _derivation(self, choice: Choice, cut: Cut) -> Derivation:
        alone = _masters_sharing(self._conf.ipam, cut.network) <= 1
        return derive(choice.nic, _master_net(self._conf, choice), cut, alone=alone)

    def _one(self, choice: Choice, network: Network, words: Words) -> NicShare:
        cut = cut_of(words, network)
        own, others = self._allocated(network, words)
        index = None
        if own is not None:
            share = allocated_share(cut, own)
        elif cut.deals:
            index = self._node.index_of(choice.nic.name, self._derivation(choice, cut))
            share = cut.share(index.number)
        else:
            share = cut.share(0)
        self._refuse_overlap(share, index, others)
        never = [*self._never, *(parse_address(each.gateway) for each in others if each.gateway)]
        if cut.gateway is not None:
            never.append((network.version, cut.gateway))  # an allocation's own may replace it
        excluded = [
            *excluded_by_address(words, network.version),
            *excluded_by_place(words, share),
            *((number, number) for version, number in never if network.holds(version, number)),
        ]
        pool = share.pool(excluded)
        return NicShare(network=network, pool=pool, host_index=index, by_name=own is not None)

    def _allocated(
        self, network: Network, words: Words
    ) -> tuple[Allocation | None, list[Allocation]]:
        """Return the node's own allocation in a NIC's network, and those of others there."""
        of_range = [] if words is self._conf.ipam else allocations_of(words)
        own: list[Allocation] = []
        others: list[Allocation] = []
        for each in (*self._allocations, *of_range):
            if not network.overlaps(each.prefix):
                continue  # another NIC's
            if each.prefix.length < network.length:
                raise GeometryError(f"{each.prefix} of staticAllocations is not in {network}")
            (own if each.node and each.node == self._node.name else others).append(each)
        if len(own) > 1:
            message = (
                f"staticAllocations give {self._node.name} both {own[0].prefix} and"
                f" {own[1].prefix} of {network}"
            )
            raise GeometryError(message)
        return own[0] if own else None, others

    def _refuse_overlap(
        self, share: Share, index: HostIndex | None, others: Sequence[Allocation]
    ) -> None:
        """Refuse a share that has addresses of somebody else's: they would be given twice."""
        for other in others:
            if share.overlaps(other.prefix):
                by_index = f" (host index {index.number}, from {index.source})" if index else ""
                message = f"{share}, the share of {self._node.name}{by_index}, overlaps {other}"
                raise GeometryError(message)


def _networks(conf: NetConf, choice: Choice) -> list[tuple[Network, Words]]:
    """Return a NIC's networks, each with the words that say how it is shared."""
    if conf.subnets:
        bits, place = conf.ipam.get("interfaceBlock", 0), choice.place or 0
        return [(interface_network(each, bits, place), conf.ipam) for each in conf.subnets]
    if conf.ipam.get("ranges"):
        return _ranges(conf, choice)
    return [(network, conf.ipam) for network in _own_networks(conf, choice.nic)]


def _ranges(conf: NetConf, choice: Choice) -> list[tuple[Network, Words]]:
    # Networks may be written in another way than ours ("fd00:0::/64").
    by_master = {canonical(key): listed for key, listed in conf.ipam["ranges"].items()}
    master = _key_of_ranges(conf, choice, by_master)
    parsed = [
        (Network.parse(each.get("subnet") or master), words_of(conf.ipam, each))
        for each in by_master[master]
    ]
    return sorted(parsed, key=lambda each: each[0].version)


def _key_of_ranges(conf: NetConf, choice: Choice, by_master: Mapping[str, object]) -> str:
    """Return whose ranges a NIC has: its entry of masterNets or masters, else its network's."""
    masters = conf.masters_in_order
    # A NIC that the conf names as a device only has a place, but no entry.
    for entry in masters[choice.place : choice.place + 1] if choice.place is not None else ():
        if entry in by_master:
            return entry
    for key in by_master:
        if "/" in key:
            network = Network.parse(key)
            if any(network.holds(version, number) for version, number, _ in choice.nic.addresses):
                return key
    raise GeometryError(f"ipam.ranges has no entry for it: it has {', '.join(by_master)}")


def _own_networks(conf: NetConf, nic: Nic) -> list[Network]:
    """Return the networks that the NIC itself is in, the first of each family.

    Only addresses in an entry of masterNets count; of a NIC that has none, and was named in
    masters, all but the link-local ones.
    """
    addresses = [each for each in nic.own_addresses if not is_link_local(each[0], each[1])]
    wanted = [
        each for each in addresses if any(net.holds(each[0], each[1]) for net in conf.master_nets)
    ]
    by_family: dict[int, list[tuple[int, int, int]]] = {4: [], 6: []}
    for address in wanted or addresses:
        by_family[address[0]].append(address)
    firsts = [least_movable(listed)[0] for listed in by_family.values() if listed]
    if not firsts:
        raise GeometryError("it has no address, so that its own network is not known")
    return [Network.around(*address) for address in firsts]


def _masters_sharing(ipam: Mapping[str, Any], network: Network) -> int:
    """Count the entries of `ranges` from which a network is shared."""
    return sum(
        any(Network.parse(each.get("subnet") or master) == network for each in listed)
        for master, listed in (ipam.get("ranges") or {}).items()
    )


def _master_net(conf: NetConf, choice: Choice) -> Network | None:
    if choice.place is None or choice.place >= len(conf.master_nets):
        return None
    return conf.master_nets[choice.place]


def _gateways(ipam: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the gateways that the conf names: another range of their subnet must not give them."""
    named = [parse_address(route["gw"]) for route in ipam.get("routes") or () if route.get("gw")]
    for master, listed in (ipam.get("ranges") or {}).items():
        for each in listed:
            cut = cut_of(words_of(ipam, each), Network.parse(each.get("subnet") or master))
            if cut.gateway is not None:
                named.append((cut.network.version, cut.gateway))
    return named
