"""Rules of what an interface carries: routing, MTU, VLAN, and a NIC's state on the node."""

from __future__ import annotations

from multinic_cni.conf.problems import Problem
from multinic_cni.delegate_types import NIC_KEYS, TAKE_THE_NIC
from multinic_ipam.networks import Network, parse_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Document = Mapping[str, Any]

OWN_IPAM = ("multi-nic-ipam", "host-device-ipam")
LEAST_FOR_IPV6 = 1280  # RFC 8200, section 5: the kernel takes IPv6 off a link with less


def routing(document: Document) -> Iterator[Problem]:
    block = document.get("routing") or {}
    yield from _rules_and_default(block, document)
    yield from _families(block)
    yield from _gateway_check(block, document)
    yield from _link(document)


def _rules_and_default(block: Document, document: Document) -> Iterator[Problem]:
    if block.get("deviceRules") and not block.get("sourceRules"):
        message = "is a part of sourceRules, which is not set"
        yield Problem(path="routing.deviceRules", message=message)
    if block.get("keepOnPrimary") is not None and not block.get("defaultRoute"):
        message = "is about defaultRoute, and none is asked for"
        yield Problem(path="routing.keepOnPrimary", message=message)
    listed = [*_routes(document), *(block.get("routes") or ())]
    if block.get("defaultRoute") and any(route["dst"].endswith("/0") for route in listed):
        message = "stands beside a route to everything: keep one of them"
        yield Problem(path="routing.defaultRoute", message=message)


def _routes(document: Document) -> list[Document]:
    routes: list[Document] = (document.get("ipam") or {}).get("routes") or []
    return routes


def _families(block: Document) -> Iterator[Problem]:
    for index, route in enumerate(block.get("routes") or ()):
        gateway = route.get("gw")
        if gateway and parse_address(gateway)[0] != Network.parse(route["dst"]).version:
            message = f"{gateway} is not of the family of {route['dst']}"
            yield Problem(path=f"routing.routes[{index}].gw", message=message)


def _gateway_check(block: Document, document: Document) -> Iterator[Problem]:
    if block.get("gatewayCheck", "off") == "off":
        return
    head, kind = _head(document), (document.get("ipam") or {}).get("type")
    if kind not in OWN_IPAM:
        message = f"needs gateways that are known before: ipam.type {' or '.join(OWN_IPAM)}"
        yield Problem(path="routing.gatewayCheck", message=message)
    elif head["type"] == "ipvlan" and head.get("mode") in {"l3", "l3s"}:
        message = f"ipvlan in mode {head['mode']} asks no gateway: the node routes"
        yield Problem(path="routing.gatewayCheck", message=message)


def _link(document: Document) -> Iterator[Problem]:
    head = _head(document)
    kind, mtu = head["type"], document.get("mtu")
    if document.get("restore") and kind not in TAKE_THE_NIC:
        message = f"plugin {kind} leaves the NIC on the node: there is nothing to put back"
        yield Problem(path="restore", message=message)
    if document.get("vlan") and NIC_KEYS.get(kind, "master") != "master":
        message = f"plugin {kind} puts no interface on a NIC that could be a VLAN's"
        yield Problem(path="vlan", message=message)
    if mtu and head.get("mtu"):
        yield Problem(path="mtu", message="stands in plugin, too: keep one of them")
    if mtu and mtu < LEAST_FOR_IPV6 and _subnets_of_ipv6(document):
        message = f"{mtu} is too small for IPv6, which needs {LEAST_FOR_IPV6}"
        yield Problem(path="mtu", message=message)


def _head(document: Document) -> Document:
    plugin = document["plugin"]
    head: Document = plugin[0] if isinstance(plugin, list) else plugin
    return head


def _subnets_of_ipv6(document: Document) -> bool:
    subnet = document.get("subnet") or ""
    listed = [subnet] if isinstance(subnet, str) else subnet
    return any(":" in each for each in listed)
