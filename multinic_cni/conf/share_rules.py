"""Rules of the words that share a network among nodes: each block of them, and with its networks.

A block is the ipam itself or an entry of its ranges.
"""

from __future__ import annotations

from itertools import pairwise

from multinic_cni.conf.problems import Problem, join
from multinic_cni.conf.share_words import allocated_share, cut_of, excluded_by_place, ways_in
from multinic_ipam.networks import parse_address
from multinic_ipam.pools import GeometryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from multinic_cni.conf.share_words import Allocation, Words
    from multinic_ipam.networks import Network
    from multinic_ipam.shares import Cut


def several_ways(path: str, block: Words, above: Sequence[str] = ()) -> Iterator[Problem]:
    """Refuse more than one way of cutting; `above` are those that stand at the top for all."""
    first, *others = [*above, *ways_in(block)] or [""]
    for key in others:
        where = f"ipam.{first}, for all ranges" if above else first
        message = f"stands beside {where}: a network is cut in one way, keep one of them"
        yield Problem(path=f"{path}.{key}", message=message)
    if block.get("gateway") and block.get("gatewayIndex") is not None:
        message = "stands beside gateway: keep one of them"
        yield Problem(path=f"{path}.gatewayIndex", message=message)
    if block.get("gateway") and "perNodeNetworkPrefix" in (first, *others):
        message = "is in one node's network only: gatewayIndex gives each node its own"
        yield Problem(path=f"{path}.gateway", message=message)


def exclusions(path: str, block: Words) -> Iterator[Problem]:
    """Refuse runs that no network could make right."""
    for index, each in enumerate(block.get("exclusions") or ()):
        start, end = parse_address(each["startIP"]), parse_address(each["endIP"])
        if start[0] != end[0] or start > end:
            message = "must be of one family, and startIP not above endIP"
            yield Problem(path=f"{path}.exclusions[{index}]", message=message)
    for index, each in enumerate(block.get("perNodeExclusions") or ()):
        if each["startIndex"] > each["endIndex"]:
            message = f"startIndex {each['startIndex']} is above endIndex {each['endIndex']}"
            yield Problem(path=f"{path}.perNodeExclusions[{index}]", message=message)


def overlapping(path: str, allocations: Sequence[Allocation]) -> Iterator[Problem]:
    """Refuse static allocations that overlap, whichever NIC's network they lie in."""
    numbered = sorted(
        (each.prefix.version, each.prefix.first, index) for index, each in enumerate(allocations)
    )
    for (*_, before), (*_, index) in pairwise(numbered):
        prefix, other = allocations[index].prefix, allocations[before].prefix
        if prefix.overlaps(other):
            where = f"{path}.staticAllocations[{index}].prefix"
            yield Problem(path=where, message=f"{prefix} overlaps {other}")


def with_network(path: str, words: Words, network: Network) -> Iterator[Problem]:
    """Refuse words that do not fit a network which they shall cut."""
    try:
        cut = cut_of(words, network)
    except GeometryError as error:
        yield Problem(path=path, message=str(error))
        return
    share = cut.share(0)
    size = share.last - share.first + 1
    for each in words.get("perNodeExclusions") or ():
        if each["endIndex"] >= size:
            message = (
                f"perNodeExclusions: endIndex {each['endIndex']} lies outside a node's share,"
                f" {share} for host 0: its places are 0 to {size - 1}"
            )
            yield Problem(path=path, message=message)
    try:
        pool = share.pool(excluded_by_place(words, share))
    except GeometryError as error:
        if not cut.deals:  # of shares that are dealt, the first may be nobody's
            yield Problem(path=path, message=str(error))
        return
    if not pool.room:
        message = f"the gateway and perNodeExclusions leave no address of a share ({share})"
        yield Problem(path=path, message=message)


def host_indexes(hosts: Mapping[str, int], count: int | None, way: str) -> Iterator[Problem]:
    """Refuse indexes that have the same share or none; `count` None: the node alone knows it."""
    by_index: dict[int, str] = {}
    for name, index in hosts.items():
        other = by_index.setdefault(index, name)
        if other != name:
            message = f"{index} is {other}'s too: both would give out the same addresses"
            yield Problem(path=join("hosts", name), message=message)
        if count is not None and index >= count:
            message = f"{index} does not fit in {way}: at most {count - 1}"
            yield Problem(path=join("hosts", name), message=message)


def allocated(
    path: str, cut: Cut, allocations: Sequence[Allocation], hosts: Mapping[str, int]
) -> Iterator[Problem]:
    """Refuse static allocations in one NIC's network that clash with each other or with `hosts`."""
    by_node: dict[str, Allocation] = {}
    for each in allocations:
        try:
            allocated_share(cut, each)
        except GeometryError as error:
            yield Problem(path=path, message=f"staticAllocations: {error}")
        other = by_node.setdefault(each.node, each) if each.node else each
        if other is not each:
            message = (
                f"staticAllocations give {each.node} both {other.prefix} and {each.prefix} of"
                f" {cut.network}"
            )
            yield Problem(path=path, message=message)
    if not cut.deals:
        return
    runs = [(each.prefix.first, each.prefix.last, "", str(each)) for each in allocations]
    for name, index in hosts.items():
        if name not in by_node and index < cut.count:
            share = cut.share(index)
            runs.append((share.first, share.last, name, str(share)))
    for before, after in pairwise(sorted(runs)):
        (_, last, name, text), (first, _, other_name, other_text) = before, after
        if first <= last and bool(name) != bool(other_name):
            share_text, allocation = (text, other_text) if name else (other_text, text)
            message = f"its share, {share_text}, overlaps {allocation}"
            yield Problem(path=join("hosts", name or other_name), message=message)
