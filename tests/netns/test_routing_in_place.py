"""What stands in the pod after ADD is what the conf asks for, as iproute2 shows it, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import ranges
from tests.netns.in_place import (
    CONNECTED,
    CONNECTED_OF_IPV6,
    FIRST,
    LINK_LOCAL_OF_IPV6,
    RULES,
    RULES_OF_IPV6,
    SECOND,
    everything,
    neighbors,
    routes,
    rules,
    two_leaves,
)

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Namespace, Runtime

DIFFERENCES, ROUTING_FAILED = 105, 106
NEIGHBOUR_MAC = "02:00:5e:10:00:07"

# By sourceRules and nothing else. IPv6 has no source: the kernel refuses one in doubt yet.
TABLES = {
    "172.20.1.0/24 dev net1 table 1000 proto static scope link src 172.20.1.1",
    "default via 172.20.1.254 dev net1 table 1000 proto static",
    "172.21.1.0/24 dev net1-1 table 1001 proto static scope link src 172.21.1.1",
    "default via 172.21.1.254 dev net1-1 table 1001 proto static",
}
TABLES_OF_IPV6 = {
    "fd02:1:0:1::/64 dev net1 table 1000 proto static metric 1024 pref medium",
    "default via fd02:1:0:1::fe dev net1 table 1000 proto static metric 1024 pref medium",
    "fd02:2:0:1::/64 dev net1-1 table 1001 proto static metric 1024 pref medium",
    "default via fd02:2:0:1::fe dev net1-1 table 1001 proto static metric 1024 pref medium",
}
FROM = {
    "1001: from 172.20.1.1 lookup 1000 proto static",
    "1001: from 172.21.1.1 lookup 1001 proto static",
}
FROM_OF_IPV6 = {
    "1001: from fd02:1:0:1::1 lookup 1000 proto static",
    "1001: from fd02:2:0:1::1 lookup 1001 proto static",
}
BY_DEVICE = {
    "1000: from all oif net1 lookup 1000 proto static",
    "1000: from all oif net1-1 lookup 1001 proto static",
}


def by_both(first: str, second: str) -> str:
    return f"nexthop via {first} dev net1 weight 1 nexthop via {second} dev net1-1 weight 1"


BY_BOTH = by_both("172.20.1.254", "172.21.1.254")
BY_BOTH_OF_IPV6 = by_both("fd02:1:0:1::fe", "fd02:2:0:1::fe")
ALL_OF_IT: dict[str, Any] = {
    "sourceRules": True,
    "deviceRules": True,
    "routes": [
        {"dst": "172.24.0.0/16", "gw": "172.20.1.253"},
        {"dst": "198.18.0.0/15"},
        {"dst": "fd03::/32"},
        {"dst": "203.0.113.0/24", "nics": [SECOND], "metric": 50, "mtu": 1400},
        {"dst": "192.0.2.0/24", "gw": "172.20.1.250", "nics": ["rail1"]},
        {"dst": "fd04::/32", "gw": "fd02:2:0:1::99"},
    ],
    "crossRail": {"supernet": ["172.16.0.0/12", "fd02::/16"], "via": FIRST},
    "neighbors": [
        {"address": "172.20.1.77", "mac": NEIGHBOUR_MAC},
        {"address": "fd02:2:0:1::77", "mac": NEIGHBOUR_MAC.upper()},
    ],
    "sysctls": {
        "net.ipv4.conf.IFNAME.log_martians": "1",
        "net/ipv6/conf/IFNAME/accept_ra": "0",
    },
    "dad": False,
    "linkLocal": False,
}


def attached(runtime: Runtime, pod: Namespace, **routing: object) -> Attachment:
    attachment = runtime.attachment(pod, runtime.conf(**two_leaves(**routing)))
    attachment.add()
    return attachment


def test_source_rules(runtime: Runtime, pod: Namespace) -> None:
    attachment = attached(runtime, pod, sourceRules=True)
    assert routes(pod) == CONNECTED | TABLES
    assert rules(pod) == RULES | FROM
    assert routes(pod, "-6") == CONNECTED_OF_IPV6 | LINK_LOCAL_OF_IPV6 | TABLES_OF_IPV6
    assert rules(pod, "-6") == RULES_OF_IPV6 | FROM_OF_IPV6
    attachment.check().succeeded()


def test_all_of_it(runtime: Runtime, pod: Namespace) -> None:
    attachment = attached(runtime, pod, **ALL_OF_IT)
    assert routes(pod) == CONNECTED | TABLES | {
        "172.24.0.0/16 via 172.20.1.253 dev net1 proto static",
        "172.24.0.0/16 via 172.20.1.253 dev net1 table 1000 proto static",
        f"198.18.0.0/15 proto static {BY_BOTH}",
        "198.18.0.0/15 via 172.20.1.254 dev net1 table 1000 proto static",
        "198.18.0.0/15 via 172.21.1.254 dev net1-1 table 1001 proto static",
        "203.0.113.0/24 via 172.21.1.254 dev net1-1 proto static metric 50 mtu 1400",
        "203.0.113.0/24 via 172.21.1.254 dev net1-1 table 1001 proto static metric 50 mtu 1400",
        "192.0.2.0/24 via 172.20.1.250 dev net1 proto static",
        "192.0.2.0/24 via 172.20.1.250 dev net1 table 1000 proto static",
        "172.16.0.0/12 via 172.20.1.254 dev net1 proto static",
    }
    assert routes(pod, "-6") == CONNECTED_OF_IPV6 | TABLES_OF_IPV6 | {
        f"fd03::/32 proto static metric 1024 pref medium {BY_BOTH_OF_IPV6}",
        "fd03::/32 via fd02:1:0:1::fe dev net1 table 1000 proto static metric 1024 pref medium",
        "fd03::/32 via fd02:2:0:1::fe dev net1-1 table 1001 proto static metric 1024 pref medium",
        "fd04::/32 via fd02:2:0:1::99 dev net1-1 proto static metric 1024 pref medium",
        "fd04::/32 via fd02:2:0:1::99 dev net1-1 table 1001 proto static metric 1024 pref medium",
        "fd02::/16 via fd02:1:0:1::fe dev net1 proto static metric 1024 pref medium",
    }
    assert rules(pod) == RULES | FROM | BY_DEVICE
    assert rules(pod, "-6") == RULES_OF_IPV6 | FROM_OF_IPV6 | BY_DEVICE
    assert neighbors(pod) == {
        f"172.20.1.77 dev net1 lladdr {NEIGHBOUR_MAC} PERMANENT",
        f"fd02:2:0:1::77 dev net1-1 lladdr {NEIGHBOUR_MAC} PERMANENT",
    }
    for name in ("net1", "net1-1"):
        assert pod.execute("sysctl", "-n", f"net.ipv4.conf.{name}.log_martians") == "1\n"
        assert pod.execute("sysctl", "-n", f"net.ipv6.conf.{name}.accept_ra") == "0\n"
    assert_ready_at_once_without_link_local(pod)
    attachment.check().succeeded()


def assert_ready_at_once_without_link_local(pod: Namespace) -> None:
    for name in ("net1", "net1-1"):
        (link,) = pod.show("address", "show", "dev", name)
        listed = [each for each in link["addr_info"] if each["family"] == "inet6"]
        assert [each["scope"] for each in listed] == ["global"]
        assert not any(each.get("tentative") for each in listed)


def test_socket_on_an_interface_reaches_its_link_local_neighbours(
    runtime: Runtime, pod: Namespace
) -> None:
    """By the interface's rule it looks into a table that leads everything to the gateway."""
    attachment = attached(runtime, pod, sourceRules=True, deviceRules=True)
    for name in ("net1", "net1-1"):
        way = pod.execute("ip", "-6", "route", "get", "fe80::77", "oif", name)
        assert f"dev {name} table" in way
        assert " via " not in way
    attachment.check().succeeded()


