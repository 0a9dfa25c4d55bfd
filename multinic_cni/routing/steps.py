"""One step each of what is set in a pod's netns, and how a record keeps it.

Interfaces stand in them by name: an index means nothing to who reads a record. `nic` is for errors.
"""

from __future__ import annotations

from multinic_cni.conf.checker import check
from multinic_cni.invocation import LONGEST_IFNAME
from multinic_cni.messages import RTN_UNICAST
from multinic_cni.route_messages import RT_SCOPE_UNIVERSE, RTPROT_STATIC
from multinic_cni.values import Value
from multinic_ipam.networks import Network, format_address, parse_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from multinic_cni.conf.checker import Schema

    Document = Mapping[str, Any]


class NamedHop(Value):
    """A next hop by an interface's name; `gateway` is 0 for what is on the link."""

    ifname: str
    gateway: int = 0
    onlink: bool = False


class RouteStep(Value):
    """A route that is added; or, if it `goes`, one of the pod's own that is taken away."""

    nic: str
    network: Network
    table: int
    hops: tuple[NamedHop, ...] = ()
    kind: int = RTN_UNICAST
    protocol: int = RTPROT_STATIC
    scope: int = RT_SCOPE_UNIVERSE
    metric: int = 0
    mtu: int = 0
    source: int = 0
    goes: bool = False


class RuleStep(Value):
    """A rule for what comes `source` has sent, or for sockets bound to the interface `oif`."""

    nic: str
    version: int
    priority: int
    table: int
    source: Network | None = None
    oif: str = ""


class SysctlStep(Value):
    """A setting below /proc/sys; `former` is what it was, empty where it goes with its link."""

    nic: str
    path: str
    value: str
    former: str = ""


class NeighborStep(Value):
    """A permanent neighbour of an interface."""

    nic: str
    ifname: str
    version: int
    number: int
    mac: str


Step = RouteStep | RuleStep | SysctlStep | NeighborStep

TEXT: Schema = ("string",)
NUMBER: Schema = ("integer", 0, 0xFFFF_FFFF)
OCTET: Schema = ("integer", 0, 0xFF)
ADDRESS: Schema = ("format", "ip-address")
CIDR: Schema = ("format", "cidr")
HOP: Schema = (
    "object",
    {"dev": (True, TEXT), "gw": (False, ADDRESS), "onlink": (False, ("boolean",))},
    True,
)
SCHEMAS: dict[str, Schema] = {
    "route": (
        "object",
        {
            "type": (True, TEXT),
            "nic": (True, TEXT),
            "dst": (True, CIDR),
            "hops": (True, ("list", HOP, 0, None)),
            **dict.fromkeys(("table", "metric", "mtu"), (True, NUMBER)),
            **dict.fromkeys(("kind", "protocol", "scope"), (True, OCTET)),
            "src": (False, ADDRESS),
            "goes": (True, ("boolean",)),
        },
        True,
    ),
    "rule": (
        "object",
        {
            "type": (True, TEXT),
            "nic": (True, TEXT),
            "version": (True, ("integer", 4, 6)),
            "priority": (True, NUMBER),
            "table": (True, NUMBER),
            "from": (False, CIDR),
            "oif": (True, TEXT),
        },
        True,
    ),
    "sysctl": (
        "object",
        {
            "type": (True, TEXT),
            "nic": (True, TEXT),
            "path": (True, ("format", "sysctl")),
            "value": (True, TEXT),
            "former": (True, TEXT),
        },
        True,
    ),
    "neighbor": (
        "object",
        {
            "type": (True, TEXT),
            "nic": (True, TEXT),
            "dev": (True, TEXT),
            "address": (True, ADDRESS),
            "mac": (True, ("format", "mac")),
        },
        True,
    ),
}
STEP: Schema = ("tagged", SCHEMAS, ("enum", ()))


class DamagedStepsError(Exception):
    """What a record says of the pod's routes cannot be read; the message says why."""


def to_documents(steps: Iterable[Step]) -> tuple[dict[str, Any], ...]:
    """Return the steps as a record keeps them, in their order."""
    return tuple(_to_document(step) for step in steps)


