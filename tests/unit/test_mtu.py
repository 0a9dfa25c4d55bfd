"""The size of frames: set, inherited, and what is said before a delegate could fail on it."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.attachments.record import NicRecord
from multinic_cni.conf.netconf import problems_in
from multinic_cni.conflicts import Size, conflict_on, uneven_mtus, wanted_size
from multinic_cni.delegates import chain_confs
from multinic_cni.errors import ROUTING_FAILED, CniError
from multinic_cni.messages import Link, read_link
from multinic_cni.netlink import NetlinkError
from multinic_cni.routing.sizes import set_mtus
from multinic_selectors.nics import Nic
from tests.unit.conflicting import (
    AWS_IPVLAN,
    HOST_DEVICE,
    IPVLAN,
    MACVLAN,
    TUNING,
    VLAN,
    Surroundings,
    nic,
)
from tests.unit.confs import document, net_conf
from tests.unit.explaining import dgx_in, run
from tests.unit.kernel import link

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.conflicting import Conf

V4 = {"subnet": "192.168.0.0/16", "ipam": {"type": "multi-nic-ipam", "interfaceBlock": 2}}
V6 = {"subnet": "fd01::/48", "ipam": {"type": "multi-nic-ipam", "interfaceBlock": 2}}
OWN_V6 = {
    "masterNets": ["fd00:1::/64"],
    "ipam": {"type": "multi-nic-ipam", "slice": {"offset": 100, "length": 10}},
}
RANGES_V6 = {
    "ipam": {
        "type": "multi-nic-ipam",
        "ranges": {"10.1.0.0/24": [{}, {"subnet": "fd00:1::/64"}], "10.2.0.0/24": [{}]},
    }
}


@pytest.mark.parametrize("template", [MACVLAN, IPVLAN, AWS_IPVLAN, VLAN, {"type": "ptp"}])
def test_first_delegate_sets_it(template: Conf) -> None:
    conf = net_conf(plugin=[template, TUNING], mtu=9000)
    first, second = chain_confs(conf, "rail1", None)
    assert 9000 == first["mtu"]
    assert "mtu" not in second


@pytest.mark.parametrize("template", [HOST_DEVICE, {"type": "sriov"}, {"type": "my-own"}])
def test_delegates_without_a_word_for_it(template: Conf) -> None:
    (only,) = chain_confs(net_conf(plugin=template, mtu=9000), "rail1", None)
    assert "mtu" not in only


def test_what_the_template_says_stays() -> None:
    (only,) = chain_confs(net_conf(plugin={**MACVLAN, "mtu": 1400}), "rail1", None)
    assert 1400 == only["mtu"]


def problems(**changes: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - a conf's words
    return [(each.path, each.message) for each in problems_in(document(**changes))]


@pytest.mark.parametrize("conf", [V6, OWN_V6, RANGES_V6], ids=["subnet", "own network", "ranges"])
def test_too_small_for_ipv6(conf: dict[str, Any]) -> None:
    assert [] == problems(**conf, mtu=1280)
    assert [("mtu", "1279 is less than IPv6 needs, 1280")] == problems(**conf, mtu=1279)
    small = {**MACVLAN, "mtu": 1279}
    expected = [("plugin.mtu", "1279 is less than IPv6 needs, 1280")]
    assert expected == problems(**conf, plugin=small)


def test_too_small_for_ipv4() -> None:
    chain = [{**MACVLAN, "mtu": 67}, {**TUNING, "mtu": 1}, {"type": "my-own", "mtu": 1}]
    assert [
        ("plugin[0].mtu", "67 is less than IPv4 needs, 68"),
        ("plugin[1].mtu", "1 is less than IPv4 needs, 68"),
    ] == problems(**V4, plugin=chain)
    assert [] == problems(**V4, plugin={**MACVLAN, "mtu": 68})
    assert [] == problems(**V4, plugin={**MACVLAN, "mtu": 0})  # what the NIC has
    assert [] == problems(**V4, plugin={"type": "aws-cni", "mtu": "9001"})


@pytest.mark.parametrize(
    ("plugin", "where"),
    [
        ({**MACVLAN, "mtu": 1500}, "plugin.mtu"),
        ([MACVLAN, {**TUNING, "mtu": 1500}], "plugin[1].mtu"),
    ],
)
def test_two_places(plugin: object, where: str) -> None:
    expected = [("mtu", f"stands in {where}, too: keep one of them")]
    assert expected == problems(plugin=plugin, mtu=9000)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"vlan": {"id": 5}}, "cannot ask in a VLAN"),
        ({"attachPolicy": {"unhealthy": "use"}}, "skip beside attachPolicy.unhealthy use"),
        ({"attachPolicy": {"unhealthy": "fail"}}, "skip beside attachPolicy.unhealthy fail"),
        ({"plugin": {"type": "bridge"}}, "plugin bridge puts no interface on a NIC"),
        ({"plugin": {"type": "ipvlan", "mode": "l3s"}}, "asks no gateway"),
        ({"ipam": {"type": "host-local"}, "subnet": None}, "needs gateways that are known before"),
    ],
)
def test_gateway_checks_that_make_no_sense(changes: dict[str, Any], expected: str) -> None:
    asking = {**V4, "routing": {"gatewayCheck": "skip"}}
    assert [] == problems(**asking)
    ((path, message),) = problems(**asking | changes)
    assert "routing.gatewayCheck" == path
    assert expected in message


def conflict(nic: Nic, *chain: Conf, mtu: int = 0, least: int = 0) -> str:
    return conflict_on(nic, chain, Surroundings(), rdma=False, size=Size(mtu=mtu, least=least))


@pytest.mark.parametrize("template", [MACVLAN, IPVLAN, AWS_IPVLAN, VLAN])
def test_more_than_the_nics_own(template: Conf) -> None:
    expected = "mtu 9000 of the net conf is more than the NIC's own, 8999"
    assert expected == conflict(nic(mtu=8999), template, mtu=9000)
    assert "" == conflict(nic(mtu=9000), template, mtu=9000)


def test_nic_that_goes_into_the_pod_may_be_given_another() -> None:
    assert "" == conflict(nic(mtu=1500), HOST_DEVICE, mtu=9000)


def test_nic_that_is_too_small_for_ipv6() -> None:
    expected = "the NIC's mtu, 1279, is less than IPv6 needs, 1280"
    assert expected == conflict(nic(mtu=1279), MACVLAN, least=1280)
    assert "" == conflict(nic(mtu=1280), MACVLAN, least=1280)
    assert "" == conflict(nic(mtu=1279), {**MACVLAN, "mtu": 1000}, least=1280)  # a rule's matter


@pytest.mark.parametrize(("conf", "least"), [(V4, 0), (V6, 1280), (RANGES_V6, 1280), ({}, 0)])
def test_what_the_conf_needs(conf: dict[str, Any], least: int) -> None:
    assert Size(mtu=0, least=least) == wanted_size(net_conf(**conf))
    assert Size(mtu=9000, least=least) == wanted_size(net_conf(**conf, mtu=9000))


UNEVEN = [Nic(index=2, name="rail1", mtu=9000), Nic(index=3, name="rail2", mtu=1500)]


@pytest.mark.parametrize("plugin", [MACVLAN, HOST_DEVICE, [IPVLAN, TUNING]])
def test_nics_that_differ(plugin: object) -> None:
    said = uneven_mtus(net_conf(plugin=plugin), UNEVEN)
    assert said.startswith("the NICs differ in MTU: rail1 9000, rail2 1500")
    assert "" == uneven_mtus(net_conf(plugin=plugin), UNEVEN[:1])
    assert "" == uneven_mtus(net_conf(plugin=plugin), UNEVEN[:1] * 2)
    assert "" == uneven_mtus(net_conf(plugin=plugin), [])


@pytest.mark.parametrize(
    "changes",
    [
        {"mtu": 1500},
        {"plugin": {**MACVLAN, "mtu": 1500}},
        {"plugin": [MACVLAN, {**TUNING, "mtu": 1500}]},
        {"plugin": {"type": "bridge"}},
    ],
    ids=["set", "in the template", "by tuning", "on no NIC"],
)
def test_difference_that_does_not_count(changes: dict[str, Any]) -> None:
    assert "" == uneven_mtus(net_conf(**changes), UNEVEN)


def test_explain_shows_it(tmp_path: Path) -> None:
    folder = dgx_in(tmp_path)
    rails = {"masterNets": None, "masters": ["rail*"], "attachPolicy": {"nics": 2}}
    status, found = run(folder, document(**rails, mtu=1500))
    assert 0 == status
    assert [1500, 1500] == [conf["mtu"] for each in found["nics"] for conf in each["delegates"]]

    assert "notes" not in found

    status, found = run(folder, document(**rails, mtu=9600))
    assert 1 == status
    assert "mtu 9600 of the net conf is more than the NIC's own, 9000" in found["error"]["msg"]


def test_explain_tells_of_nics_that_differ(tmp_path: Path) -> None:
    folder = dgx_in(tmp_path)
    links = json.loads((folder / "ip-link.json").read_text())
    for each in links:
        each["mtu"] = 1500 if each["ifname"] == "enp12s0" else each["mtu"]
    (folder / "ip-link.json").write_text(json.dumps(links))
    rails = {"masterNets": None, "masters": ["enp12s0", "enp18s0"]}

    status, found = run(folder, document(**rails))

    assert 0 == status
    (note,) = found["notes"]
    assert "enp12s0 1500, enp18s0 9000" in note


class Kernel:
    """A pod with net1, a link whose driver takes 68 to 2000, as the kernel words it."""

    def __init__(self, mtu: int) -> None:
        self.mtu = mtu
        self.refuses = False
        self.changes = 0

    def links(self) -> list[Link]:
        return [read_link(self._body())]

    def dump(self, *_request: object) -> list[memoryview]:
        return [self._body()]

    def change(self, _request: int, payload: bytes, _flags: int = 0) -> None:
        if self.refuses:
            raise NetlinkError(errno.EINVAL, os.strerror(errno.EINVAL))
        self.mtu = int.from_bytes(payload[-4:], "little")
        self.changes += 1

    def _body(self) -> memoryview:
        words = [("IFLA_IFNAME", "net1"), ("IFLA_MTU", self.mtu)]
        words += [("IFLA_MIN_MTU", 68), ("IFLA_MAX_MTU", 2000)]
        return memoryview(link(*words, index=7)[16:])


RECORDS = [
    NicRecord(nic="rail1", index=2, kind="", mac="", ifname="net1", confs=()),
    NicRecord(nic="rail2", index=3, kind="", mac="", ifname="net1-1", confs=()),
]


@pytest.mark.parametrize(("before", "changes"), [(1500, 1), (9000, 0)])
def test_interface_in_the_pod_is_given_the_size(before: int, changes: int) -> None:
    """One that is not there is the delegate's matter."""
    kernel = Kernel(before)
    set_mtus(RECORDS, 9000, kernel)  # type: ignore[arg-type]
    assert (9000, changes) == (kernel.mtu, kernel.changes)


def test_refusal_says_both_sizes_and_what_can_be_had() -> None:
    kernel = Kernel(1500)
    kernel.refuses = True
    with pytest.raises(CniError) as raised:
        set_mtus(RECORDS, 9000, kernel)  # type: ignore[arg-type]
    assert (
        "NIC rail1: net1 has mtu 1500, and cannot have 9000 (mtu of the net conf): Invalid argument"
    ) == raised.value.message
    assert "its driver takes 68 to 2000" == raised.value.details
    assert ROUTING_FAILED == raised.value.code