def test_a_pods_own_route_of_another_metric_stays(runtime: Runtime, pod: Namespace) -> None:
    cross_rail = {"supernet": "fd02::/16", "via": "none"}
    attachment = attached(runtime, pod, crossRail=cross_rail)
    pod.ip("route add unreachable fd02::/16 metric 5 proto static")
    attachment.delete().succeeded()
    expected = {"unreachable fd02::/16 dev lo proto static metric 5 pref medium"}
    assert routes(pod, "-6") == expected


@pytest.mark.parametrize(
    ("via", "expected"),
    [
        ("rail2", {"172.16.0.0/12 via 172.21.1.254 dev net1-1 proto static"}),
        (
            "all",
            {f"172.16.0.0/12 proto static {BY_BOTH}"},
        ),
        ("none", {"unreachable 172.16.0.0/12 proto static"}),
    ],
)
def test_cross_rail(runtime: Runtime, pod: Namespace, via: str, expected: set[str]) -> None:
    before = everything(pod)
    attachment = attached(runtime, pod, crossRail={"supernet": "172.16.0.0/12", "via": via})
    assert routes(pod) == CONNECTED | expected
    assert rules(pod) == RULES
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert everything(pod) == before


def test_multipath_of_the_operator(runtime: Runtime, pod: Namespace) -> None:
    """One destination twice in ipam.routes; the other route stays the delegates' to set."""
    conf = ranges(1, 2)
    ipam = conf["ipam"] | {
        "routes": [
            {"dst": "198.18.0.0/15", "gw": "10.1.0.254"},
            {"dst": "198.18.0.0/15", "gw": "10.2.0.254"},
            {"dst": "203.0.113.0/24", "gw": "10.2.0.254"},
        ]
    }
    before = everything(pod)
    attachment = runtime.attachment(pod, runtime.conf(**conf | {"ipam": ipam}))
    attachment.add()
    assert routes(pod) == {
        "10.1.0.0/24 dev net1 proto kernel scope link src 10.1.0.100",
        "10.2.0.0/24 dev net1-1 proto kernel scope link src 10.2.0.100",
        f"198.18.0.0/15 proto static {by_both('10.1.0.254', '10.2.0.254')}",
        "203.0.113.0/24 via 10.2.0.254 dev net1-1",
    }
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert everything(pod) == before


