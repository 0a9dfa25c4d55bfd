"""What is in place in a pod, in iproute2's own words, and a primary interface as clusters give it.

The primary is like Calico's: a host address, and a default route by a gateway that no network has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.netns.traffic import leaves

if TYPE_CHECKING:
    from tests.pytest_netns import Namespace, Node

PRIMARY, PRIMARY_OF_IPV6 = "10.244.0.5", "fd00:244::5"
PRIMARY_GATEWAY, PRIMARY_GATEWAY_OF_IPV6 = "169.254.1.1", "fe80::ecee:eeff:feee:eeee"
FIRST, SECOND = "10.1.0.0/24", "10.2.0.0/24"  # the NICs as the confs name them

# What net1 and net1-1 have by `two_leaves` before anything of routing, as kernel and delegates set.
CONNECTED = {
    "172.20.1.0/24 dev net1 proto kernel scope link src 172.20.1.1",
    "172.21.1.0/24 dev net1-1 proto kernel scope link src 172.21.1.1",
}
CONNECTED_OF_IPV6 = {
    "fd02:1:0:1::/64 dev net1 proto kernel metric 256 pref medium",
    "fd02:2:0:1::/64 dev net1-1 proto kernel metric 256 pref medium",
}
LINK_LOCAL_OF_IPV6 = {
    "fe80::/64 dev net1 proto kernel metric 256 pref medium",
    "fe80::/64 dev net1-1 proto kernel metric 256 pref medium",
}
RULES = {
    "0: from all lookup local",
    "32766: from all lookup main",
    "32767: from all lookup default",
}
RULES_OF_IPV6 = {"0: from all lookup local", "32766: from all lookup main"}


def two_leaves(**routing: object) -> dict[str, Any]:
    """Return a conf of node 1 for its first two rails; see traffic.leaves."""
    conf = leaves(1)
    ranges = {net: conf["ipam"]["ranges"][net] for net in (FIRST, SECOND)}
    return conf | {
        "masterNets": [FIRST, SECOND],
        "ipam": conf["ipam"] | {"ranges": ranges},
        "routing": routing,
    }


def routes(pod: Namespace, family: str = "-4") -> set[str]:
    """Return the routes of all tables but the local one, which follows from the addresses."""
    return {line for line in _routes(pod, family) if " table local " not in f"{line} "}


def rules(pod: Namespace, family: str = "-4") -> set[str]:
    return _lines(pod, family, "rule", "show")


def neighbors(pod: Namespace) -> set[str]:
    return _lines(pod, "-4", "neigh", "show", "nud", "permanent") | _lines(
        pod, "-6", "neigh", "show", "nud", "permanent"
    )


def everything(pod: Namespace) -> dict[str, Any]:
    """Return all that routing may touch in a pod, for comparing before and after."""
    settings = pod.execute(
        "sysctl", "--pattern", r"^net\.ipv[46]\.(conf\.|ip_local_)", "-a"
    ).splitlines()
    volatile = ("stable_secret", "mc_forwarding")
    return {
        "routes": {family: _routes(pod, family) for family in ("-4", "-6")},
        "rules": {family: rules(pod, family) for family in ("-4", "-6")},
        "addresses": _lines(pod, "address", "show"),
        "neighbors": neighbors(pod),
        "settings": {each for each in settings if not any(word in each for word in volatile)},
    }


def give_primary(pod: Namespace, node: Node, end: str = "cali0") -> None:
    """Give the pod an interface eth0 with its default routes; the node's `end` is the gateway."""
    node.ip(
        f"link add {end} type veth peer name eth0 netns {pod.name}",
        f"link set {end} address ee:ee:ee:ee:ee:ee",
        f"link set {end} up",
        f"address add {PRIMARY_GATEWAY}/32 dev {end}",
        f"address add {PRIMARY_GATEWAY_OF_IPV6}/64 dev {end} nodad",
        f"route replace {PRIMARY} dev {end}",
        f"route replace {PRIMARY_OF_IPV6} dev {end}",
    )
    pod.ip(
        "link set eth0 addrgenmode none",
        "link set eth0 up",
        f"address add {PRIMARY}/32 dev eth0",
        f"address add {PRIMARY_OF_IPV6}/128 dev eth0 nodad",
        f"route add {PRIMARY_GATEWAY} dev eth0 scope link",
        f"route add default via {PRIMARY_GATEWAY} dev eth0",
        f"route add {PRIMARY_GATEWAY_OF_IPV6} dev eth0",
        f"route add default via {PRIMARY_GATEWAY_OF_IPV6} dev eth0",
    )


def _routes(pod: Namespace, family: str) -> set[str]:
    return _lines(pod, family, "route", "show", "table", "all")


def _lines(pod: Namespace, *words: str) -> set[str]:
    """Return the lines of `ip`, a whole object in each, with single spaces between the words."""
    shown = pod.execute("ip", "-o", *words).replace("\\", " ").splitlines()
    return {" ".join(line.split()) for line in shown if line.strip()}
