from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.delegates import Wanted
from multinic_cni.errors import BAD_CONF, DELEGATE_FAILED, CniError
from multinic_cni.requests import for_delegates, refuse_ignored
from multinic_cni.result import IpConfig, Result
from tests.unit.asking import asking
from tests.unit.confs import net_conf
from tests.unit.rails import range_conf
from tests.unit.records import conf as delegate_conf
from tests.unit.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from multinic_cni.conf.netconf import NetConf

MAC, OTHER_MAC = "02:00:5e:10:00:01", "02:00:5e:10:00:02"
HOST_LOCAL = {"type": "host-local", "subnet": "10.1.0.0/24"}
TWO = [("rail0", "net1"), ("rail1", "net1-1")]


def for_nics(
    conf: NetConf, nics: list[tuple[str, str]], *addresses: str, mac: str = ""
) -> list[Wanted]:
    return for_delegates(asking(*addresses, mac=mac), conf, "net1", nics)


def refusal(conf: NetConf, nics: list[tuple[str, str]], *addresses: str, mac: str = "") -> CniError:
    with pytest.raises(CniError) as raised:
        for_nics(conf, nics, *addresses, mac=mac)
    assert BAD_CONF == raised.value.code
    return raised.value


def test_one_nic_has_all_addresses() -> None:
    asked = for_nics(net_conf(ipam=HOST_LOCAL), TWO[:1], "fd00::7/64", "10.1.0.7")
    assert [Wanted(ips=("fd00::7/64", "10.1.0.7"))] == asked


def test_several_nics_have_one_each_in_their_order() -> None:
    asked = for_nics(net_conf(ipam=HOST_LOCAL), TWO, "10.2.0.7", "10.1.0.7/24")
    assert [Wanted(ips=("10.2.0.7",)), Wanted(ips=("10.1.0.7/24",))] == asked


@pytest.mark.parametrize("addresses", [["10.1.0.7"], ["10.1.0.7", "10.1.0.8", "10.1.0.9"]])
def test_another_count_is_refused(addresses: list[str]) -> None:
    message = refusal(net_conf(ipam=HOST_LOCAL), TWO, *addresses).message
    listed = ", ".join(f"args.cni.ips {each}" for each in addresses)
    expected = f"{listed}: must be one address for each NIC, in this order: rail0, rail1"
    assert expected == message


def test_own_stores_addresses_are_no_delegates_business() -> None:
    assert [Wanted(), Wanted()] == for_nics(range_conf(), TWO, "10.1.0.7")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"ipam": {"type": "host-device-ipam"}}, "the addresses are the NIC's own"),
        ({}, "the network has no addresses (no ipam)"),
        ({"ipam": {}}, "the network has no addresses (no ipam)"),
        ({"ipam": {"type": "dhcp"}}, "the DHCP server chooses the addresses"),
        ({"ipam": {"type": "static"}}, "the static plugin needs a prefix length"),
        (
            {"plugin": {"type": "macvlan", "ipam": {"type": "static"}}},
            "the static plugin needs a prefix length",
        ),
        (
            {"ipam": {"type": "multi-config", "ipam_type": "static", "args": {"rail0": {}}}},
            "the static plugin needs a prefix length",
        ),
    ],
    ids=repr,
)
def test_ipam_that_cannot_give_what_is_asked(words: dict[str, Any], reason: str) -> None:
    message = refusal(net_conf(**words), TWO[:1], "10.1.0.7").message
    assert message.startswith(f"args.cni.ips 10.1.0.7: {reason}")


@pytest.mark.parametrize(
    "words",
    [
        {"ipam": {"type": "static"}},
        {"plugin": {"type": "macvlan", "ipam": {"type": "host-local"}}},
        {"ipam": {"type": "multi-config", "ipam_type": "static", "args": {"rail0": {}}}},
    ],
    ids=repr,
)
def test_ipam_that_can(words: dict[str, Any]) -> None:
    asked = for_nics(net_conf(**words), TWO[:1], "10.1.0.7/24")
    assert [Wanted(ips=("10.1.0.7/24",))] == asked


