"""Shares: which part of a NIC's network a node gives addresses of, as arithmetic on its index.

A network is cut in one of four ways:

    HostBlocks      2^bits equal blocks, a node has one; the address carries the network's length
    AddressBlocks   runs of so many addresses; the address carries the network's length
    NodeNetworks    networks of a longer prefix, which the address carries, too
    SamePart        no cut: every node has the same run
"""

from __future__ import annotations

from multinic_ipam.networks import BITS, format_address
from multinic_ipam.places import check_index, gateway_at, nth_network, refuse_long
from multinic_ipam.pools import GeometryError, Pool, usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_ipam.networks import Network
    from multinic_ipam.pools import Run


class Share:
    """What one node has of a network, before anything of it is excluded.

    `first` and `last` are inclusive. `block` names the store's folder. `link` is the network whose
    length the pod's address carries.
    """

    __slots__ = ("block", "dealt", "first", "gateway", "last", "link")

    def __init__(
        self,
        block: Network,
        link: Network,
        *,
        run: Run | None = None,
        gateway: int | None = None,
        dealt: bool = True,
    ) -> None:
        self.block = block
        self.link = link
        self.first, self.last = run or (block.first, block.last)
        self.gateway = gateway
        self.dealt = dealt

    def pool(self, excluded: Sequence[Run] = ()) -> Pool:
        """Return what may be given out; GeometryError if nothing is left but special addresses.

        Inside the link only its own first and last address are special, not those of a block in
        it; yet a block keeps its own back where it can: the operator's pods expect it.
        """
        bounds = [(self.first, self.last), usable(self.link), usable(self.block)]
        pool = Pool(
            self.block,
            prefix_length=self.link.length,
            start=max(first for first, _ in bounds),
            end=min(last for _, last in bounds),
            gateway=self.gateway,
            excluded=excluded,
            dealt=self.dealt,
        )
        if not pool.size:
            raise GeometryError(f"{self} has no address for a pod")
        return pool

    def run(self, start_index: int, end_index: int) -> Run:
        """Return the addresses at these places of the share, as far as it reaches."""
        return self.first + start_index, min(self.first + end_index, self.last)

    def overlaps(self, other: Network) -> bool:
        return (
            other.version == self.link.version
            and self.first <= other.last
            and other.first <= self.last
        )

    def __str__(self) -> str:
        if (self.first, self.last) == (self.block.first, self.block.last):
            return str(self.block)
        first, last = (format_address(self.link.version, end) for end in (self.first, self.last))
        return f"{first} to {last} of {self.link}"


class Cut:
    """A network and a way of cutting it; the constructors raise GeometryError.

    `deals` says that each host index has a share of its own, else all nodes have the same one;
    `routed` that a share is a network by itself, whose length the pod's address carries. `str()` is
    the way in the net conf's words.
    """

    __slots__ = ("gateway", "network")
    deals = True
    routed = False

    def __init__(self, network: Network, gateway: int | None) -> None:
        self.network = network
        self.gateway = gateway

    @property
    def count(self) -> int:
        """How many shares there are: host indexes count from 0."""
        raise NotImplementedError

    def share(self, host_index: int) -> Share:
        """Return a node's share; GeometryError if there are not so many."""
        check_index("host", host_index, str(self), self.count)
        return self._share(host_index)

    def named(self, prefix: Network, gateway: int | None) -> Share:
        """Return the share that the net conf names instead; raises GeometryError.

        `prefix` lies in the network; `gateway` replaces the network's, if there is one.
        """
        run = (prefix.first, prefix.last)
        gateway = self.gateway if gateway is None else gateway
        return Share(self.network, self.network, run=run, gateway=gateway)

    def _share(self, host_index: int) -> Share:
        raise NotImplementedError


class HostBlocks(Cut):
    """The Multi-NIC operator's way: network = | prefix | host index | pod |."""

    __slots__ = ("bits",)

    def __init__(self, network: Network, bits: int, gateway: int | None = None) -> None:
        super().__init__(network, gateway)
        refuse_long("hostBlock", bits, network)
        self.bits = bits

    @property
    def count(self) -> int:
        return 1 << self.bits

    def named(self, prefix: Network, gateway: int | None) -> Share:
        gateway = self.gateway if gateway is None else gateway
        return Share(prefix, self.network, gateway=gateway)

    def _share(self, host_index: int) -> Share:
        block = nth_network(self.network, self.bits, host_index)
        return Share(block, self.network, gateway=self.gateway)

    def __str__(self) -> str:
        return f"hostBlock {self.bits}"


class AddressBlocks(Cut):
    """The way of nv-ipam's IPPool: runs of `size` addresses from the first usable one on.

    A run that would touch the broadcast address is none. A gateway in a run is just not given,
    but with runs of one address it is passed over, so that no node is left without any.
    """

    __slots__ = ("size",)

    def __init__(self, network: Network, size: int, gateway: int | None = None) -> None:
        super().__init__(network, gateway)
        self.size = size
        if not self.count:
            low, high = usable(network)
            message = f"{self} does not fit: {network} has {high - low + 1} addresses for pods"
            raise GeometryError(message)

    @property
    def count(self) -> int:
        low, high = usable(self.network)
        return (high - low + 1 - self._passed_over(high)) // self.size

    def _share(self, host_index: int) -> Share:
        first = usable(self.network)[0] + host_index * self.size
        first += self._passed_over(first)
        run = (first, first + self.size - 1)
        return Share(self.network, self.network, run=run, gateway=self.gateway)

    def _passed_over(self, number: int) -> int:
        low = usable(self.network)[0]
        return int(self.size == 1 and self.gateway is not None and low <= self.gateway <= number)

    def __str__(self) -> str:
        return f"perNodeBlockSize {self.size} of {self.network}"


class NodeNetworks(Cut):
    """The way of nv-ipam's CIDRPool: each node has a network of its own, with a gateway in it."""

    __slots__ = ("gateway_index", "length")
    routed = True

    def __init__(self, network: Network, length: int, gateway_index: int | None = None) -> None:
        super().__init__(network, None)
        self.length = length
        self.gateway_index = gateway_index
        if not network.length <= length <= BITS[network.version]:
            message = (
                f"perNodeNetworkPrefix {length} does not fit in {network}: it may be"
                f" {network.length} to {BITS[network.version]}"
            )
            raise GeometryError(message)
        self._share(0)  # so that a wrong index of the gateway is found out at once

    @property
    def count(self) -> int:
        return 1 << (self.length - self.network.length)

    def named(self, prefix: Network, gateway: int | None) -> Share:
        if gateway is None:
            gateway = gateway_at(prefix, self.gateway_index)
        return Share(prefix, prefix, gateway=gateway)

    def _share(self, host_index: int) -> Share:
        bits = self.length - self.network.length
        return self.named(nth_network(self.network, bits, host_index), None)

    def __str__(self) -> str:
        return f"perNodeNetworkPrefix {self.length} of {self.network}"


class SamePart(Cut):
    """Every node gives addresses of the same run: its network is its own, or the run is."""

    __slots__ = ("run",)
    deals = False

    def __init__(
        self, network: Network, run: Run | None = None, gateway: int | None = None
    ) -> None:
        super().__init__(network, gateway)
        self.run = run

    @property
    def count(self) -> int:
        return 1

    def _share(self, _host_index: int) -> Share:
        run, gateway = self.run, self.gateway
        return Share(self.network, self.network, run=run, gateway=gateway, dealt=False)

    def __str__(self) -> str:
        return f"a range of {self.network}"
