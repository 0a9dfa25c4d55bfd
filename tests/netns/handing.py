"""A NIC with all that it may have on a node, and whether it has it still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.pytest_netns import wait_until

if TYPE_CHECKING:
    from tests.pytest_netns import Attachment, Document, Namespace, Runtime

HOST_DEVICE = {
    "cniVersion": "1.0.0",
    "plugin": {"type": "host-device"},
    "masters": ["rail1"],
    "ipam": {"type": "multi-nic-ipam", "ranges": {"rail1": [{"subnet": "172.26.1.0/24"}]}},
}
# What an admin may have given to rail1, 10.1.0.1/24 before all: in this order, which counts.
ADDRESSES = (
    "address add 10.1.0.61/24 dev rail1",
    "address add 10.61.0.1/32 broadcast 10.61.0.255 label rail1:x dev rail1",
    "address add 169.254.9.1/16 scope link dev rail1 noprefixroute",
    "address add 192.0.2.1 peer 192.0.2.2/32 dev rail1 metric 77",
    "address add fd00:1::1/64 dev rail1 nodad",
    "address add fd00:1::2/64 dev rail1",
    "address add fe80::9/64 dev rail1 nodad",
)
BY_RAIL2 = "nexthop via 10.2.0.254 dev rail2"
ROUTES = (
    "route add 10.91.0.0/16 via 10.1.0.254 dev rail1 mtu 1300 metric 50",
    "route add 10.92.0.0/16 dev rail1 table 101 scope link src 10.1.0.61 protocol 77",
    "route add default via 10.1.0.254 dev rail1 table 101",
    "route add 198.51.100.1 dev rail1 table 1001",
    "route add 10.94.0.0/16 via 203.0.113.9 dev rail1 onlink",
    "route add local 10.95.0.0/16 dev rail1 table 101",
    f"route add 10.93.0.0/16 nexthop via 10.1.0.254 dev rail1 weight 3 {BY_RAIL2}",
    "route add fd00:91::/48 via fd00:1::fe dev rail1",
    "route add fd00:92::/48 via fd00:1::fe dev rail1 src fd00:1::2 table 101",
    "route add fd00:93::/48 via fe80::fe dev rail1 metric 7",
)
RULES = (
    "rule add from 10.1.0.1 table 101 priority 5000",
    "rule add from 10.1.0.0/24 to 10.92.0.0/16 table 1001 priority 5001",
    "rule add oif rail1 table 101 priority 5002",
)
RULES_OF_IPV6 = ("rule add from fd00:1::2 iif rail1 table 101 priority 5003",)


@dataclass(frozen=True)
class AsSeen:
    """What iproute2 shows of a node that a NIC's move could change."""

    addresses: list[Document]
    routes: list[Document]
    rules: list[Document]

    @classmethod
    def on(cls, node: Namespace) -> AsSeen:
        return cls(
            addresses=node.show("address", "show", "dev", "rail1"),
            routes=[
                route
                for family in ("-4", "-6")
                for route in node.show(family, "route", "show", "table", "all")
                if "rail1" in str(route)
            ],
            rules=[*node.show("-4", "rule"), *node.show("-6", "rule")],
        )

    @property
    def is_settled(self) -> bool:
        """Tell whether no address is in doubt any more."""
        (link,) = self.addresses
        return link["operstate"] == "UP" and not any(
            info.get("tentative") for info in link["addr_info"]
        )


def furnish(node: Namespace) -> None:
    """Give a node's rail1 all that a NIC may have."""
    node.ip("link set rail1 mtu 1400", *ADDRESSES)
    # A route prefers no address that is in doubt.
    wait_until(lambda: AsSeen.on(node).is_settled, "IPv6 addresses are known to be the only ones")
    node.ip(*ROUTES, *RULES)
    for rule in RULES_OF_IPV6:
        node.execute("ip", "-6", *rule.split())


def restoring(runtime: Runtime, pod: Namespace, **keys: object) -> Attachment:
    return runtime.attachment(pod, runtime.conf(restore=True, **HOST_DEVICE | keys))


def in_order(link: Document) -> list[Document]:
    """Return a link's addresses in their order; the kernel adds its own link-local one any time."""
    infos: list[Document] = link["addr_info"]
    return sorted(infos, key=lambda info: info["local"] if info["local"][:4] == "fe80" else "")


def is_as_before(node: Namespace, before: AsSeen) -> None:
    wait_until(lambda: "rail1" in node.links() and AsSeen.on(node).is_settled, "rail1 is home")
    now = AsSeen.on(node)
    (link,), (former,) = now.addresses, before.addresses
    assert {key for key in link if link[key] != former.get(key)} <= {"addr_info"}
    assert in_order(link) == in_order(former)
    # Routes of several tables and links come in no order that counts.
    missing = [route for route in before.routes if route not in now.routes]
    new = [route for route in now.routes if route not in before.routes]
    assert (missing, new) == ([], [])
    assert len(now.routes) == len(before.routes)
    assert now.rules == before.rules
