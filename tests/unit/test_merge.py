from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from multinic_cni.merge import merge
from multinic_cni.result import Interface, IpConfig, Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.merge import PodLink

NETNS = "/var/run/netns/pod"
LINKS = {
    "net1": SimpleNamespace(mac="02:00:00:00:01:01", mtu=9000),
    "net1-1": SimpleNamespace(mac="02:00:00:00:01:02", mtu=1500),
    "net1-2": SimpleNamespace(mac="02:00:00:00:01:03", mtu=1500),
}


def part(ifname: str, *addresses: str, gateway: str = "") -> tuple[str, Result]:
    """Return what macvlan answers for one NIC."""
    return ifname, Result(
        interfaces=(Interface(name=ifname, mac="aa:bb:cc:dd:ee:ff", sandbox=NETNS),),
        ips=tuple(IpConfig(address=each, gateway=gateway, interface=0) for each in addresses),
    )


def merged(
    *parts: tuple[str, Result],
    previous: Result | None = None,
    links: Mapping[str, PodLink] = LINKS,
    dns: Mapping[str, object] | None = None,
    functions: Mapping[str, str] | None = None,
) -> Result:
    return merge(previous or Result(), parts, NETNS, links, dns or {}, functions=functions or {})


def placed(result: Result) -> list[tuple[str, str | None]]:
    """Return each address with the name of the interface that its index means."""
    return [
        (ip.address, None if ip.interface is None else result.interfaces[ip.interface].name)
        for ip in result.ips
    ]


def test_indexes_are_counted_anew() -> None:
    result = merged(
        part("net1", "10.1.0.7/24", "fd01::7/64"),
        part("net1-1", "10.2.0.7/24"),
        part("net1-2", "10.3.0.7/24"),
    )
    assert ["net1", "net1-1", "net1-2"] == [each.name for each in result.interfaces]
    assert [0, 0, 1, 2] == [ip.interface for ip in result.ips]
    assert [
        ("10.1.0.7/24", "net1"),
        ("fd01::7/64", "net1"),
        ("10.2.0.7/24", "net1-1"),
        ("10.3.0.7/24", "net1-2"),
    ] == placed(result)


def test_prev_result_comes_first_and_is_not_changed() -> None:
    previous = Result(
        interfaces=(
            Interface(name="veth1", mac="02:00:00:00:00:01"),
            Interface(name="eth0", mac="02:00:00:00:00:02", sandbox=NETNS),
        ),
        ips=(IpConfig(address="10.244.0.7/24", gateway="10.244.0.1", interface=1),),
        routes=({"dst": "0.0.0.0/0"},),
    )
    result = merged(part("net1", "10.1.0.7/24"), previous=previous)
    assert previous.interfaces == result.interfaces[:2]
    assert previous.ips == result.ips[:1]
    assert previous.routes == result.routes[:1]
    assert [("10.244.0.7/24", "eth0"), ("10.1.0.7/24", "net1")] == placed(result)


def test_kernels_mac_and_mtu_count() -> None:
    result = merged(part("net1"), part("net1-1"))
    assert (
        Interface(name="net1", mac="02:00:00:00:01:01", mtu=9000, sandbox=NETNS),
        Interface(name="net1-1", mac="02:00:00:00:01:02", mtu=1500, sandbox=NETNS),
    ) == result.interfaces


def test_link_that_the_kernel_does_not_show_keeps_the_delegates_words() -> None:
    (interface,) = merged(part("net1"), links={}).interfaces
    assert Interface(name="net1", mac="aa:bb:cc:dd:ee:ff", sandbox=NETNS) == interface


def bridge_part(ifname: str, address: str) -> tuple[str, Result]:
    return ifname, Result(
        interfaces=(
            Interface(name="cni0", mac="02:00:00:00:00:0a"),
            Interface(name="veth7", mac="02:00:00:00:00:0b"),
            Interface(name=ifname, mac="02:00:00:00:00:0c", sandbox=NETNS),
        ),
        ips=(IpConfig(address=address, interface=2),),
    )


