"""The net conf's words for a node's share in multinic_ipam's terms, for the rules and the node."""

from __future__ import annotations

from multinic_cni.values import Value
from multinic_ipam.networks import Network, parse_address, parse_run
from multinic_ipam.places import gateway_at, inside, range_of, slice_of
from multinic_ipam.shares import AddressBlocks, HostBlocks, NodeNetworks, SamePart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from multinic_ipam.pools import Run
    from multinic_ipam.shares import Cut, Share

    Words = Mapping[str, Any]

# Each is a way of cutting by itself, but for the last two, which are one.
WAYS = ("hostBlock", "perNodeBlockSize", "perNodeNetworkPrefix", "slice", "rangeStart", "rangeEnd")


class Allocation(Value):
    """A share that the conf names: `node` has it, and its gateway; without a node nobody has it."""

    node: str
    prefix: Network
    gateway: str

    def __str__(self) -> str:
        use = f"give to {self.node}" if self.node else "reserve"
        return f"{self.prefix}, which staticAllocations {use}"


def ways_in(words: Words) -> list[str]:
    """Return the keys that say how to cut, one for each way; `hostBlock: 0` cuts nothing."""
    keys = [key for key in WAYS if words.get(key)]
    return keys[:-1] if keys[-2:] == ["rangeStart", "rangeEnd"] else keys


def words_of(ipam: Words, entry: Words) -> Words:
    """Return the words for one range: its own, and those that stand at the top for all.

    But for `staticAllocations`, of which there may be thousands: those at the top stay there.
    """
    own = {key: value for key, value in entry.items() if value is not None}
    words = {**ipam, "staticAllocations": None, **own}
    for key in ("exclusions", "perNodeExclusions"):
        words[key] = [*(ipam.get(key) or ()), *(entry.get(key) or ())]
    return words


def subnets_of(subnet: str | list[str] | None) -> list[Network]:
    """Read `subnet`: one network, or a list of one per family, or none."""
    listed = [subnet] if isinstance(subnet, str) else subnet or []
    return [Network.parse(text) for text in listed if text]


def cut_of(words: Words, network: Network) -> Cut:
    """Return how a NIC's network is cut; GeometryError for words that do not fit it."""
    index, gateway = words.get("gatewayIndex"), words.get("gateway")
    if words.get("perNodeNetworkPrefix"):
        return NodeNetworks(network, words["perNodeNetworkPrefix"], index)
    router = inside(network, gateway, "gateway") if gateway else gateway_at(network, index)
    if words.get("hostBlock"):
        return HostBlocks(network, words["hostBlock"], router)
    if words.get("perNodeBlockSize"):
        return AddressBlocks(network, words["perNodeBlockSize"], router)
    if words.get("slice"):
        part = slice_of(network, words["slice"]["offset"], words["slice"]["length"])
        return SamePart(network, part, router)
    run = range_of(network, words.get("rangeStart"), words.get("rangeEnd"))
    return SamePart(network, run, router)


def allocations_of(words: Words) -> list[Allocation]:
    return [
        Allocation(
            node=each.get("nodeName") or "",
            prefix=Network.parse(each["prefix"]),
            gateway=each.get("gateway") or "",
        )
        for each in words.get("staticAllocations") or ()
    ]


def allocated_share(cut: Cut, allocation: Allocation) -> Share:
    """Return the share that a node has by its name; GeometryError for a gateway outside."""
    gateway = None
    if allocation.gateway:
        link = allocation.prefix if cut.routed else cut.network
        gateway = inside(link, allocation.gateway, "gateway")
    return cut.named(allocation.prefix, gateway)


def excluded_by_address(words: Words, version: int) -> list[Run]:
    """Return what `excludeCIDRs` and `exclusions` keep of a family's addresses."""
    runs = [parse_run(text) for text in words.get("excludeCIDRs") or ()]
    for each in words.get("exclusions") or ():
        family, first = parse_address(each["startIP"])
        runs.append((family, first, parse_address(each["endIP"])[1]))
    return [(first, last) for family, first, last in runs if family == version]


def excluded_by_place(words: Words, share: Share) -> list[Run]:
    """Return what `perNodeExclusions` keep of a share, counted from its first address."""
    return [
        share.run(each["startIndex"], each["endIndex"])
        for each in words.get("perNodeExclusions") or ()
    ]
