"""Rules of what an interface carries: routing, MTU, VLAN, and a NIC's state on the node."""

from __future__ import annotations

from multinic_cni.conf.address_rules import masters_of
from multinic_cni.conf.problems import Problem
from multinic_cni.conf.share_words import ways_in
from multinic_cni.delegate_types import NIC_KEYS, TAKE_THE_NIC
from multinic_ipam.networks import Network, parse_address
from multinic_selectors.nics import LEAST_MTUS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Document = Mapping[str, Any]

OWN_IPAM = ("multi-nic-ipam", "host-device-ipam")
DEALT = ("hostBlock", "perNodeBlockSize", "perNodeNetworkPrefix")  # ways that part nodes


def routing(document: Document) -> Iterator[Problem]:
    block = document.get("routing") or {}
    yield from _rules_and_default(block, document)
    yield from _families(block)
    yield from _nic_words(block, document)
    yield from _neighbors(block)
    yield from _gateway_check(block, document)
    yield from _node_routes(block, document)
    yield from _link(document)


def _rules_and_default(block: Document, document: Document) -> Iterator[Problem]:
    if block.get("deviceRules") and not block.get("sourceRules"):
        message = "is a part of sourceRules, which is not set"
        yield Problem(path="routing.deviceRules", message=message)
    if block.get("keepOnPrimary") is not None and not block.get("defaultRoute"):
        message = "is about defaultRoute, and none is asked for"
        yield Problem(path="routing.keepOnPrimary", message=message)
    listed = _routes(document)
    if block.get("defaultRoute") and any(route["dst"].endswith("/0") for route in listed):
        message = "stands beside a default route of ipam.routes: keep one of them"
        yield Problem(path="routing.defaultRoute", message=message)


def _routes(document: Document) -> list[Document]:
    routes: list[Document] = (document.get("ipam") or {}).get("routes") or []
    return routes


def _families(block: Document) -> Iterator[Problem]:
    for index, route in enumerate(block.get("routes") or ()):
        if route["dst"].endswith("/0"):
            message = "is the default route: ask for it by defaultRoute"
            yield Problem(path=f"routing.routes[{index}].dst", message=message)
        gateway = route.get("gw")
        if gateway and parse_address(gateway)[0] != Network.parse(route["dst"]).version:
            message = f"{gateway} is not of the family of {route['dst']}"
            yield Problem(path=f"routing.routes[{index}].gw", message=message)
    supernet = (block.get("crossRail") or {}).get("supernet") or ()
    if any(each.endswith("/0") for each in ([supernet] if isinstance(supernet, str) else supernet)):
        message = "is the default route: ask for it by defaultRoute"
        yield Problem(path="routing.crossRail.supernet", message=message)


def _nic_words(block: Document, document: Document) -> Iterator[Problem]:
    """Find networks and PCI addresses by which no NIC is called: no name of a NIC is like them."""
    entries = masters_of(document)
    for path, word in _words_of_nics(block):
        if word not in entries and ("/" in word or ":" in word):
            known = f", which are {', '.join(entries)}" if entries else ""
            message = f"{word} is no entry of masterNets, masters or rails{known}"
            yield Problem(path=path, message=message)


def _words_of_nics(block: Document) -> Iterator[tuple[str, str]]:
    yield "routing.defaultRoute", block.get("defaultRoute") or ""
    yield "routing.crossRail.via", (block.get("crossRail") or {}).get("via") or ""
    for key in ("routes", "neighbors"):
        for index, each in enumerate(block.get(key) or ()):
            for place, word in enumerate(each.get("nics") or ()):
                yield f"routing.{key}[{index}].nics[{place}]", word


def _neighbors(block: Document) -> Iterator[Problem]:
    """Find a neighbour with two MACs on one NIC, which would have the later one."""
    seen: dict[tuple[int, int], list[Document]] = {}
    for index, each in enumerate(block.get("neighbors") or ()):
        alike = seen.setdefault(parse_address(each["address"]), [])
        own = set(each.get("nics") or ())
        for other in alike:
            theirs = other.get("nics")
            if each["mac"].lower() != other["mac"].lower() and (
                not own or not theirs or own.intersection(theirs)
            ):
                message = f"gives {each['address']} another MAC, {each['mac']}: keep one of them"
                yield Problem(path=f"routing.neighbors[{index}].mac", message=message)
                break
        alike.append(each)


