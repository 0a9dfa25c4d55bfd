"""Places in a network: by index, by offset, by address; GeometryError where there is none."""

from __future__ import annotations

from multinic_ipam.networks import BITS, Network, NetworkError, parse_address
from multinic_ipam.pools import GeometryError, usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_ipam.pools import Run


def interface_network(subnet: Network, bits: int, index: int) -> Network:
    """Return one NIC's network: subnet = | prefix | interface index | … |."""
    refuse_long("interfaceBlock", bits, subnet)
    check_index("interface", index, f"interfaceBlock {bits}", 1 << bits)
    return nth_network(subnet, bits, index)


def slice_of(network: Network, offset: int, length: int) -> Run:
    """Return `length` addresses, the first of which is `offset` from the network's own."""
    if offset + length > network.size:
        message = (
            f"slice: {length} addresses from offset {offset} on go beyond {network}, which has"
            f" {network.size}"
        )
        raise GeometryError(message)
    return network.first + offset, network.first + offset + length - 1


def range_of(network: Network, start: str | None, end: str | None) -> Run:
    """Return a run in host-local's words, either end of which may be the network's."""
    first = network.first if start is None else inside(network, start, "rangeStart")
    last = network.last if end is None else inside(network, end, "rangeEnd")
    if first > last:
        raise GeometryError(f"rangeStart {start} is above rangeEnd {end} in {network}")
    return first, last


def inside(network: Network, text: str, key: str) -> int:
    """Return an address of the network as a number."""
    try:
        version, number = parse_address(text)
    except NetworkError as error:
        raise GeometryError(str(error)) from None
    if not network.holds(version, number):
        raise GeometryError(f"{key} {text} lies outside {network}")
    return number


def gateway_at(link: Network, index: int | None) -> int | None:
    """Return the address at a place of the network whose length the pod's address carries."""
    if index is None:
        return None
    low, high = usable(link)
    if not low <= link.first + index <= high:
        message = (
            f"gatewayIndex {index} lies outside {link}, whose hosts are {low - link.first} to"
            f" {high - link.first}"
        )
        raise GeometryError(message)
    return link.first + index


def nth_network(network: Network, bits: int, index: int) -> Network:
    """Return one of the 2^bits equal networks in a network."""
    length = network.length + bits
    first = network.first + (index << (BITS[network.version] - length))
    return Network(network.version, first, length)


def refuse_long(key: str, bits: int, network: Network) -> None:
    room = BITS[network.version] - network.length
    if bits > room:
        message = f"{key} {bits} does not fit in {network}, which has {room} bits to share"
        raise GeometryError(message)


def check_index(what: str, index: int, where: str, count: int) -> None:
    """Refuse an index that is not below `count`: never wrapped, never hashed."""
    if not 0 <= index < count:
        message = f"{what} index {index} does not fit in {where}: it counts 0 to {count - 1}"
        raise GeometryError(message)
