from __future__ import annotations

from socket import AF_INET, AF_INET6
from typing import Any

import netaddr
import pytest
from pyroute2.netlink.rtnl.ifaddrmsg import IFA_F_NAMES

from multinic_cni.messages import Address, Link
from tests.unit import kernel as fake
from tests.unit.kernel import address, done, link, raw, talk


def number(text: str) -> int:
    return int(netaddr.IPAddress(text))


UP, LOOPBACK, LOWER_UP = 0x1, 0x8, 0x10000


def kind(name: str, *data: tuple[str, Any]) -> tuple[str, Any]:
    info = [("IFLA_INFO_KIND", name)]
    return "IFLA_LINKINFO", {"attrs": [*info, ("IFLA_INFO_DATA", {"attrs": list(data)})]}


DEVICE = Link(
    index=2,
    name="ens3",
    altnames=("rail0", "enp0s3"),
    mac="02:00:00:00:00:02",
    mtu=9000,
    kind="",
    loopback=False,
    up=True,
    carrier=True,
    master=7,
    lower=0,
)

LINKS = {
    "device": (
        link(
            ("IFLA_IFNAME", "ens3"),
            ("IFLA_TXQLEN", 1000),
            ("IFLA_MTU", 9000),
            ("IFLA_MASTER", 7),
            ("IFLA_ADDRESS", "02:00:00:00:00:02"),
            ("IFLA_BROADCAST", "ff:ff:ff:ff:ff:ff"),
            (
                "IFLA_PROP_LIST",
                {"attrs": [("IFLA_ALT_IFNAME", "rail0"), ("IFLA_ALT_IFNAME", "enp0s3")]},
            ),
            index=2,
            flags=UP | LOWER_UP,
        ),
        DEVICE,
    ),
    "down": (
        link(("IFLA_IFNAME", "ens3"), index=2, flags=0),
        DEVICE.but(altnames=(), mac="", mtu=0, master=0, up=False, carrier=False),
    ),
    "without carrier": (
        link(("IFLA_IFNAME", "ens3"), index=2, flags=UP),
        DEVICE.but(altnames=(), mac="", mtu=0, master=0, carrier=False),
    ),
    "loopback": (
        link(
            ("IFLA_IFNAME", "lo"),
            ("IFLA_ADDRESS", "00:00:00:00:00:00"),
            ("IFLA_MTU", 65536),
            index=1,
            flags=UP | LOWER_UP | LOOPBACK,
        ),
        DEVICE.but(
            index=1,
            name="lo",
            altnames=(),
            mac="00:00:00:00:00:00",
            mtu=65536,
            master=0,
            loopback=True,
        ),
    ),
    "bond": (
        link(("IFLA_IFNAME", "bond0"), kind("bond", ("IFLA_BOND_MODE", 4)), index=7, flags=UP),
        DEVICE.but(
            index=7, name="bond0", altnames=(), mac="", mtu=0, kind="bond", master=0, carrier=False
        ),
    ),
    "vlan": (
        link(
            ("IFLA_IFNAME", "ens3.7"),
            ("IFLA_LINK", 2),
            kind("vlan", ("IFLA_VLAN_ID", 7)),
            index=9,
            flags=UP | LOWER_UP,
        ),
        DEVICE.but(
            index=9, name="ens3.7", altnames=(), mac="", mtu=0, kind="vlan", master=0, lower=2
        ),
    ),
    "vlan on a link of another netns": (
        link(
            ("IFLA_IFNAME", "net1"),
            ("IFLA_LINK", 2),
            ("IFLA_LINK_NETNSID", 0),
            kind("vlan", ("IFLA_VLAN_ID", 7)),
            index=9,
            flags=UP | LOWER_UP,
        ),
        DEVICE.but(
            index=9,
            name="net1",
            altnames=(),
            mac="",
            mtu=0,
            kind="vlan",
            master=0,
            lower_elsewhere=2,
        ),
    ),
    "veth, whose link is its peer": (
        link(
            ("IFLA_IFNAME", "veth1"), ("IFLA_LINK", 2), kind("veth"), index=9, flags=UP | LOWER_UP
        ),
        DEVICE.but(index=9, name="veth1", altnames=(), mac="", mtu=0, kind="veth", master=0),
    ),
    "infiniband": (
        # pyroute2 writes Ethernet's addresses only: an attribute of 4 + 20 bytes by hand.
        raw(
            fake.NEW_LINK,
            link(("IFLA_IFNAME", "ib0"), index=2, flags=UP | LOWER_UP, ifi_type=32)[16:]
            + bytes([24, 0, 1, 0, *range(20)]),
        ),
        DEVICE.but(
            name="ib0",
            altnames=(),
            mac="00:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:10:11:12:13",
            mtu=0,
            master=0,
            medium=32,
        ),
    ),
    "what its driver and RFC 2863 say": (
        link(
            ("IFLA_IFNAME", "ens3"),
            ("IFLA_OPERSTATE", "DORMANT"),
            ("IFLA_PERM_ADDRESS", bytes.fromhex("020000000099")),
            index=2,
            flags=UP | LOWER_UP,
        ),
        DEVICE.but(
            altnames=(),
            mac="",
            permanent_mac="02:00:00:00:00:99",
            mtu=0,
            master=0,
            operstate="dormant",
        ),
    ),
    "ipvlan": (
        link(
            ("IFLA_IFNAME", "ens3"),
            ("IFLA_LINK", 7),
            kind("ipvlan", ("IFLA_IPVLAN_MODE", 2)),
            index=2,
            flags=UP | LOWER_UP,
        ),
        DEVICE.but(altnames=(), mac="", mtu=0, master=0, lower=7, kind="ipvlan", mode="l3s"),
    ),
    **{
        f"macvlan in mode {mode}": (
            link(
                ("IFLA_IFNAME", "ens3"),
                ("IFLA_LINK", 7),
                kind("macvlan", ("IFLA_MACVLAN_MODE", number)),
                index=2,
                flags=UP | LOWER_UP,
            ),
            DEVICE.but(altnames=(), mac="", mtu=0, master=0, lower=7, kind="macvlan", mode=mode),
        )
        for mode, number in (("vepa", 2), ("bridge", 4), ("passthru", 8), ("32", 32))
    },
}


