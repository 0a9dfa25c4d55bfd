"""What a NIC was and had on the node, as the record of its attachment keeps it. Pure."""

from __future__ import annotations

from multinic_cni.conf.checker import check
from multinic_cni.handover.former import (
    NOTHING,
    Former,
    FormerAddress,
    FormerHop,
    FormerRoute,
)
from multinic_cni.log import log
from multinic_cni.route_messages import FAMILIES, KernelRoute, Rule
from multinic_ipam.networks import Network, NetworkError, format_address, parse_address, split_cidr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from multinic_cni.conf.checker import Schema

    Document = Mapping[str, Any]

TEXT: Schema = ("string",)
NUMBER: Schema = ("integer", 0, 0xFFFF_FFFF)
OCTET: Schema = ("integer", 0, 0xFF)
ADDRESS: Schema = ("format", "ip-address")
CIDR: Schema = ("format", "cidr")
VERSION: Schema = ("integer", 4, 6)
# The numbers of a route and of a rule that are written down as the kernel has them.
ROUTE_NUMBERS = {
    "table": NUMBER,
    "kind": OCTET,
    "protocol": OCTET,
    "scope": OCTET,
    "metric": NUMBER,
    "mtu": NUMBER,
}
RULE_NUMBERS = {"priority": NUMBER, "table": NUMBER, "protocol": OCTET}
ADDRESS_NUMBERS = {"length": ("integer", 0, 128), "scope": OCTET, "flags": NUMBER, "metric": NUMBER}


def _object(needed: Mapping[str, Schema], optional: Mapping[str, Schema]) -> Schema:
    keys = {key: (True, schema) for key, schema in needed.items()}
    return ("object", keys | {key: (False, schema) for key, schema in optional.items()}, True)


HOP = _object({"dev": TEXT, "weight": ("integer", 1, 256)}, {"gw": ADDRESS, "onlink": ("boolean",)})
SCHEMA = _object(
    {
        "mtu": NUMBER,
        "up": ("boolean",),
        "permanentMAC": TEXT,
        "device": TEXT,
        "altnames": ("list", TEXT, 0, None),
    },
    {
        "restore": ("boolean",),
        "alias": TEXT,
        "modes": NUMBER,
        "addresses": (
            "list",
            _object(
                {"address": ADDRESS, "label": TEXT, **ADDRESS_NUMBERS},
                {"peer": ADDRESS, "broadcast": ADDRESS},
            ),
            0,
            None,
        ),
        "routes": (
            "list",
            _object(
                {"dst": CIDR, "hops": ("list", HOP, 1, None), **ROUTE_NUMBERS}, {"src": ADDRESS}
            ),
            0,
            None,
        ),
        "rules": (
            "list",
            _object(
                {"version": VERSION, "oif": TEXT, "iif": TEXT, **RULE_NUMBERS},
                {"from": CIDR, "to": CIDR},
            ),
            0,
            None,
        ),
    },
)


def to_document(former: Former) -> dict[str, Any]:
    had = {
        "addresses": [_from_address(each) for each in former.addresses],
        "routes": [_from_route(each) for each in former.routes],
        "rules": [_from_rule(each) for each in former.rules],
    }
    return {
        "mtu": former.mtu,
        "up": former.up,
        "permanentMAC": former.permanent_mac,
        "device": former.device,
        "altnames": list(former.altnames),
        **({"restore": True} if former.restore else {}),
        **({"alias": former.alias} if former.alias else {}),
        **({"modes": former.modes} if former.modes else {}),
        **{key: listed for key, listed in had.items() if listed},
    }


def read_former(nic: str, document: Document) -> Former:
    """Read what a record says of a NIC. An empty or damaged document says nothing: DEL goes on."""
    if not document:
        return NOTHING
    problems = check(document, SCHEMA)
    try:
        if not problems:
            return _typed(document)
        reason = str(problems[0])
    except NetworkError as error:
        reason = str(error)
    log.error("what the NIC had on the node cannot be read", nic=nic, reason=reason)
    return NOTHING


