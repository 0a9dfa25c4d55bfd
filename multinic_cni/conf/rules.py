"""Rules across fields of the net conf: pure, used when a runtime calls and by `validate`.

Each rule takes a document that has passed the schema and yields its problems.
"""

from __future__ import annotations

from itertools import pairwise

from multinic_cni.conf import formats
from multinic_cni.conf.problems import Problem, join, shortened
from multinic_cni.errors import UNSUPPORTED_FIELD
from multinic_ipam.networks import BITS, Network, NetworkError, canonical, parse_address
from multinic_ipam.pools import GeometryError, range_pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping
    from typing import Any

    Document = Mapping[str, Any]

OWN_TYPES = ("multinic-cni", "multi-nic")


def rule_problems(document: Document, refused: Container[str] = ()) -> list[Problem]:
    """Return every problem of the rules whose keys the schema has not `refused` already."""
    return [
        problem
        for rule, keys in RULES.items()
        if not any(key in refused for key in keys)
        for problem in rule(document)
    ]


def _strategy(document: Document) -> Iterator[Problem]:
    """Words that are agreed but not built are refused, never ignored."""
    policy = document.get("attachPolicy") or {}
    strategy = policy.get("strategy", "none")
    if strategy != "none":
        message = f"{strategy!r} is not in this release yet: use 'none'"
        yield Problem(path="attachPolicy.strategy", message=message, code=UNSUPPORTED_FIELD)
    for key in ("target", "class", "classes"):
        if policy.get(key) is not None:
            message = f"{shortened(policy[key])}: no strategy of this release uses it"
            yield Problem(path=f"attachPolicy.{key}", message=message, code=UNSUPPORTED_FIELD)


def _not_in_this_release(document: Document) -> Iterator[Problem]:
    if document.get("routing"):
        message = f"{shortened(document['routing'])} is not in this release yet"
        yield Problem(path="routing", message=message, code=UNSUPPORTED_FIELD)
    if document.get("attach") == "builtin":
        message = "builtin is not in this release yet: use 'exec', or 'auto' to get it when it is"
        yield Problem(path="attach", message=message, code=UNSUPPORTED_FIELD)


def _delegates(document: Document) -> Iterator[Problem]:
    plugin = document["plugin"]
    chain = plugin if isinstance(plugin, list) else [plugin]
    for index, template in enumerate(chain):
        path = f"plugin[{index}]" if isinstance(plugin, list) else "plugin"
        if template["type"] in OWN_TYPES:
            yield Problem(path=f"{path}.type", message="must be another plugin, not this one")
        for key in ("device", "hwaddr", "kernelpath"):
            if index == 0 and template["type"] == "host-device" and template.get(key):
                message = "must not be given: the NIC is chosen; name it in masters"
                yield Problem(path=f"{path}.{key}", message=message)
        if template.get("ipam") and (document.get("ipam") or {}).get("type"):
            message = "stands here and at the top: keep one of them"
            yield Problem(path=f"{path}.ipam", message=message)


def _counts(document: Document) -> Iterator[Problem]:
    policy = document.get("attachPolicy") or {}
    most, least = policy.get("nics"), policy.get("minNics", 1)
    if most is not None and least > most:
        message = f"{least} is more than attachPolicy.nics, {most}"
        yield Problem(path="attachPolicy.minNics", message=message)


def _rail_names(document: Document) -> Iterator[Problem]:
    if document.get("interfaceNames") == "rail" and not _masters(document):
        message = "rail numbers by the place in masterNets or masters: give one of them"
        yield Problem(path="interfaceNames", message=message)


def _master_nets(document: Document) -> Iterator[Problem]:
    nets = [Network.parse(text) for text in document.get("masterNets") or []]
    for index, net in enumerate(nets):
        for other in nets[:index]:
            if net.overlaps(other):
                message = f"{net} overlaps {other}: a NIC's place would not be certain"
                yield Problem(path=f"masterNets[{index}]", message=message)


def _addresses(document: Document) -> Iterator[Problem]:
    ipam = document.get("ipam") or {}
    if ipam.get("type") == "multi-config":
        for nic, arguments in ipam["args"].items():
            if "type" in arguments:
                path = join(join("ipam.args", nic), "type")
                yield Problem(path=path, message="stands in ipam.ipam_type, for all masters")
    if document.get("subnet") and not ipam.get("type"):
        message = "is used by ipam.type multi-nic-ipam alone, and there is no ipam.type"
        yield Problem(path="subnet", message=message)
    if ipam.get("type") != "multi-nic-ipam":
        return
    yield from _routes(document, ipam)
    if document.get("subnet") and ipam.get("ranges"):
        yield Problem(path="ipam.ranges", message="stands beside subnet: keep one of them")
    elif document.get("subnet"):
        yield from _subnet(document, ipam)
    elif ipam.get("ranges"):
        yield from _ranges(document, ipam["ranges"])
    else:
        yield Problem(path="ipam", message="multi-nic-ipam needs subnet, or ranges in ipam")