@pytest.mark.parametrize(("packet", "expected"), LINKS.values(), ids=LINKS)
def test_link(packet: bytes, expected: Link) -> None:
    socket, _ = talk([packet, done()])
    assert [expected] == socket.links()


@pytest.mark.parametrize(
    ("packet", "expected"),
    [
        (
            address(
                ("IFA_ADDRESS", "10.1.0.5"),
                ("IFA_LOCAL", "10.1.0.5"),
                ("IFA_LABEL", "ens3"),
                family=AF_INET,
                prefixlen=24,
                index=2,
            ),
            Address(link=2, version=4, number=number("10.1.0.5"), prefix_length=24),
        ),
        (
            address(
                ("IFA_ADDRESS", "10.9.0.1"),
                ("IFA_LOCAL", "10.1.0.5"),
                family=AF_INET,
                prefixlen=32,
                index=2,
            ),
            Address(link=2, version=4, number=number("10.1.0.5"), prefix_length=32),
        ),
        (
            address(("IFA_ADDRESS", "fd00::5"), family=AF_INET6, prefixlen=64, index=2),
            Address(link=2, version=6, number=number("fd00::5"), prefix_length=64),
        ),
    ],
    ids=["ipv4", "point to point", "ipv6"],
)
def test_address(packet: bytes, expected: Address) -> None:
    socket, _ = talk([packet, done()])
    assert [expected] == socket.addresses()


# By their names in pyroute2; IFA_F_TEMPORARY has the number of IFA_F_SECONDARY.
FLAGS = {
    "IFA_F_SECONDARY": False,
    "IFA_F_TEMPORARY": False,
    "IFA_F_DADFAILED": False,
    "IFA_F_DEPRECATED": False,
    "IFA_F_TENTATIVE": False,
    "IFA_F_PERMANENT": True,
    "IFA_F_NODAD": True,
    "IFA_F_HOMEADDRESS": True,
}


@pytest.mark.parametrize("permanent", [False, True])
@pytest.mark.parametrize(("flag", "primary"), FLAGS.items(), ids=FLAGS)
def test_flags_of_an_address(flag: str, *, primary: bool, permanent: bool) -> None:
    flags = IFA_F_NAMES[flag] | (IFA_F_NAMES["IFA_F_PERMANENT"] if permanent else 0)
    packet = address(
        ("IFA_ADDRESS", "fd00::5"), family=AF_INET6, prefixlen=64, index=2, flags=flags
    )
    (found,) = talk([packet, done()])[0].addresses()
    assert primary == found.primary