def _typed(document: Document) -> Former:
    return Former(
        mtu=document["mtu"],
        up=document["up"],
        permanent_mac=document["permanentMAC"],
        device=document["device"],
        altnames=tuple(document["altnames"]),
        restore=document.get("restore", False),
        alias=document.get("alias", ""),
        modes=document.get("modes", 0),
        addresses=tuple(map(_to_address, document.get("addresses", ()))),
        routes=tuple(map(_to_route, document.get("routes", ()))),
        rules=tuple(map(_to_rule, document.get("rules", ()))),
    )


def _texts(version: int, numbers: Mapping[str, int]) -> dict[str, str]:
    """Return the addresses that are not 0 as text."""
    return {key: format_address(version, number) for key, number in numbers.items() if number}


def _number(document: Document, key: str, version: int) -> int:
    """Return an address of a family, 0 where there is none; raises NetworkError."""
    family, number = parse_address(document[key]) if key in document else (version, 0)
    _refuse_other_family(family, version, key)
    return number


def _refuse_other_family(family: int, version: int, key: str) -> None:
    if family != version or version not in FAMILIES:
        message = f"{key} is not of IPv{version}"
        raise NetworkError(message)


def _from_address(each: FormerAddress) -> dict[str, Any]:
    return {
        "address": format_address(each.version, each.number),
        **{key: getattr(each, key) for key in ADDRESS_NUMBERS},
        **_texts(each.version, {"peer": each.peer, "broadcast": each.broadcast}),
        "label": each.label,
    }


def _to_address(document: Document) -> FormerAddress:
    version, number = parse_address(document["address"])
    return FormerAddress(
        version=version,
        number=number,
        peer=_number(document, "peer", version),
        broadcast=_number(document, "broadcast", version),
        label=document["label"],
        **{key: document[key] for key in ADDRESS_NUMBERS},
    )


def _from_route(each: FormerRoute) -> dict[str, Any]:
    route = each.route
    return {
        "dst": str(Network(route.version, route.destination, route.prefix_length)),
        **{key: getattr(route, key) for key in ROUTE_NUMBERS},
        **_texts(route.version, {"src": route.source}),
        "hops": [
            {
                "dev": hop.dev,
                "weight": hop.weight,
                **_texts(route.version, {"gw": hop.gateway}),
                **({"onlink": True} if hop.onlink else {}),
            }
            for hop in each.hops
        ],
    }


def _to_route(document: Document) -> FormerRoute:
    version, destination, length = split_cidr(document["dst"])
    route = KernelRoute(
        version=version,
        destination=destination,
        prefix_length=length,
        source=_number(document, "src", version),
        **{key: document[key] for key in ROUTE_NUMBERS},
    )
    hops = tuple(
        FormerHop(
            dev=hop["dev"],
            gateway=_number(hop, "gw", version),
            weight=hop["weight"],
            onlink=hop.get("onlink", False),
        )
        for hop in document["hops"]
    )
    return FormerRoute(route=route, hops=hops)


def _from_rule(rule: Rule) -> dict[str, Any]:
    networks = {"from": rule.source, "to": rule.destination}
    return {
        "version": rule.version,
        **{key: getattr(rule, key) for key in RULE_NUMBERS},
        **{key: str(Network(rule.version, *pair)) for key, pair in networks.items() if pair},
        "oif": rule.oif,
        "iif": rule.iif,
    }


def _to_rule(document: Document) -> Rule:
    version = document["version"]

    def network(key: str) -> tuple[int, int] | None:
        family, first, length = split_cidr(document[key]) if key in document else (version, 0, 0)
        _refuse_other_family(family, version, key)
        return (first, length) if key in document else None

    return Rule(
        version=version,
        source=network("from"),
        destination=network("to"),
        oif=document["oif"],
        iif=document["iif"],
        **{key: document[key] for key in RULE_NUMBERS},
    )
