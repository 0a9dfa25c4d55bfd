"""Rules of addresses: subnet, ranges or the NICs' own networks, and what each of them needs."""

from __future__ import annotations

from multinic_cni.conf import formats
from multinic_cni.conf.problems import Problem, join
from multinic_cni.conf.share_rules import (
    allocated,
    exclusions,
    host_indexes,
    overlapping,
    several_ways,
    with_network,
)
from multinic_cni.conf.share_words import allocations_of, cut_of, subnets_of, ways_in, words_of
from multinic_ipam.networks import BITS, Network, parse_address
from multinic_ipam.places import interface_network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from multinic_cni.conf.share_words import Allocation

    Document = Mapping[str, Any]


def masters_of(document: Document) -> list[str]:
    """Return rails, or masterNets and masters, in the order that numbers the interfaces.

    Rails are called rail0, rail1 …: their NICs have other names on each node.
    """
    if document.get("rails") is not None or document.get("railPciAddresses") is not None:
        from multinic_cni.conf.nic_rules import count_of_rails  # noqa: PLC0415 - for those with some

        return [f"rail{number}" for number in range(count_of_rails(document))]
    return [*(document.get("masterNets") or []), *(document.get("masters") or [])]


def addresses(document: Document) -> Iterator[Problem]:
    ipam = document.get("ipam") or {}
    if ipam.get("type") == "multi-config":
        for nic, arguments in ipam["args"].items():
            if "type" in arguments:
                path = join(join("ipam.args", nic), "type")
                yield Problem(path=path, message="stands in ipam.ipam_type, for all masters")
    if document.get("subnet") and not ipam.get("type"):
        message = "is used by ipam.type multi-nic-ipam alone, and there is no ipam.type"
        yield Problem(path="subnet", message=message)
    if ipam.get("type") == "multi-nic-ipam":
        yield from _routes(document, ipam)
        yield from exclusions("ipam", ipam)
        yield from several_ways("ipam", ipam)
        if len(ways_in(ipam)) <= 1:
            yield from _networks(document, ipam)


def _routes(document: Document, ipam: Document) -> Iterator[Problem]:
    """Refuse a route whose gateway no interface can reach: it would go to none of them.

    The NICs' own networks are known on the node only.
    """
    links = [(network, ipam) for network in subnets_of(document.get("subnet"))]
    for master, listed in (ipam.get("ranges") or {}).items():
        for each in listed:
            text = each.get("subnet") or master
            if not formats.cidr(text):
                links.append((Network.parse(text), words_of(ipam, each)))
    for index, route in enumerate(ipam.get("routes") or () if links else ()):
        gateway = route.get("gw")
        if not gateway:
            continue
        reaching = [words for link, words in links if link.holds(*parse_address(gateway))]
        path = f"ipam.routes[{index}].gw"
        if not reaching:
            yield Problem(path=path, message=f"{gateway} is in no interface's network")
        elif reaching[0].get("perNodeNetworkPrefix"):
            message = (
                f"{gateway} is in one node's network only: leave it out, and gatewayIndex gives"
                " each node its own"
            )
            yield Problem(path=path, message=message)


def _networks(document: Document, ipam: Document) -> Iterator[Problem]:
    allocations = allocations_of(ipam)
    hosts = document.get("hosts") or {}
    yield from overlapping("ipam", allocations)
    if document.get("subnet") and ipam.get("ranges"):
        yield Problem(path="ipam.ranges", message="stands beside subnet: keep one of them")
    elif document.get("subnet"):
        yield from _subnets(document, ipam, allocations)
    elif ipam.get("ranges"):
        from multinic_cni.conf.range_rules import ranges  # noqa: PLC0415 - for confs that have some

        nets = document.get("masterNets") or []
        yield from ranges(ipam, nets, masters_of(document), allocations, hosts)
    elif "hostBlock" not in ipam and not ways_in(ipam):
        message = (
            "multi-nic-ipam needs subnet, or ranges in ipam, or how to share the NICs' own"
            " networks: hostBlock, perNodeBlockSize, perNodeNetworkPrefix or slice"
        )
        yield Problem(path="ipam", message=message)
    elif ways_in(ipam) != ["slice"]:
        bits = ipam.get("hostBlock")
        yield from host_indexes(hosts, 1 << bits if bits else None, f"hostBlock {bits}")