def read_steps(documents: Iterable[Document]) -> list[Step]:
    """Read what a record has; raises DamagedStepsError."""
    listed = list(documents)
    problems = check(listed, ("list", STEP, 0, None))
    if problems:
        message = f"routing{problems[0]}"
        raise DamagedStepsError(message)
    return [READERS[document["type"]](document) for document in listed]


def _to_document(step: Step) -> dict[str, Any]:
    match step:
        case RouteStep():
            return _from_route(step)
        case RuleStep():
            source = {"from": str(step.source)} if step.source else {}
            return {
                "type": "rule",
                "nic": step.nic,
                "version": step.version,
                "priority": step.priority,
                "table": step.table,
                **source,
                "oif": step.oif,
            }
        case SysctlStep():
            return {
                "type": "sysctl",
                "nic": step.nic,
                "path": step.path,
                "value": step.value,
                "former": step.former,
            }
        case NeighborStep():
            return {
                "type": "neighbor",
                "nic": step.nic,
                "dev": step.ifname,
                "address": format_address(step.version, step.number),
                "mac": step.mac,
            }


def _from_route(step: RouteStep) -> dict[str, Any]:
    version = step.network.version
    hops = [
        {
            "dev": hop.ifname,
            **({"gw": format_address(version, hop.gateway)} if hop.gateway else {}),
            **({"onlink": True} if hop.onlink else {}),
        }
        for hop in step.hops
    ]
    return {
        "type": "route",
        "nic": step.nic,
        "dst": str(step.network),
        "table": step.table,
        "hops": hops,
        "kind": step.kind,
        "protocol": step.protocol,
        "scope": step.scope,
        "metric": step.metric,
        "mtu": step.mtu,
        **({"src": format_address(version, step.source)} if step.source else {}),
        "goes": step.goes,
    }


def _number(document: Document, key: str, version: int) -> int:
    """Return an address of a route's family, 0 where there is none."""
    family, number = parse_address(document[key]) if key in document else (version, 0)
    if family != version:
        message = f"routing: {document[key]} is not of IPv{version}"
        raise DamagedStepsError(message)
    return number


def _read_route(document: Document) -> RouteStep:
    network = Network.parse(document["dst"])
    hops = tuple(
        NamedHop(
            ifname=hop["dev"],
            gateway=_number(hop, "gw", network.version),
            onlink=hop.get("onlink", False),
        )
        for hop in document["hops"]
    )
    return RouteStep(
        nic=document["nic"],
        network=network,
        table=document["table"],
        hops=hops,
        kind=document["kind"],
        protocol=document["protocol"],
        scope=document["scope"],
        metric=document["metric"],
        mtu=document["mtu"],
        source=_number(document, "src", network.version),
        goes=document["goes"],
    )


def _read_rule(document: Document) -> RuleStep:
    version, oif = document["version"], document["oif"]
    source = Network.parse(document["from"]) if "from" in document else None
    families = {version, source.version if source else version}
    if families not in ({4}, {6}) or len(oif.encode()) > LONGEST_IFNAME:
        message = f"routing: a rule of IPv{version} cannot be from {source}, oif {oif[:40]!r}"
        raise DamagedStepsError(message)
    return RuleStep(
        nic=document["nic"],
        version=version,
        priority=document["priority"],
        table=document["table"],
        source=source,
        oif=oif,
    )


def _read_sysctl(document: Document) -> SysctlStep:
    return SysctlStep(
        nic=document["nic"],
        path=document["path"],
        value=document["value"],
        former=document["former"],
    )


def _read_neighbor(document: Document) -> NeighborStep:
    version, number = parse_address(document["address"])
    return NeighborStep(
        nic=document["nic"],
        ifname=document["dev"],
        version=version,
        number=number,
        mac=document["mac"],
    )


READERS: dict[str, Callable[[Document], Step]] = {
    "route": _read_route,
    "rule": _read_rule,
    "sysctl": _read_sysctl,
    "neighbor": _read_neighbor,
}
