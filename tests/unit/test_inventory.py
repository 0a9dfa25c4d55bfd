from __future__ import annotations

from multinic_cni.messages import Address, Link, Route
from multinic_ipam.networks import split_cidr
from multinic_selectors.inventory import inventory


def link(index: int, name: str, *, master: int = 0, lower: int = 0, kind: str = "") -> Link:
    return Link(
        index=index,
        name=name,
        altnames=(),
        mac=f"02:00:00:00:00:{index:02x}",
        mtu=1500 + index,
        kind=kind,
        loopback=False,
        up=True,
        carrier=True,
        master=master,
        lower=lower,
    )


def address(index: int, cidr: str, *, primary: bool = True) -> Address:
    version, number, length = split_cidr(cidr)
    return Address(
        link=index, version=version, number=number, prefix_length=length, primary=primary
    )


def default(index: int, *, version: int = 4, metric: int = 0) -> Route:
    return Route(
        version=version, destination=0, prefix_length=0, gateway=1, metric=metric, link=index
    )


def uplinks(links: list[Link], *routes: Route) -> dict[str, str]:
    return {nic.name: nic.uplink for nic in inventory(links, [], routes) if nic.uplink}


ETHS = [link(1, "eth0"), link(2, "eth1"), link(3, "eth2")]


def test_every_fact_of_a_link_is_kept() -> None:
    whole = Link(
        index=7,
        name="ens3",
        altnames=("rail0", "enp0s3"),
        mac="02:00:00:00:00:07",
        mtu=9000,
        kind="bond",
        loopback=True,
        up=False,
        carrier=False,
        master=0,
        lower=0,
        permanent_mac="02:00:00:00:00:99",
        medium=32,
        operstate="dormant",
    )
    (nic,) = inventory([whole], [], [])
    assert (7, "ens3", ("rail0", "enp0s3")) == (nic.index, nic.name, nic.altnames)
    assert ("02:00:00:00:00:07", 9000, "bond") == (nic.mac, nic.mtu, nic.kind)
    assert (True, False, False) == (nic.loopback, nic.up, nic.carrier)
    assert ("", "", []) == (nic.enslaved_to, nic.uplink, nic.addresses)
    assert ("02:00:00:00:00:99", 32, "dormant") == (nic.permanent_mac, nic.medium, nic.operstate)
    assert ("", []) == (nic.stands_on, list(nic.uppers))


def test_links_that_stand_on_a_link_are_its_uppers() -> None:
    links = [
        *ETHS,
        link(4, "eth0.7", lower=1, kind="vlan"),
        link(5, "child", lower=1, kind="ipvlan").but(mode="l3"),
        link(6, "grandchild", lower=4, kind="macvlan").but(mode="vepa"),
        link(7, "orphan", lower=99, kind="vlan"),  # its NIC has gone between two dumps
    ]
    nics = {nic.name: nic for nic in inventory(links, [], [])}
    uppers = {
        name: [(upper.name, upper.kind, upper.mode) for upper in nic.uppers]
        for name, nic in nics.items()
        if nic.uppers
    }
    assert {
        "eth0": [("eth0.7", "vlan", ""), ("child", "ipvlan", "l3")],
        "eth0.7": [("grandchild", "macvlan", "vepa")],
    } == uppers
    assert {"eth0.7": "eth0", "child": "eth0", "grandchild": "eth0.7", "orphan": "?"} == {
        name: nic.stands_on for name, nic in nics.items() if nic.stands_on
    }


def test_addresses_go_to_their_link() -> None:
    addresses = [
        address(2, "10.2.0.1/24"),
        address(1, "10.1.0.1/24"),
        address(2, "fd02::1/64"),
        address(9, "10.9.0.1/24"),  # its link has gone since
    ]
    nics = inventory(ETHS, addresses, [])
    expected = {
        "eth0": [split_cidr("10.1.0.1/24")],
        "eth1": [split_cidr("10.2.0.1/24"), split_cidr("fd02::1/64")],
        "eth2": [],
    }
    assert expected == {nic.name: nic.addresses for nic in nics}


