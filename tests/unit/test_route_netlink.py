from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest
from pyroute2.netlink.rtnl.fibmsg import fibmsg
from pyroute2.netlink.rtnl.ndmsg import ndmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg

from multinic_cni import route_netlink
from multinic_cni.netlink import NetlinkError
from multinic_cni.route_messages import Hop, KernelNeighbor, Rule
from tests.unit.kernel import done, error, message, talk
from tests.unit.test_route_messages import (
    INET,
    INET6,
    NEW_ROUTE,
    NEW_RULE,
    RULES,
    STATIC,
    number,
    prefix,
    route,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from multinic_cni.netlink import Netlink

NEW_NEIGHBOUR, LINK_SCOPE = 28, 253


def sent_route(*attributes: tuple[str, Any], **fields: object) -> bytes:
    return message(rtmsg, NEW_ROUTE, list(attributes), **{"type": 1, **fields})


def test_routes_of_all_tables_are_read() -> None:
    answer = [
        sent_route(
            ("RTA_TABLE", 1000),
            ("RTA_DST", "10.1.0.0"),
            ("RTA_PREFSRC", "10.1.0.9"),
            ("RTA_OIF", 5),
            family=INET,
            dst_len=24,
            table=252,
            proto=STATIC,
            scope=LINK_SCOPE,
        ),
        sent_route(
            ("RTA_TABLE", 254),
            ("RTA_GATEWAY", "10.1.0.254"),
            ("RTA_PRIORITY", 9),
            ("RTA_OIF", 5),
            family=INET,
            dst_len=0,
            table=254,
            flags=4,
        ),
        sent_route(("RTA_TABLE", 254), ("RTA_OIF", 5), family=INET, table=254, flags=0x200),
        done(),
    ]
    netlink, _ = talk(answer)
    expected = [
        route(
            "10.1.0.0/24",
            hops=(Hop(link=5),),
            scope=LINK_SCOPE,
            source=number("10.1.0.9"),
        ),
        route(
            "0.0.0.0/0",
            table=254,
            hops=(Hop(link=5, gateway=number("10.1.0.254"), onlink=True),),
            metric=9,
            protocol=0,
        ),
    ]
    assert expected == route_netlink.routes_of(netlink, 4)


def test_one_table_is_asked_for_and_others_are_left_out() -> None:
    answer = [
        sent_route(("RTA_TABLE", 1000), ("RTA_OIF", 5), family=INET, table=252),
        sent_route(("RTA_TABLE", 254), ("RTA_OIF", 5), family=INET, table=254),
        done(),
    ]
    netlink, kernel = talk(answer)
    assert [1000] == [each.table for each in route_netlink.routes_of(netlink, 4, 1000)]
    assert kernel.requests[0].get_attr("RTA_TABLE") == 1000


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EAFNOSUPPORT, errno.EOPNOTSUPP])
def test_no_table_or_no_family_means_no_routes(number: int) -> None:
    netlink, _ = talk([error(number)])
    assert [] == route_netlink.routes_of(netlink, 6)


def test_rules_of_both_families_are_read() -> None:
    four = message(
        fibmsg,
        NEW_RULE,
        [
            ("FRA_TABLE", 1000),
            ("FRA_PRIORITY", 1001),
            ("FRA_SRC", "10.1.0.9"),
            ("FRA_PROTOCOL", STATIC),
        ],
        family=INET,
        src_len=32,
        action=1,
    )
    six = message(
        fibmsg,
        NEW_RULE,
        [("FRA_TABLE", 254), ("FRA_PRIORITY", 32766), ("FRA_PROTOCOL", 2)],
        family=INET6,
        table=254,
        action=1,
    )
    netlink, _ = talk([four, done()], [six, done()])
    expected = [
        Rule(version=4, priority=1001, table=1000, source=prefix("10.1.0.9/32")),
        Rule(version=6, priority=32766, table=254, protocol=2),
    ]
    assert expected == route_netlink.rules_of(netlink)


def test_only_permanent_neighbours_are_read() -> None:
    permanent, reachable = (
        message(
            ndmsg,
            NEW_NEIGHBOUR,
            [("NDA_DST", "10.1.0.77"), ("NDA_LLADDR", "02:00:00:00:00:77")],
            family=INET,
            ifindex=5,
            state=state,
        )
        for state in (0x80, 0x02)
    )
    netlink, _ = talk([permanent, reachable, done()])
    expected = KernelNeighbor(
        version=4, link=5, number=number("10.1.0.77"), mac="02:00:00:00:00:77"
    )
    assert [expected] == route_netlink.neighbors_of(netlink)


ONE_HOP = route("10.9.0.0/16", hops=(Hop(link=5, gateway=number("10.1.0.254")),))
RULE = RULES["by source"][0]
NEIGHBOR = KernelNeighbor(version=6, link=5, number=number("fd00::7"), mac="02:00:00:00:00:77")

REQUEST, ACKNOWLEDGE, REPLACE, EXCLUSIVE, CREATE = 1, 4, 0x100, 0x200, 0x400
CHANGES: dict[str, tuple[Callable[[Netlink], None], int, int]] = {
    "add_route": (lambda n: route_netlink.add_route(n, ONE_HOP), 24, CREATE | EXCLUSIVE),
    "delete_route": (lambda n: route_netlink.delete_route(n, ONE_HOP), 25, 0),
    "add_rule": (lambda n: route_netlink.add_rule(n, RULE), 32, CREATE | EXCLUSIVE),
    "delete_rule": (lambda n: route_netlink.delete_rule(n, RULE), 33, 0),
    "set_neighbor": (lambda n: route_netlink.set_neighbor(n, NEIGHBOR), 28, CREATE | REPLACE),
    "delete_neighbor": (lambda n: route_netlink.delete_neighbor(n, NEIGHBOR), 29, 0),
    "set_up": (lambda n: route_netlink.set_up(n, 5), 16, 0),
    "set_down": (lambda n: route_netlink.set_down(n, 5), 16, 0),
    "set_mtu": (lambda n: route_netlink.set_mtu(n, 5, 9000), 16, 0),
    "rename": (lambda n: route_netlink.rename(n, 5, "rail1"), 16, 0),
}


@pytest.mark.parametrize("case", CHANGES)
def test_change_is_sent_and_acknowledged(case: str) -> None:
    change, kind, flags = CHANGES[case]
    netlink, kernel = talk([error(0)])
    change(netlink)
    header = kernel.requests[0]["header"]
    assert (kind, REQUEST | ACKNOWLEDGE | flags) == (header["type"], header["flags"])


@pytest.mark.parametrize("case", CHANGES)
def test_refused_change_raises(case: str) -> None:
    netlink, _ = talk([error(errno.ENETUNREACH)])
    with pytest.raises(NetlinkError, match="Network is unreachable"):
        CHANGES[case][0](netlink)


def test_link_changes_say_what_they_change() -> None:
    netlink, kernel = talk(*[[error(0)] for _ in range(4)])
    route_netlink.set_up(netlink, 5)
    route_netlink.set_down(netlink, 5)
    route_netlink.set_mtu(netlink, 5, 9000)
    route_netlink.rename(netlink, 5, "rail1")
    up, down, mtu, name = kernel.requests
    assert [(1, 1), (0, 1)] == [(each["flags"], each["change"]) for each in (up, down)]
    assert (9000, "rail1") == (mtu.get_attr("IFLA_MTU"), name.get_attr("IFLA_IFNAME"))
    assert [5] * 4 == [each["index"] for each in kernel.requests]
