"""The other nodes of a network as one NIC of this node reaches them. Pure.

Where the addresses of their NICs are not listed, each follows from the node's index, in networks
where the index follows from the address.
"""

from __future__ import annotations

from multinic_cni.conf.node import PATH
from multinic_cni.conf.share_words import allocated_share
from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.values import Value
from multinic_ipam.networks import Network, canonical, parse_address
from multinic_ipam.pools import GeometryError, usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.conf.node import Peer
    from multinic_cni.host_index import ThisNode
    from multinic_cni.sharing import NicCut
    from multinic_ipam.shares import Share
    from multinic_selectors.candidates import Choice

MOST_NODES = 4096  # by one NIC: each ADD compares their routes
LIST_THEM = (
    f'list them in {PATH}: {{"peers": {{"node-b": {{"hostIndex": 1, "addresses":'
    ' {"10.1.0.0/24": "10.1.0.2"}}}} (an entry of masterNets, masters or rails, and what the'
    " node's NIC has there)"
)


class OtherNode(Value):
    """A node, its share of the NIC's network, and the address of its NIC there."""

    node: str
    share: Share
    gateway: int


def too_many(nic: str, count: int) -> CniError:
    message = f"NIC {nic}: {count} routes to other nodes are too many: {MOST_NODES} at most"
    return CniError(BAD_CONF, message, LIST_THEM)


class OtherNodes:
    """Those of one NIC's network; `left_out` says what of them cannot be reached, and why."""

    def __init__(self, conf: NetConf, choice: Choice, cut: NicCut, node: ThisNode) -> None:
        self._conf = conf
        self._choice = choice
        self._nic = choice.nic
        self._cut = cut
        self._node = node
        self._version = cut.cut.network.version
        self.left_out: list[str] = []
        if not cut.cut.deals:
            message = (
                f"NIC {self._nic.name}: no node has a part of {cut.cut.network} to itself, so that"
                " there is nothing to route: set hostBlock, perNodeBlockSize or"
                " perNodeNetworkPrefix"
            )
            raise CniError(BAD_CONF, message)

    def among(self, peers: Mapping[str, Peer]) -> list[OtherNode]:
        """Find those that node.json lists; one that has no such NIC is left out."""
        return [
            found
            for name, peer in peers.items()
            if name != self._node.name
            for found in self._listed(name, peer)
        ]

    def _listed(self, name: str, peer: Peer) -> Iterator[OtherNode]:
        addresses = [parse_address(text) for text in self._addresses(peer)]
        own = {(version, number) for version, number, _ in self._nic.addresses}
        if own.intersection(addresses):
            return  # this node under another name: one file may serve all nodes
        gateway = next((number for version, number in addresses if version == self._version), None)
        if gateway is not None:
            share = self._share(name, self._index(name, peer))
            yield OtherNode(node=name, share=share, gateway=gateway)
        elif addresses:
            self.left_out.append(
                f"NIC {self._nic.name}: {PATH} has no IPv{self._version} address of {name} there"
            )

    def _addresses(self, peer: Peer) -> Sequence[str]:
        entries, place = self._conf.masters_in_order, self._choice.place
        if place is None or place >= len(entries):
            return ()
        own = canonical(entries[place])
        listed = (texts for entry, texts in peer.addresses.items() if canonical(entry) == own)
        return next(listed, ())

    def _index(self, name: str, peer: Peer) -> int | None:
        return self._conf.hosts.get(name) if peer.host_index is None else peer.host_index

    def _share(self, name: str, index: int | None) -> Share:
        """Return a node's share: the one that the conf names, else by its index."""
        cut = self._cut.cut
        try:
            for each in self._cut.allocations:
                if each.node == name:
                    return allocated_share(cut, each)
            if index is None:
                message = f"{PATH}: peer {name} needs a hostIndex: hosts does not name it either"
                raise CniError(BAD_CONF, message)
            own = self._cut.host_index
            if own is not None and own.number == index:
                message = (
                    f"{name} has host index {index}, and so has this node ({self._node.name}), from"
                    f" {own.source}: both give out the same addresses"
                )
                raise CniError(BAD_CONF, message)
            return cut.share(index)
        except GeometryError as error:
            raise CniError(BAD_CONF, f"NIC {self._nic.name}: node {name}: {error}") from None

    def derived(self) -> list[OtherNode]:
        """Find those whose index follows from their NIC's address: of `hosts`, or all there are."""
        number, own = self._cut.derivation.number, self._cut.host_index
        if number is None:
            raise self._not_known(self._cut.derivation.text)
        if own is not None and own.number != number:
            why = (
                f"this node's index, {own.number} from {own.source}, is not that of its NIC's"
                f" address, {number}"
            )
            raise self._not_known(why)
        net = self._conf.master_nets[self._choice.place or 0]
        if net.version != self._version:
            raise self._not_known(f"only IPv{net.version} addresses of NICs follow from an index")
        return [
            OtherNode(node=name, share=self._share(name, index), gateway=net.first + index)
            for name, index in self._indexes(net, number)
            if index != number
        ]

    def _indexes(self, net: Network, own: int) -> Iterator[tuple[str, int]]:
        """Yield each node and its index, this one perhaps among them."""
        low, high = (each - net.first for each in usable(net))
        if self._conf.hosts:
            for name, index in self._conf.hosts.items():
                if not low <= index <= high:
                    raise self._not_known(f"index {index} of {name} is no address in {net}")
                yield name, index
            return
        if any(each.node for each in self._cut.allocations):
            raise self._not_known("staticAllocations name shares of nodes, whose indexes are not")
        reached = self._neighbors(net, own)
        low, high = max(low, reached[0]), min(high, reached[1])
        if high - low > MOST_NODES:
            raise too_many(self._nic.name, high - low)
        yield from ((f"host {index}", index) for index in range(low, high + 1))

    def _neighbors(self, net: Network, own: int) -> tuple[int, int]:
        """Return the first and last index that is on the NIC's link, which may be less than net."""
        links = [
            Network.around(*each)
            for each in self._nic.own_addresses
            if each[:2] == (net.version, net.first + own)
        ]
        link = min(links, key=lambda each: each.length)
        if link.size == 1:
            raise self._not_known("its address is a single host's, with nobody beside it")
        first, last = usable(link)
        return first - net.first, last - net.first

    def _not_known(self, why: str) -> CniError:
        message = (
            f"NIC {self._nic.name}: the addresses that other nodes' NICs have there are not known:"
            f" node.json lists no peers of this network, and {why}"
        )
        return CniError(BAD_CONF, message, LIST_THEM)
