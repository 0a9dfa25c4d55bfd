"""What `ip -j -d link`, `ip -j addr` and `ip -j route` would say on a machine."""

from __future__ import annotations

import ipaddress
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from scripts.machines.model import Machine, Netdev

Json = dict[str, Any]
FLAGS = {"up": ["UP", "LOWER_UP"], "down": [], "no-carrier": ["NO-CARRIER", "UP"]}
OPERSTATES = {"up": "UP", "down": "DOWN", "no-carrier": "DOWN"}
LOOPBACK: Json = {
    "ifindex": 1,
    "ifname": "lo",
    "flags": ["LOOPBACK", "UP", "LOWER_UP"],
    "mtu": 65536,
    "operstate": "UNKNOWN",
    "link_type": "loopback",
    "address": "00:00:00:00:00:00",
}
LOOPBACK_ADDRESSES = ["127.0.0.1/8", "::1/128"]


def write(machine: Machine, folder: Path) -> None:
    links = [LOOPBACK, *(_link(each, machine) for each in machine.netdevs)]
    _dump(folder / "ip-link.json", links)
    own = {each.name: each.line.listed("addr") for each in machine.netdevs}
    addresses = [
        {**link, "addr_info": [_address(each) for each in own.get(link["ifname"], ())]}
        for link in links
    ]
    addresses[0]["addr_info"] = [_address(each) for each in LOOPBACK_ADDRESSES]
    _dump(folder / "ip-addr.json", addresses)
    _dump(folder / "ip-route.json", *_routes(machine))


def _dump(file: Path, *documents: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(each)}\n" for each in documents))


def _link(netdev: Netdev, machine: Machine) -> Json:
    word = netdev.line.word
    over, peer = word("over"), word("peer")
    link: Json = {
        "ifindex": netdev.index,
        **({"link": over} if over else {}),
        # A veth whose peer is in another netns has its index and that netns's number.
        **({"link_index": int(peer), "link_netnsid": 0} if peer else {}),
        "ifname": netdev.name,
        "flags": ["BROADCAST", "MULTICAST", *FLAGS[netdev.state]],
        "mtu": netdev.mtu,
        **({"master": machine.netdev(word("master")).name} if word("master") else {}),
        "operstate": word("operstate", OPERSTATES[netdev.state]),
        "link_type": "infiniband" if netdev.is_infiniband else "ether",
        "address": netdev.mac,
    }
    if word("permaddr"):
        link["permaddr"] = word("permaddr")
    if netdev.kind:
        mode = {"info_data": {"mode": word("mode")}} if word("mode") else {}
        link["linkinfo"] = {"info_kind": netdev.kind, **mode}
    if netdev.line.listed("altnames"):
        link["altnames"] = netdev.line.listed("altnames")
    return link


def _address(text: str) -> Json:
    interface = ipaddress.ip_interface(text.removesuffix("*"))
    link_local = interface.ip.is_link_local
    return {
        "family": "inet" if interface.version == 4 else "inet6",  # noqa: PLR2004 - a family
        "local": str(interface.ip),
        "prefixlen": interface.network.prefixlen,
        "scope": "host" if interface.ip.is_loopback else "link" if link_local else "global",
        **({"secondary": True} if text.endswith("*") else {}),
    }


def _routes(machine: Machine) -> tuple[list[Json], list[Json]]:
    """Return IPv4's and IPv6's: the default routes, and those of the addresses' networks."""
    families: tuple[list[Json], list[Json]] = ([], [])
    for line in machine.defaults:
        metric = {"metric": int(line.word("metric"))} if line.word("metric") else {}
        gateway = {"gateway": line.subject} if line.subject else {}
        version = ipaddress.ip_address(line.subject).version
        route = {"dst": "default", **gateway, "dev": line.word("dev"), **metric, "flags": []}
        families[version == 6].append(route)  # noqa: PLR2004 - a family
    for netdev in machine.netdevs:
        for text in netdev.line.listed("addr"):
            network = ipaddress.ip_interface(text.removesuffix("*")).network
            route = {"dst": str(network), "dev": netdev.name, "protocol": "kernel", "flags": []}
            families[network.version == 6].append(route)  # noqa: PLR2004 - a family
    return families