def test_passing_addresses_are_marked_and_the_others_are_its_own() -> None:
    addresses = [
        address(1, "10.1.0.9/24", primary=False),
        address(1, "10.1.0.1/24"),
        address(2, "10.2.0.1/24"),
        address(2, "fd02::1/64", primary=False),
    ]
    nics = {nic.name: nic for nic in inventory(ETHS, addresses, [])}
    first, second = split_cidr("10.1.0.9/24"), split_cidr("10.1.0.1/24")
    assert ([first, second], [first], [second]) == (
        nics["eth0"].addresses,
        nics["eth0"].passing,
        nics["eth0"].own_addresses,
    )
    assert [split_cidr("fd02::1/64")] == nics["eth1"].passing
    assert [split_cidr("10.2.0.1/24")] == nics["eth1"].own_addresses
    assert [[], []] == [list(nics["eth2"].passing), nics["eth2"].own_addresses]


def test_ports_name_their_bridge_or_bond() -> None:
    links = [link(1, "eth0", master=4), link(2, "eth1", master=9), link(4, "bond0", kind="bond")]
    nics = inventory(links, [], [])
    # The second one's bridge has gone between two dumps.
    assert {"eth0": "bond0", "eth1": "?", "bond0": ""} == {n.name: n.enslaved_to for n in nics}


def test_no_default_route_no_uplink() -> None:
    assert {} == uplinks(ETHS)


def test_lowest_metric_counts_in_each_family() -> None:
    found = uplinks(
        ETHS,
        default(1, metric=100),
        default(2, metric=50),
        default(3, version=6, metric=1024),
        default(1, version=6, metric=2048),
    )
    assert {
        "eth1": "the node's IPv4 default route leaves by it",
        "eth2": "the node's IPv6 default route leaves by it",
    } == found


def test_all_next_hops_of_the_route_count() -> None:
    assert ["eth0", "eth2"] == list(uplinks(ETHS, default(1, metric=5), default(3, metric=5)))


def test_nic_below_a_vlan_is_an_uplink_too() -> None:
    links = [*ETHS, link(4, "eth2.7", lower=3, kind="vlan")]
    assert {
        "eth2": "the node's IPv4 default route leaves by it through eth2.7",
        "eth2.7": "the node's IPv4 default route leaves by it",
    } == uplinks(links, default(4))


def test_all_that_an_uplink_stands_on_are_uplinks() -> None:
    links = [
        *ETHS,
        link(4, "eth2.7", lower=3, kind="vlan"),
        link(5, "eth2.7.8", lower=4, kind="vlan"),
    ]
    leaves = "the node's IPv6 default route leaves by it"
    assert {
        "eth2": f"{leaves} through eth2.7.8",
        "eth2.7": f"{leaves} through eth2.7.8",
        "eth2.7.8": leaves,
    } == uplinks(links, default(5, version=6))


def test_links_that_stand_on_each_other_in_a_torn_dump() -> None:
    links = [link(1, "eth0", lower=2), link(2, "eth1", lower=3), link(3, "eth2", lower=2)]
    assert {"eth0", "eth1", "eth2"} == set(uplinks(links, default(1)))


def test_ports_of_an_uplink_bond_are_ports() -> None:
    links = [link(1, "eth0", master=4), link(2, "eth1", master=4), link(4, "bond0", kind="bond")]
    nics = {nic.name: nic for nic in inventory(links, [], [default(4)])}
    assert ["bond0", "bond0"] == [nics["eth0"].enslaved_to, nics["eth1"].enslaved_to]
    assert "leaves by it" in nics["bond0"].uplink


def test_route_over_a_link_that_has_gone() -> None:
    assert {} == uplinks(ETHS, default(9))


def test_first_reason_stays_when_both_families_leave_by_one() -> None:
    found = uplinks(ETHS, default(1), default(1, version=6))
    assert {"eth0": "the node's IPv4 default route leaves by it"} == found