def _subnets(
    document: Document, ipam: Document, allocations: Sequence[Allocation]
) -> Iterator[Problem]:
    subnets, masters = subnets_of(document["subnet"]), masters_of(document)
    bits, hosts = ipam.get("interfaceBlock", 0), document.get("hosts") or {}
    if len({subnet.version for subnet in subnets}) < len(subnets):
        yield Problem(path="subnet", message="must have one network per family")
        return
    found = [*_interfaces(masters, bits)]
    found += [problem for subnet in subnets for problem in _subnet(subnet, ipam)]
    yield from found
    if found:
        return
    cuts = [cut_of(ipam, interface_network(subnet, bits, 0)) for subnet in subnets]
    least = min(cuts, key=lambda cut: cut.count)
    if least.deals:
        yield from host_indexes(hosts, least.count, str(least))
    elif len(hosts) > 1 and ways_in(ipam) != ["slice"]:
        message = (
            f"numbers {len(hosts)} nodes, but nothing says how they share subnet: each would give"
            " the same addresses; set ipam.hostBlock, perNodeBlockSize or perNodeNetworkPrefix"
        )
        yield Problem(path="hosts", message=message)
    yield from _allocated(ipam, subnets, len(masters), allocations, hosts)


def _interfaces(masters: Sequence[str], bits: int) -> Iterator[Problem]:
    if not masters:
        message = "needs rails, masterNets or masters: their order numbers the interfaces' blocks"
        yield Problem(path="subnet", message=message)
    elif len(masters) > 1 << bits:
        message = (
            f"{bits} bits number {1 << bits} interfaces, but masterNets and masters have"
            f" {len(masters)} entries: {(len(masters) - 1).bit_length()} are needed"
        )
        yield Problem(path="ipam.interfaceBlock", message=message)


def _subnet(subnet: Network, ipam: Document) -> Iterator[Problem]:
    room = BITS[subnet.version] - subnet.length
    interface_bits, host_bits = ipam.get("interfaceBlock", 0), ipam.get("hostBlock", 0)
    if interface_bits + host_bits > room:
        message = (
            f"{subnet} has {room} bits to share, but interfaceBlock {interface_bits} and hostBlock"
            f" {host_bits} take {interface_bits + host_bits}"
        )
        yield Problem(path="subnet", message=message)
        return
    yield from with_network("ipam", ipam, interface_network(subnet, interface_bits, 0))


def _allocated(
    ipam: Document,
    subnets: Sequence[Network],
    interfaces: int,
    allocations: Sequence[Allocation],
    hosts: Mapping[str, int],
) -> Iterator[Problem]:
    """Sort the static allocations into the NICs' networks, and look at each network's."""
    bits = ipam.get("interfaceBlock", 0)
    lengths = {subnet.version: subnet.length + bits for subnet in subnets}
    by_network: dict[tuple[int, int], list[Allocation]] = {
        (subnet.version, interface_network(subnet, bits, index).first): []
        for subnet in subnets
        for index in range(interfaces)
    }
    for index, each in enumerate(allocations):
        length = lengths.get(each.prefix.version, 0)
        around = Network.around(each.prefix.version, each.prefix.first, length)
        group = by_network.get((around.version, around.first))
        if group is None or each.prefix.length < length:
            path = f"ipam.staticAllocations[{index}].prefix"
            yield Problem(path=path, message=f"{each.prefix} lies in no NIC's part of subnet")
        else:
            group.append(each)
    for (version, first), group in by_network.items():
        if group:
            cut = cut_of(ipam, Network(version, first, lengths[version]))
            yield from allocated("ipam", cut, group, hosts)