@pytest.mark.parametrize(
    ("removal", "named"),
    [
        ("route delete default table 1001", ["rail2", "0.0.0.0/0", "table 1001"]),
        ("route delete 198.18.0.0/15", ["198.18.0.0/15"]),
        ("-6 route delete fd04::/32", ["rail2", "fd04::/32"]),
        ("rule delete from 172.20.1.1", ["rail1", "from 172.20.1.1"]),
        ("-6 rule delete oif net1-1", ["rail2", "oif net1-1"]),
        ("neigh delete 172.20.1.77 dev net1", ["rail1", "172.20.1.77", NEIGHBOUR_MAC]),
    ],
)
def test_check_names_what_is_missing(
    runtime: Runtime, pod: Namespace, removal: str, named: list[str]
) -> None:
    attachment = attached(runtime, pod, **ALL_OF_IT)
    pod.execute("ip", *removal.split())
    message = attachment.check().error(DIFFERENCES)
    assert not [word for word in named if word not in message], message
    attachment.delete().succeeded()


def test_check_names_a_setting(runtime: Runtime, pod: Namespace) -> None:
    attachment = attached(runtime, pod, sourceRules=True)
    pod.execute("sysctl", "-qw", "net.ipv4.conf.net1-1.arp_ignore=0")
    message = attachment.check().error(DIFFERENCES)
    assert "rail2" in message
    assert "net1-1/arp_ignore" in message


@pytest.mark.parametrize(
    ("gateway", "destination"), [("192.0.2.1", "198.18.0.0/15"), ("fd99::1", "fd03::/32")]
)
def test_unreachable_gateway_leaves_nothing(
    *, runtime: Runtime, pod: Namespace, state: State, gateway: str, destination: str
) -> None:
    """The kernel's own words, and the NIC's name."""
    route = {"dst": destination, "gw": gateway, "nics": [SECOND]}
    before = everything(pod)
    conf = runtime.conf(**two_leaves(sourceRules=True, routes=[route]))
    message = runtime.attachment(pod, conf).call("ADD").error(ROUTING_FAILED)
    for word in ("rail2", gateway, "net1-1"):
        assert word in message
    assert "unreachable" in message or "No route to host" in message
    assert everything(pod) == before
    assert state.left() == []


@pytest.mark.parametrize("setting", ["net.ipv4.route.flush", "net.ipv6.conf.all.nothing"])
def test_setting_that_cannot_be_put_back(
    runtime: Runtime, pod: Namespace, state: State, setting: str
) -> None:
    """One that can only be written, and one that is not there."""
    conf = runtime.conf(**two_leaves(sysctls={setting: "1"}))
    message = runtime.attachment(pod, conf).call("ADD").error(ROUTING_FAILED)
    assert setting.replace(".", "/") in message
    assert pod.links() == {}
    assert state.left() == []


def test_gateway_of_no_nic(runtime: Runtime, pod: Namespace, state: State) -> None:
    conf = runtime.conf(**two_leaves(routes=[{"dst": "198.18.0.0/15", "gw": "192.0.2.1"}]))
    message = runtime.attachment(pod, conf).call("ADD").error(ROUTING_FAILED)
    assert "192.0.2.1" in message
    assert "rail1" in message
    assert pod.links() == {}
    assert state.left() == []