def _gateway_check(block: Document, document: Document) -> Iterator[Problem]:
    if block.get("gatewayCheck", "off") == "off":
        return
    head, kind = _head(document), (document.get("ipam") or {}).get("type")
    if kind not in OWN_IPAM:
        message = f"needs gateways that are known before: ipam.type {' or '.join(OWN_IPAM)}"
        yield Problem(path="routing.gatewayCheck", message=message)
    elif NIC_KEYS.get(head["type"], "master") is None:
        message = f"plugin {head['type']} puts no interface on a NIC"
        yield Problem(path="routing.gatewayCheck", message=message)
    elif head["type"] == "ipvlan" and head.get("mode") in {"l3", "l3s"}:
        message = f"ipvlan in mode {head['mode']} asks no gateway: the node routes"
        yield Problem(path="routing.gatewayCheck", message=message)
    if document.get("vlan"):
        message = "cannot ask in a VLAN, whose link may not be there yet: leave one of them out"
        yield Problem(path="routing.gatewayCheck", message=message)
    unhealthy = (document.get("attachPolicy") or {}).get("unhealthy", "skip")
    if block["gatewayCheck"] == "skip" and unhealthy != "skip":
        message = f"skip beside attachPolicy.unhealthy {unhealthy}: ask for fail or warn instead"
        yield Problem(path="routing.gatewayCheck", message=message)


def mtus(document: Document) -> Iterator[Problem]:
    """Find sizes that no link of the families has, or that stand in two places."""
    family = 6 if _gives_ipv6(document) else 4
    found = list(_mtus(document))
    for path, mtu in found:
        if mtu < LEAST_MTUS[family]:
            message = f"{mtu} is less than IPv{family} needs, {LEAST_MTUS[family]}"
            yield Problem(path=path, message=message)
    others = [path for path, _ in found if path != "mtu"]
    if document.get("mtu") and others:
        yield Problem(path="mtu", message=f"stands in {others[0]}, too: keep one of them")


def _mtus(document: Document) -> Iterator[tuple[str, int]]:
    """Yield where a size stands, and the size; 0 is what the NIC has."""
    plugin = document["plugin"]
    templates = plugin if isinstance(plugin, list) else [plugin]
    places = [("mtu", document)]
    for index, template in enumerate(templates):
        if index == 0 or template["type"] == "tuning":
            path = f"plugin[{index}].mtu" if isinstance(plugin, list) else "plugin.mtu"
            places.append((path, template))
    for path, words in places:
        mtu = words.get("mtu")
        if type(mtu) is int and mtu:
            yield path, mtu


def _node_routes(block: Document, document: Document) -> Iterator[Problem]:
    if not block.get("nodeRoutes"):
        return
    ipam = document.get("ipam") or {}
    blocks = [ipam] if ipam.get("type") == OWN_IPAM[0] else []
    if blocks:
        blocks += [each for listed in (ipam.get("ranges") or {}).values() for each in listed]
    if not any(way in DEALT for each in blocks for way in ways_in(each)):
        message = (
            f"needs a share of the addresses for each node: ipam.type {OWN_IPAM[0]} with"
            f" {', '.join(DEALT[:-1])} or {DEALT[-1]}"
        )
        yield Problem(path="routing.nodeRoutes", message=message)


def routed_by_the_node(head: Document) -> bool | None:
    """Tell whether the node routes what a pod sends by the first delegate; None: nobody knows."""
    kind = head.get("type")
    if kind == "ipvlan":
        return head.get("mode") in {"l3", "l3s"}
    if kind in TAKE_THE_NIC or kind in {"macvlan", "vlan"}:
        return False
    return True if kind in {"bridge", "ptp"} else None


def _link(document: Document) -> Iterator[Problem]:
    head = _head(document)
    kind = head["type"]
    if document.get("restore") and kind not in TAKE_THE_NIC:
        message = f"plugin {kind} leaves the NIC on the node: there is nothing to put back"
        yield Problem(path="restore", message=message)
    if document.get("vlan") and NIC_KEYS.get(kind, "master") != "master":
        message = f"plugin {kind} puts no interface on a NIC that could be a VLAN's"
        yield Problem(path="vlan", message=message)
    elif document.get("vlan") and head.get("linkInContainer"):
        message = "is made on the node, and linkInContainer looks for its link in the pod"
        yield Problem(path="vlan", message=message)


def _head(document: Document) -> Document:
    plugin = document["plugin"]
    head: Document = plugin[0] if isinstance(plugin, list) else plugin
    return head


def _gives_ipv6(document: Document) -> bool:
    """Tell whether the pod's addresses are of IPv6, as far as the conf says."""
    ipam = document.get("ipam") or {}
    subnet = document.get("subnet") or ""
    networks = [subnet] if isinstance(subnet, str) else list(subnet)
    own = ipam.get("ranges")  # a list in some other plugin's block
    for master, ranges in own.items() if isinstance(own, dict) else ():
        networks += [each.get("subnet") or master for each in ranges]
    if ipam.get("type") in OWN_IPAM and not any(networks):
        networks = document.get("masterNets") or []  # the NICs' own
    return any(":" in each for each in networks)
