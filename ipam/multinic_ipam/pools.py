"""Pools: which addresses of a block this node may hand out, as arithmetic and never as a list."""

from __future__ import annotations

from multinic_ipam.networks import BITS, Network, NetworkError, format_address, parse_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


class GeometryError(ValueError):
    """Numbers that do not fit together; its message says them."""


class Pool:
    """A run of addresses of one block, and the prefix length a pod's address carries.

    `block` names the store's folder: networks that use the same block share it. `start` and `end`
    bound what is handed out, both inclusive; `excluded` holds networks and single addresses in it
    that never are.
    """

    __slots__ = ("block", "end", "excluded", "gateway", "prefix_length", "start")

    def __init__(  # a plain record: one argument a field
        self,
        block: Network,
        *,
        prefix_length: int,
        start: int | None = None,
        end: int | None = None,
        gateway: int | None = None,
        excluded: Sequence[Network] = (),
    ) -> None:
        self.block = block
        self.prefix_length = prefix_length
        lowest, highest = usable(block)
        self.start = lowest if start is None else start
        self.end = highest if end is None else end
        self.gateway = gateway
        self.excluded = excluded

    def free_after(self, last: int | None, taken: Collection[int]) -> Iterator[int]:
        """Yield the pool's addresses, next-fit from the last one given, without those in `taken`.

        Next-fit lets a freed address rest longest: a neighbour's stale ARP entry or a late frame
        for the old pod does not meet the new one.
        """
        first = self.start if last is None or not self.start <= last < self.end else last + 1
        for low, high in ((first, self.end), (self.start, first - 1)):
            number = low
            while number <= high:
                skip_to = self._end_of_exclusion(number)
                if skip_to is not None:
                    number = skip_to + 1
                    continue
                if number not in taken:
                    yield number
                number += 1

    def _end_of_exclusion(self, number: int) -> int | None:
        if number == self.gateway:
            return number
        for network in self.excluded:
            if network.first <= number <= network.last:
                return network.last
        return None

    @property
    def size(self) -> int:
        """How many addresses lie between start and end, exclusions counted."""
        return max(0, self.end - self.start + 1)

    def __str__(self) -> str:
        version = self.block.version
        if (self.start, self.end) == usable(self.block):
            return str(self.block)
        start, end = format_address(version, self.start), format_address(version, self.end)
        return f"{start}-{end} of {self.block}"


def usable(block: Network) -> tuple[int, int]:
    """Return the first and last address that a host may have.

    A /31 and /127 (RFC 3021, RFC 6164) and single addresses have neither.
    """
    if block.size <= 2:  # noqa: PLR2004 - the two addresses of a point-to-point link
        return block.first, block.last
    if block.version == 6:  # noqa: PLR2004 - IPv6 has no broadcast; the first is the routers' anycast
        return block.first + 1, block.last
    return block.first + 1, block.last - 1


def host_pool(  # the operator's arithmetic takes just these six numbers
    subnet: Network,
    *,
    interface_bits: int,
    host_bits: int,
    interface_index: int,
    host_index: int,
    excluded: Sequence[Network] = (),
) -> Pool:
    """Cut a node's share for one NIC out of the cluster's subnet.

    subnet = | prefix | interface index | host index | pod |: interface i of host j starts at
    subnet + i * 2^(bits-p-m) + j * 2^(bits-p-m-h), and the pod's address carries length p+m, so
    that all hosts' pods on that NIC's network are on one link. Raises GeometryError.
    """
    bits = BITS[subnet.version]
    interface_length = subnet.length + interface_bits
    host_length = interface_length + host_bits
    if host_length > bits:
        message = (
            f"subnet {subnet} has {bits - subnet.length} bits to share, but interfaceBlock"
            f" {interface_bits} and hostBlock {host_bits} take {interface_bits + host_bits}"
        )
        raise GeometryError(message)
    check_index("interface", interface_index, "interfaceBlock", interface_bits)
    check_index("host", host_index, "hostBlock", host_bits)
    first = (
        subnet.first
        + (interface_index << (bits - interface_length))
        + (host_index << (bits - host_length))
    )
    on_link = Network.around(subnet.version, first, interface_length)
    block = Network(subnet.version, first, host_length)
    low, high = usable(on_link)
    # Inside the link only its own first and last address are special, not those of a host's share;
    # yet a share keeps its first and last back where it can: the operator's pods expect it.
    start, end = usable(block)
    return Pool(
        block,
        prefix_length=interface_length,
        start=max(start, low),
        end=min(end, high),
        excluded=excluded,
    )


def check_index(what: str, index: int, key: str, bits: int) -> None:
    """Raise GeometryError where an index does not fit in its bits: never wrapped, never hashed."""
    if not 0 <= index < 1 << bits:
        message = (
            f"{what} index {index} does not fit in {key} {bits}: it counts 0 to {(1 << bits) - 1}"
        )
        raise GeometryError(message)


def range_pool(
    subnet: Network,
    *,
    start: str | None = None,
    end: str | None = None,
    gateway: str | None = None,
    excluded: Sequence[Network] = (),
) -> Pool:
    """Build the pool of one explicit range, in host-local's words; raises GeometryError."""
    low, high = usable(subnet)
    pool = Pool(
        subnet,
        prefix_length=subnet.length,
        start=low if start is None else _inside(subnet, start, "rangeStart"),
        end=high if end is None else _inside(subnet, end, "rangeEnd"),
        gateway=None if gateway is None else _inside(subnet, gateway, "gateway"),
        excluded=excluded,
    )
    if start is not None and end is not None and pool.start > pool.end:
        message = f"rangeStart {start} is above rangeEnd {end} in {subnet}"
        raise GeometryError(message)
    first, last = (format_address(subnet.version, end) for end in (pool.start, pool.end))
    pool.start, pool.end = max(pool.start, low), min(pool.end, high)
    if pool.start > pool.end:
        message = f"the range {first} to {last} of {subnet} has no address for a host"
        raise GeometryError(message)
    return pool


def _inside(subnet: Network, text: str, key: str) -> int:
    try:
        version, number = parse_address(text)
    except NetworkError as error:
        raise GeometryError(str(error)) from None
    if not subnet.holds(version, number):
        message = f"{key} {text} lies outside {subnet}"
        raise GeometryError(message)
    return number