@pytest.mark.parametrize(
    ("nics", "expected"),
    [
        ([("rail0", "net1")], [MAC]),
        ([("rail0", "net1-0")], [MAC]),  # indexed
        ([("rail3", "net1-3")], [MAC]),  # rail
        ([("rail0", "net1"), ("rail1", "net1-1")], [MAC, ""]),
        ([("rail1", "net1-1"), ("rail0", "net1")], ["", MAC]),  # rail, of masters in another order
    ],
    ids=repr,
)
def test_mac_is_for_the_interface_that_the_runtime_names(
    nics: list[tuple[str, str]], expected: list[str]
) -> None:
    assert expected == [each.mac for each in for_nics(net_conf(), nics, mac=MAC)]


@pytest.mark.parametrize("inner", [("net1-0", "net1-1"), ("net1-1", "net1-2")])
def test_mac_is_refused_where_no_interface_has_the_name(inner: tuple[str, str]) -> None:
    nics = list(zip(("rail0", "rail1"), inner, strict=True))
    message = refusal(net_conf(), nics, mac=MAC).message
    expected = (
        f"the MAC {MAC} is for the interface net1 (CNI_IFNAME), but the pod's interfaces of this"
        f" network are {', '.join(inner)}"
    )
    assert expected == message


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("ipvlan", "its interfaces share the NIC's MAC"),
        ("aws-ipvlan", "its interfaces share the NIC's MAC"),
        ("ib-sriov", "InfiniBand has no MACs"),
        ("vlan", "its interfaces have the NIC's MAC"),
        ("host-device", "the interface is the NIC, with a MAC of its own"),
        ("ptp", "it lets the kernel choose the MAC"),
        ("dummy", "it lets the kernel choose the MAC"),
    ],
)
def test_mac_is_refused_where_the_delegate_sets_none(kind: str, reason: str) -> None:
    error = refusal(net_conf(plugin={"type": kind}), TWO[:1], mac=MAC)
    assert f"the MAC {MAC} cannot be given by {kind}: {reason}" == error.message
    assert ("tuning" in error.details) == (kind not in {"ipvlan", "aws-ipvlan", "ib-sriov"})


def test_mac_and_addresses_together() -> None:
    conf = net_conf(ipam=HOST_LOCAL)
    asked = for_nics(conf, TWO, "10.1.0.7", "10.1.0.8", mac=MAC)
    assert [Wanted(ips=("10.1.0.7",), mac=MAC), Wanted(ips=("10.1.0.8",))] == asked


RAIL0, RAIL1 = record().nics
LINKS = {"net1": SimpleNamespace(mac=MAC, mtu=1500), "eth0": SimpleNamespace(mac=MAC, mtu=1500)}


def ignored(wanted: Wanted, *, links: Mapping[str, Any] = LINKS, kind: str = "macvlan") -> CniError:
    head = delegate_conf(kind, ipam={"type": "whereabouts"})
    chain = (head, delegate_conf("tuning", capabilities={"mac": True}))
    with pytest.raises(CniError) as raised:
        refuse_ignored([wanted, Wanted()], [RAIL0.but(confs=chain), RAIL1], links)
    assert DELEGATE_FAILED == raised.value.code
    return raised.value


def test_what_was_served_is_not_refused() -> None:
    addresses = Result(ips=tuple(IpConfig(address=each) for each in ("10.1.0.7/24", "fd00::7/64")))
    wanted = Wanted(ips=("fd00:0::7", "10.1.0.7/16"), mac=MAC)
    refuse_ignored([wanted, Wanted()], [RAIL0.but(result=addresses), RAIL1], LINKS)
    refuse_ignored([Wanted(), Wanted()], [RAIL0, RAIL1], {})


@pytest.mark.parametrize(("kind", "setter"), [("macvlan", "macvlan"), ("vlan", "tuning")])
def test_delegate_that_ignored_the_mac(kind: str, setter: str) -> None:
    message = ignored(Wanted(mac=OTHER_MAC), kind=kind).message
    expected = (
        f"delegate {setter} on NIC rail0 (net1): the MAC is {MAC}, the pod asks for {OTHER_MAC}"
    )
    assert expected == message


def test_interface_that_is_not_there_has_no_mac() -> None:
    assert "the MAC is none" in ignored(Wanted(mac=MAC), links={}).message


def test_ipam_plugin_that_ignored_an_address() -> None:
    message = ignored(Wanted(ips=("10.1.0.7/24", "10.1.0.9"))).message
    expected = (
        "delegate macvlan on NIC rail0 (net1): whereabouts has not given 10.1.0.9, which the pod"
        " asks for"
    )
    assert expected == message
