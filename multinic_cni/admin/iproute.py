"""Links, addresses and routes as iproute2 prints them in JSON.

The functions raise the exceptions of MALFORMED for documents that it did not print.
"""

from __future__ import annotations

import json

from multinic_cni.messages import Address, Link, Route
from multinic_ipam.networks import split_cidr
from multinic_selectors.nics import HOST_LENGTHS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

# ARP hardware types (linux/if_arp.h) by iproute2's names; the others are neither of the first two.
MEDIA = {"ether": 1, "infiniband": 32, "loopback": 772}
OTHER_MEDIUM = 0xFFFF
HAVE_MODES = frozenset({"ipvlan", "ipvtap", "macvlan", "macvtap"})
FAMILIES = frozenset({"inet", "inet6"})
# As in messages.PASSING, and a temporary address is a secondary one to the kernel.
PASSING = ("secondary", "temporary", "dadfailed", "deprecated", "tentative")

MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


def documents_of(content: bytes) -> list[Any]:
    """Return the documents of a file, one after the other."""
    text, decoder = content.decode().strip(), json.JSONDecoder()
    documents = []
    at = 0
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        documents.append(document)
        while at < len(text) and text[at].isspace():
            at += 1
    return documents


def links_of(documents: Sequence[Any]) -> list[Link]:
    """Return the links of `ip -j -d link`."""
    entries = [entry for document in documents for entry in _entries(document)]
    indexes = {str(entry["ifname"]): int(entry["ifindex"]) for entry in entries}
    return [_link(entry, indexes) for entry in entries]


def _link(entry: dict[str, Any], indexes: dict[str, int]) -> Link:
    info = entry.get("linkinfo", {})
    kind = str(info.get("info_kind", ""))
    flags = list(entry["flags"])
    is_veth = kind == "veth"  # its "link" is its peer
    mac = str(entry.get("address", ""))
    return Link(
        index=int(entry["ifindex"]),
        name=str(entry["ifname"]),
        altnames=tuple(map(str, entry.get("altnames", ()))),
        mac=mac,
        # It is printed only where it is not the address; links of a kind have none.
        permanent_mac=str(entry.get("permaddr", "" if kind or "LOOPBACK" in flags else mac)),
        mtu=int(entry["mtu"]),
        kind=kind,
        mode=str(info.get("info_data", {}).get("mode", "")) if kind in HAVE_MODES else "",
        medium=MEDIA.get(entry["link_type"], OTHER_MEDIUM),
        loopback="LOOPBACK" in flags,
        up="UP" in flags,
        carrier="LOWER_UP" in flags,
        operstate=str(entry["operstate"]).lower(),
        master=indexes.get(entry.get("master", ""), 0),
        lower=0 if is_veth else indexes.get(entry.get("link") or "", 0),
        lower_elsewhere=0 if is_veth else int(entry.get("link_index", 0)),
    )


def addresses_of(documents: Sequence[Any]) -> list[Address]:
    """Return the addresses of `ip -j addr`."""
    return [
        _address(int(entry["ifindex"]), each)
        for document in documents
        for entry in _entries(document)
        for each in entry.get("addr_info", ())
        if each.get("family") in FAMILIES
    ]


def _address(link: int, entry: dict[str, Any]) -> Address:
    version, number, prefix_length = split_cidr(f"{entry['local']}/{entry['prefixlen']}")
    return Address(
        link=link,
        version=version,
        number=number,
        prefix_length=prefix_length,
        primary=not any(entry.get(word) for word in PASSING),
    )


def default_routes_of(documents: Sequence[Any], links: Sequence[Link]) -> list[Route]:
    """Return the default routes of `ip -j route` and, after it, `ip -j -6 route`."""
    indexes = {link.name: link.index for link in links}
    return [
        route
        for number, document in enumerate(documents)
        for entry in _entries(document)
        if entry["dst"] == "default" and entry.get("type", "unicast") == "unicast"
        for route in _hops(entry, 6 if number else 4, indexes)
    ]


def _hops(entry: dict[str, Any], version: int, indexes: dict[str, int]) -> Iterator[Route]:
    for hop in entry.get("nexthops") or [entry]:
        gateway = hop.get("gateway", "")
        if ":" in gateway:
            version = 6
        length = HOST_LENGTHS[version]
        if hop.get("dev") in indexes:
            yield Route(
                version=version,
                destination=0,
                prefix_length=0,
                gateway=split_cidr(f"{gateway}/{length}")[1] if gateway else 0,
                metric=int(entry.get("metric", 0)),
                link=indexes[hop["dev"]],
            )


def _entries(document: Any) -> list[Any]:  # noqa: ANN401 - a JSON document
    if not isinstance(document, list):
        message = "not a list of objects"
        raise TypeError(message)
    return [entry for entry in document if entry]  # some releases print an empty object