def test_host_interfaces_have_no_sandbox() -> None:
    result = merged(bridge_part("net1", "10.1.0.7/24"), bridge_part("net1-1", "10.2.0.7/24"))
    assert [("cni0", ""), ("veth7", ""), ("net1", NETNS)] == [
        (each.name, each.sandbox) for each in result.interfaces[:3]
    ]
    assert ["02:00:00:00:00:0a", "02:00:00:00:00:0b"] == [e.mac for e in result.interfaces[3:5]]
    assert [("10.1.0.7/24", "net1"), ("10.2.0.7/24", "net1-1")] == placed(result)


def test_host_interface_of_a_pods_name_stays_the_hosts() -> None:
    # A delegate's peer on the node may be called like another NIC's interface in the pod.
    ifname, own = part("net1", "10.1.0.7/24")
    peer = Interface(name="net1-1", mac="02:00:00:00:00:0d")
    with_peer = own.but(
        interfaces=(peer, *own.interfaces),
        ips=tuple(ip.but(interface=1) for ip in own.ips),
    )
    result = merged((ifname, with_peer))
    assert peer == result.interfaces[0]
    assert [("10.1.0.7/24", "net1")] == placed(result)


def test_numbers_in_macs_and_sandboxes_are_not_believed() -> None:
    # The AWS plugin puts a route table's number into mac and a device's number into sandbox.
    own = Result(
        interfaces=(
            Interface(name="eni1", mac="02:00:00:00:00:01"),
            Interface(name="net1", mac="02:00:00:00:00:02", sandbox=NETNS),
            Interface(name="dummy1", mac="254", sandbox="2"),
            Interface(name="dummy2", mac="11", sandbox="0"),
        ),
        ips=(IpConfig(address="10.1.0.7/32", interface=1),),
    )
    result = merged(("net1", own))
    assert [
        Interface(name="dummy1"),
        Interface(name="dummy2"),
    ] == list(result.interfaces[2:])
    assert [("10.1.0.7/32", "net1")] == placed(result)


@pytest.mark.parametrize(
    "mac",
    ["02:00:00:00:00:01", "00:11:22:33:44:55:66:77", ":".join(f"{each:02x}" for each in range(20))],
    ids=["ethernet", "eui64", "infiniband"],
)
def test_real_macs_of_host_interfaces_stay(mac: str) -> None:
    own = Result(interfaces=(Interface(name="peer", mac=mac),))
    assert mac == merged(("net1", own)).interfaces[0].mac


def test_delegate_without_interfaces_gets_its_interface() -> None:
    # Otherwise Multus drops the addresses.
    own = Result(ips=(IpConfig(address="10.1.0.7/24"),))
    result = merged(part("net1"), ("net1-1", own))
    assert (
        Interface(name="net1-1", mac="02:00:00:00:01:02", mtu=1500, sandbox=NETNS)
        == (result.interfaces[1])
    )
    assert [("10.1.0.7/24", "net1-1")] == placed(result)


def test_address_of_a_host_interface_stays_its() -> None:
    ifname, own = bridge_part("net1", "10.1.0.7/24")
    own = own.but(ips=(*own.ips, IpConfig(address="10.1.0.1/24", interface=0)))
    expected = [("10.1.0.7/24", "net1"), ("10.1.0.1/24", "cni0")]
    assert expected == placed(merged((ifname, own)))
    shifted = placed(merged(part("net1-1"), (ifname, own)))
    assert expected == shifted


@pytest.mark.parametrize("index", [None, 3, -1])
def test_impossible_index_means_the_pods_interface(index: int | None) -> None:
    ifname, own = bridge_part("net1", "10.1.0.7/24")
    own = own.but(ips=(IpConfig(address="10.1.0.7/24", interface=index),))
    assert [("10.1.0.7/24", "net1")] == placed(merged(part("net1-1"), (ifname, own)))


def test_sandbox_is_added_where_a_delegate_forgot_it() -> None:
    own = Result(interfaces=(Interface(name="net1"),))
    (interface,) = merged(("net1", own)).interfaces
    assert NETNS == interface.sandbox


