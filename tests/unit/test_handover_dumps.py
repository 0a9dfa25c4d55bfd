"""What of a NIC's addresses, routes and rules is noted: what the kernel would not make again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import netaddr
from pyroute2.netlink.rtnl.fibmsg import fibmsg

from multinic_cni.handover.dumps import addresses_of, routes_over, rules_leading_by
from multinic_cni.handover.former import FormerAddress, FormerHop, FormerRoute
from multinic_cni.route_messages import KernelRoute
from multinic_selectors.nics import Nic
from tests.unit.kernel import address, done, message, route, talk

if TYPE_CHECKING:
    import pytest

PERMANENT_FLAG, NOPREFIXROUTE, STABLE = 0x80, 0x200, 0x800
STATIC, KERNEL, RA = 4, 2, 9
NEW_RULE = 32
RAIL1 = Nic(index=3, name="rail1", mac="02:00:00:00:00:03")


def number(text: str) -> int:
    return int(netaddr.IPAddress(text))


def an_address(text: str, flags: int, *more: tuple[str, Any], **fields: int) -> bytes:
    network = netaddr.IPNetwork(text)
    family = 2 if network.version == 4 else 10
    return address(
        ("IFA_ADDRESS", str(network.ip)),
        ("IFA_FLAGS", flags),
        *more,
        **{"family": family, "prefixlen": network.prefixlen, "index": 3, **fields},
    )


def test_addresses_that_stay() -> None:
    netlink, _ = talk(
        [
            an_address("10.1.0.1/24", PERMANENT_FLAG | NOPREFIXROUTE),
            an_address("10.1.0.2/24", 0),  # it has a lifetime
            an_address("10.2.0.1/24", PERMANENT_FLAG, index=4),
            an_address("fd00::1/64", PERMANENT_FLAG),
            an_address("fe80::9/64", PERMANENT_FLAG),
            an_address("fe80::ff:fe00:3/64", PERMANENT_FLAG),  # of the MAC, RFC 4291
            an_address("fe80::7/64", PERMANENT_FLAG | STABLE),
            done(),
        ]
    )
    stay = [(each.version, each.number, each.flags) for each in addresses_of(netlink, RAIL1)]
    assert stay == [
        (4, number("10.1.0.1"), NOPREFIXROUTE),
        (6, number("fd00::1"), 0),
        (6, number("fe80::9"), 0),
    ]


def test_routes_that_are_noted(capfd: pytest.CaptureFixture[str]) -> None:
    """Another NIC's, the kernel's own and what is not understood are not."""

    def ours(destination: str, *more: tuple[str, Any], **fields: int) -> bytes:
        attributes = (("RTA_DST", destination), ("RTA_OIF", 3), ("RTA_TABLE", 101), *more)
        return route(*attributes, **{"family": 2, "dst_len": 16, "proto": STATIC, **fields})

    netlink, _ = talk(
        [
            ours("10.9.0.0", ("RTA_GATEWAY", "10.1.0.254"), ("RTA_PRIORITY", 50)),
            ours("10.10.0.0", proto=KERNEL),
            ours("10.11.0.0", proto=RA),
            ours("10.12.0.0", ("RTA_OIF", 4)),
            ours("10.13.0.0", ("RTA_FLOW", 7)),
            ours("10.14.0.0", tos=16),
            done(),
        ],
        [ours("fd00:15::", ("RTA_PREF", 1), family=10, dst_len=48), done()],
    )
    noted = routes_over(netlink, [3], {3: "rail1", 4: "rail2"})
    assert noted == {
        3: [
            FormerRoute(
                route=KernelRoute(
                    version=4,
                    table=101,
                    destination=number("10.9.0.0"),
                    prefix_length=16,
                    protocol=STATIC,
                    metric=50,
                ),
                hops=(FormerHop(dev="rail1", gateway=number("10.1.0.254")),),
            )
        ]
    }
    told = capfd.readouterr().err
    assert "route 10.13.0.0/16 table 101 is not kept" in told
    assert "route 10.14.0.0/16 table 101 is not kept" in told
    assert "route fd00:15::/48 table 101 is not kept" in told


def test_rules_that_are_noted(capfd: pytest.CaptureFixture[str]) -> None:
    def rule(priority: int, *more: tuple[str, Any], **fields: int) -> bytes:
        attributes = [("FRA_PRIORITY", priority), ("FRA_TABLE", 101), *more]
        common = {"family": 2, "table": 101, "action": 1}
        return message(fibmsg, NEW_RULE, attributes, **common | fields)

    netlink, _ = talk(
        [
            rule(1, ("FRA_SRC", "10.1.0.1"), src_len=32),
            rule(2, ("FRA_SRC", "10.1.0.0"), src_len=24),
            rule(3, ("FRA_SRC", "10.1.0.9"), src_len=32),
            rule(4, ("FRA_SRC", "10.0.0.0"), src_len=8),
            rule(5, ("FRA_OIFNAME", "rail1")),
            rule(6, ("FRA_IIFNAME", "rail2")),
            rule(7, ("FRA_SRC", "10.1.0.1"), ("FRA_FWMARK", 7), src_len=32),
            rule(8),
            done(),
        ],
        [done()],
    )
    own = FormerAddress(version=4, number=number("10.1.0.1"), length=24)
    noted = rules_leading_by(netlink, RAIL1, [own])
    assert [each.priority for each in noted] == [1, 2, 5]
    assert capfd.readouterr().err.count("rule is not kept") == 1
