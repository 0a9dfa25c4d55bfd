"""Rules of ranges: each entry by itself, and beside the others."""

from __future__ import annotations

from itertools import pairwise

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
from multinic_cni.conf.share_words import WAYS, allocations_of, cut_of, ways_in, words_of
from multinic_cni.values import Value
from multinic_ipam.networks import Network, NetworkError, canonical, parse_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from multinic_cni.conf.share_words import Allocation, Words
    from multinic_ipam.shares import Cut


class _Range(Value):
    """An entry that is right by itself."""

    path: str
    words: Words
    cut: Cut


def ranges(
    ipam: Words,
    master_nets: Sequence[str],
    masters: Sequence[str],
    allocations: Sequence[Allocation],
    hosts: Mapping[str, int],
) -> Iterator[Problem]:
    """Look at all ranges; `allocations` are those at the top, for whichever range they lie in."""
    for key in ("hostBlock", "interfaceBlock"):
        if ipam.get(key):
            message = "cuts subnet, not ranges: they have perNodeBlockSize and perNodeNetworkPrefix"
            yield Problem(path=f"ipam.{key}", message=message)
    yield from _keys(ipam["ranges"], master_nets, masters)
    found: list[_Range] = []
    for master, listed in ipam["ranges"].items():
        for index, entry in enumerate(listed):
            path = f"{join('ipam.ranges', master)}[{index}]"
            yield from _entry(path, master, entry, ipam, found)
    yield from _beside_each_other(found)
    dealing = [each.cut for each in found if each.cut.deals]
    if dealing:
        least = min(dealing, key=lambda cut: cut.count)
        yield from host_indexes(hosts, least.count, str(least))
    yield from _allocated(found, allocations, hosts)


def _keys(ranges: Words, master_nets: Sequence[str], masters: Sequence[str]) -> Iterator[Problem]:
    keys = [canonical(key) for key in ranges]
    for key in ranges:
        if keys.count(canonical(key)) > 1:
            message = "stands twice, written in two ways"
            yield Problem(path=join("ipam.ranges", key), message=message)
    for net in master_nets:
        if canonical(net) not in keys:
            yield Problem(path=join("ipam.ranges", net), message="is missing")
    for key in ranges:
        if key not in masters and formats.cidr(key):
            message = "is neither a network nor an entry of masters"
            yield Problem(path=join("ipam.ranges", key), message=message)


def _entry(
    path: str, master: str, entry: Words, ipam: Words, found: list[_Range]
) -> Iterator[Problem]:
    """Look at one entry; append it to `found` if it is right by itself."""
    own = allocations_of(entry)
    problems = [*exclusions(path, entry), *overlapping(path, own)]
    problems += several_ways(path, entry, ways_in(ipam))
    try:
        network = Network.parse(entry.get("subnet") or master)
    except NetworkError:
        message = f"is missing, and {master!r} is no network"
        problems.append(Problem(path=f"{path}.subnet", message=message))
        yield from problems
        return
    for index, each in enumerate(own):
        if not network.holds(each.prefix.version, each.prefix.first) or (
            each.prefix.length < network.length
        ):
            where = f"{path}.staticAllocations[{index}].prefix"
            problems.append(Problem(path=where, message=f"{each.prefix} lies outside {network}"))
    for index, each in enumerate(entry.get("exclusions") or ()):
        for end in (each["startIP"], each["endIP"]):
            if not network.holds(*parse_address(end)):
                where = f"{path}.exclusions[{index}]"
                problems.append(Problem(path=where, message=f"{end} lies outside {network}"))
    words = words_of(ipam, entry)
    if not problems:
        problems += with_network(path, words, network)
    yield from problems
    if not problems:
        found.append(_Range(path=path, words=words, cut=cut_of(words, network)))


def _beside_each_other(found: Sequence[_Range]) -> Iterator[Problem]:
    """Two pools of one store must be the same block or disjoint, and nothing be dealt twice."""
    ordered = sorted(found, key=lambda each: (each.cut.network.version, each.cut.network.first))
    for one, other in pairwise(ordered):
        first, second = one.cut.network, other.cut.network
        if not first.overlaps(second):
            continue
        if first != second:
            yield Problem(path=f"{other.path}.subnet", message=f"{second} overlaps {first}")
        elif (one.cut.deals or other.cut.deals) and _dealt(one) != _dealt(other):
            message = (
                f"shares {second} in another way than {one.path}: both would give out the same"
                " addresses on different nodes"
            )
            yield Problem(path=other.path, message=message)


def _dealt(entry: _Range) -> tuple[object, ...]:
    """Return all that decides which node has which address."""
    way = [entry.words.get(key) for key in WAYS]
    gateway = entry.words.get("gatewayIndex") if entry.cut.routed else entry.cut.gateway
    return (*way, gateway, entry.words.get("staticAllocations") or [])


def _allocated(
    found: Sequence[_Range], allocations: Sequence[Allocation], hosts: Mapping[str, int]
) -> Iterator[Problem]:
    lost = set(range(len(allocations)))
    for each in found:
        network = each.cut.network
        group = allocations_of(each.words)
        for index, allocation in enumerate(allocations):
            prefix = allocation.prefix
            if network.holds(prefix.version, prefix.first) and prefix.length >= network.length:
                group.append(allocation)
                lost.discard(index)
        yield from allocated(each.path, each.cut, group, hosts)
    for index in sorted(lost):
        path = f"ipam.staticAllocations[{index}].prefix"
        yield Problem(path=path, message=f"{allocations[index].prefix} lies in no range's subnet")