def test_default_route_says_its_gateway() -> None:
    ifname, own = part("net1", "10.1.0.7/24", gateway="10.1.0.1")
    own = own.but(
        ips=(*own.ips, IpConfig(address="fd01::7/64", gateway="fd01::1", interface=0)),
        routes=({"dst": "0.0.0.0/0"}, {"dst": "::/0"}, {"dst": "10.9.0.0/16"}),
    )
    assert (
        {"dst": "0.0.0.0/0", "gw": "10.1.0.1"},
        {"dst": "::/0", "gw": "fd01::1"},
        {"dst": "10.9.0.0/16"},
    ) == merged((ifname, own)).routes


@pytest.mark.parametrize(
    ("route", "gateway"),
    [({"dst": "0.0.0.0/0", "gw": "10.1.0.254"}, "10.1.0.1"), ({"dst": "0.0.0.0/0"}, "")],
    ids=["its own", "none anywhere"],
)
def test_default_route_stays_as_it_is(route: dict[str, object], gateway: str) -> None:
    ifname, own = part("net1", "10.1.0.7/24", gateway=gateway)
    assert (route,) == merged((ifname, own.but(routes=(route,)))).routes


def test_route_of_every_nic_stands_once() -> None:
    same: dict[str, object] = {"dst": "10.9.0.0/16", "gw": "10.1.0.1"}
    other: dict[str, object] = {"dst": "10.9.0.0/16", "gw": "10.2.0.1"}
    parts = [
        (ifname, part(ifname)[1].but(routes=routes))
        for ifname, routes in (("net1", (same,)), ("net1-1", (same, other)))
    ]
    assert (same, other) == merged(*parts).routes


def with_dns(ifname: str, server: str) -> tuple[str, Result]:
    return ifname, part(ifname)[1].but(dns={"nameservers": [server]})


@pytest.mark.parametrize(
    ("previous", "own", "expected"),
    [
        ("10.0.0.53", "10.8.0.53", "10.0.0.53"),
        ("", "10.8.0.53", "10.8.0.53"),
        ("", "", "10.2.0.53"),
    ],
    ids=["prevResult", "conf", "delegate"],
)
def test_dns(previous: str, own: str, expected: str) -> None:
    def dns(server: str) -> dict[str, object]:
        return {"nameservers": [server]} if server else {}

    parts: Sequence[tuple[str, Result]] = [
        part("net1"),
        with_dns("net1-1", "10.2.0.53"),
        with_dns("net1-2", "10.3.0.53"),
    ]
    result = merged(*parts, previous=Result(dns=dns(previous)), dns=dns(own))
    assert {"nameservers": [expected]} == result.dns


def test_nothing_but_prev_result() -> None:
    previous = Result(interfaces=(Interface(name="eth0", sandbox=NETNS),))
    assert previous == merged(previous=previous)


def test_pci_function_of_each_nic_stands_in_its_interface() -> None:
    result = merged(
        part("net1", "10.1.0.7/24"),
        part("net1-1", "10.2.0.7/24"),
        part("net1-2"),
        functions={"net1": "0000:3b:00.2", "net1-1": "", "net1-2": "0000:5e:00.0"},
    )
    assert ["0000:3b:00.2", "", "0000:5e:00.0"] == [each.pci_id for each in result.interfaces]


def test_pci_function_that_the_delegate_says_stays() -> None:
    said = Interface(name="net1", sandbox=NETNS, pci_id="0000:3b:02.7")
    result = merged(("net1", Result(interfaces=(said,))), functions={"net1": "0000:3b:00.0"})
    assert ["0000:3b:02.7"] == [each.pci_id for each in result.interfaces]


def test_host_side_of_a_delegate_has_no_pci_function() -> None:
    both = (Interface(name="vethd0"), Interface(name="net1", sandbox=NETNS))
    result = merged(("net1", Result(interfaces=both)), functions={"net1": "0000:3b:00.0"})
    assert ["", "0000:3b:00.0"] == [each.pci_id for each in result.interfaces]