def _routes(document: Document, ipam: Document) -> Iterator[Problem]:
    """Refuse a route whose gateway no interface can reach: it would go to none of them."""
    subnet = document.get("subnet") or []
    links = [subnet] if isinstance(subnet, str) else [*subnet]
    for master, listed in (ipam.get("ranges") or {}).items():
        links += [each.get("subnet") or master for each in listed]
    networks = [Network.parse(link) for link in links if not formats.cidr(link)]
    for index, route in enumerate(ipam.get("routes") or []):
        gateway = route.get("gw")
        if gateway and not any(net.holds(*parse_address(gateway)) for net in networks):
            message = f"{gateway} is in no interface's network"
            yield Problem(path=f"ipam.routes[{index}].gw", message=message)


def _subnet(document: Document, ipam: Document) -> Iterator[Problem]:
    subnet = document["subnet"]
    networks = [Network.parse(text) for text in ([subnet] if isinstance(subnet, str) else subnet)]
    if len({network.version for network in networks}) < len(networks):
        yield Problem(path="subnet", message="must have one network per family")
    interface_bits, host_bits = ipam.get("interfaceBlock", 0), ipam.get("hostBlock", 0)
    for network in networks:
        room = BITS[network.version] - network.length
        if interface_bits + host_bits > room:
            message = (
                f"has {room} bits to share, but interfaceBlock {interface_bits} and hostBlock"
                f" {host_bits} take {interface_bits + host_bits}"
            )
            yield Problem(path="subnet", message=message)
    masters = _masters(document)
    if not masters:
        message = "needs masterNets or masters: their order numbers the interfaces' blocks"
        yield Problem(path="subnet", message=message)
    elif len(masters) > 1 << interface_bits:
        message = (
            f"{interface_bits} bits number {1 << interface_bits} interfaces, but masterNets and"
            f" masters have {len(masters)} entries: {(len(masters) - 1).bit_length()} are needed"
        )
        yield Problem(path="ipam.interfaceBlock", message=message)
    by_index: dict[int, str] = {}
    for name, index in (document.get("hosts") or {}).items():
        other = by_index.setdefault(index, name)
        if other != name and host_bits:
            message = f"{index} is {other}'s too: both would give out the same addresses"
            yield Problem(path=join("hosts", name), message=message)
        if index >= 1 << host_bits:
            message = (
                f"{index} does not fit in hostBlock {host_bits}: at most {(1 << host_bits) - 1}"
            )
            yield Problem(path=join("hosts", name), message=message)


def _ranges(document: Document, ranges: Document) -> Iterator[Problem]:
    masters = _masters(document)
    keys = [canonical(key) for key in ranges]
    for key in ranges:
        if keys.count(canonical(key)) > 1:
            message = "stands twice, written in two ways"
            yield Problem(path=join("ipam.ranges", key), message=message)
    for master in document.get("masterNets") or []:
        if canonical(master) not in keys:
            yield Problem(path=join("ipam.ranges", master), message="is missing")
    subnets: dict[str, Network] = {}
    for master, listed in ranges.items():
        if master not in masters and formats.cidr(master):
            message = "is neither a network nor an entry of masters"
            yield Problem(path=join("ipam.ranges", master), message=message)
        for index, each in enumerate(listed):
            path = f"{join('ipam.ranges', master)}[{index}]"
            try:
                subnet = subnets[path] = Network.parse(each.get("subnet") or master)
            except NetworkError:
                message = f"is missing, and {master!r} is no network"
                yield Problem(path=f"{path}.subnet", message=message)
                continue
            yield from _range(path, subnet, each)
    yield from _overlaps(subnets)


def _range(path: str, subnet: Network, each: Document) -> Iterator[Problem]:
    try:
        range_pool(
            subnet,
            start=each.get("rangeStart"),
            end=each.get("rangeEnd"),
            gateway=each.get("gateway"),
        )
    except GeometryError as error:
        yield Problem(path=path, message=str(error))


def _overlaps(subnets: Mapping[str, Network]) -> Iterator[Problem]:
    """Two pools of one store must be the same block or disjoint."""
    ordered = sorted(subnets.items(), key=lambda item: (item[1].version, item[1].first))
    for (_, first), (path, second) in pairwise(ordered):
        if first.overlaps(second) and first != second:
            yield Problem(path=f"{path}.subnet", message=f"{second} overlaps {first}")


def _masters(document: Document) -> list[str]:
    """Return masterNets and masters in the order that numbers the interfaces."""
    return [*(document.get("masterNets") or []), *(document.get("masters") or [])]


# Each rule with the top-level keys that it reads.
RULES: dict[Callable[[Document], Iterator[Problem]], tuple[str, ...]] = {
    _strategy: ("attachPolicy",),
    _not_in_this_release: ("routing", "attach"),
    _delegates: ("plugin", "ipam"),
    _counts: ("attachPolicy",),
    _rail_names: ("interfaceNames", "masterNets", "masters"),
    _master_nets: ("masterNets",),
    _addresses: ("ipam", "subnet", "masterNets", "masters", "hosts"),
}
