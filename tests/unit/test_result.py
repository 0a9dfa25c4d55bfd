from __future__ import annotations

import re
from typing import Any

import pytest

from multinic_cni.errors import DECODE_FAILURE, CniError
from multinic_cni.result import Interface, IpConfig, Result, read_result

FULL = Result(
    interfaces=(
        Interface(name="br0", mac="02:00:00:00:00:01"),
        Interface(
            name="net1",
            mac="02:00:00:00:00:02",
            mtu=9000,
            sandbox="/var/run/netns/pod",
            socket_path="/run/vhost/net1",
            pci_id="0000:3b:00.2",
        ),
    ),
    ips=(
        IpConfig(address="10.1.0.7/24", gateway="10.1.0.1", interface=1),
        IpConfig(address="fd00::7/64"),
    ),
    routes=(
        {
            "dst": "10.9.0.0/16",
            "gw": "10.1.0.1",
            "mtu": 1400,
            "advmss": 1360,
            "priority": 0,
            "table": 100,
            "scope": 0,
        },
        {"dst": "fd09::/32"},
    ),
    dns={"nameservers": ["10.1.0.53"], "domain": "cluster.local"},
)

DNS = {"nameservers": ["10.1.0.53"], "domain": "cluster.local"}
OLD_INTERFACES = [
    {"name": "br0", "mac": "02:00:00:00:00:01"},
    {"name": "net1", "mac": "02:00:00:00:00:02", "sandbox": "/var/run/netns/pod"},
]
OLD_IPS = [
    {"version": "4", "address": "10.1.0.7/24", "gateway": "10.1.0.1", "interface": 1},
    {"version": "6", "address": "fd00::7/64"},
]
NEW_IPS = [
    {"address": "10.1.0.7/24", "gateway": "10.1.0.1", "interface": 1},
    {"address": "fd00::7/64"},
]
OLD_ROUTES = [{"dst": "10.9.0.0/16", "gw": "10.1.0.1"}, {"dst": "fd09::/32"}]

DOCUMENTS: dict[str, dict[str, Any]] = {
    **{
        version: {
            "cniVersion": version,
            "interfaces": OLD_INTERFACES,
            "ips": OLD_IPS,
            "routes": OLD_ROUTES,
            "dns": DNS,
        }
        for version in ("0.3.0", "0.3.1", "0.4.0")
    },
    "1.0.0": {
        "cniVersion": "1.0.0",
        "interfaces": OLD_INTERFACES,
        "ips": NEW_IPS,
        "routes": OLD_ROUTES,
        "dns": DNS,
    },
    "1.1.0": {
        "cniVersion": "1.1.0",
        "interfaces": [
            {"name": "br0", "mac": "02:00:00:00:00:01"},
            {
                "name": "net1",
                "mac": "02:00:00:00:00:02",
                "mtu": 9000,
                "sandbox": "/var/run/netns/pod",
                "socketPath": "/run/vhost/net1",
                "pciID": "0000:3b:00.2",
            },
        ],
        "ips": NEW_IPS,
        "routes": [
            {
                "dst": "10.9.0.0/16",
                "gw": "10.1.0.1",
                "mtu": 1400,
                "advmss": 1360,
                "priority": 0,
                "table": 100,
                "scope": 0,
            },
            {"dst": "fd09::/32"},
        ],
        "dns": DNS,
    },
}


@pytest.mark.parametrize("version", DOCUMENTS)
def test_written_whole(version: str) -> None:
    assert DOCUMENTS[version] == FULL.to_document(version)


def test_newest_version_loses_nothing() -> None:
    assert read_result(DOCUMENTS["1.1.0"], "it") == FULL


@pytest.mark.parametrize("version", DOCUMENTS)
def test_read_in_any_version_and_written_in_the_same(version: str) -> None:
    document = DOCUMENTS[version]
    assert document == read_result(document, "it").to_document(version)


@pytest.mark.parametrize("version", DOCUMENTS)
def test_empty_result(version: str) -> None:
    expected = {"cniVersion": version, "interfaces": [], "ips": []}
    assert expected == Result().to_document(version)


@pytest.mark.parametrize(
    "document",
    [None, {}, {"interfaces": None, "ips": None, "routes": None, "dns": None}, {"cniVersion": "x"}],
    ids=["null", "empty", "nulls", "version alone"],
)
def test_nothing_is_an_empty_result(document: object) -> None:
    assert Result() == read_result(document, "it")


def test_ipam_results_have_no_indexes() -> None:
    (address,) = read_result({"ips": [{"address": "10.1.0.7/24"}]}, "it").ips
    assert IpConfig(address="10.1.0.7/24", gateway="", interface=None) == address


def test_mtu_of_a_careless_plugin_is_left_out() -> None:
    (interface,) = read_result({"interfaces": [{"name": "a", "mtu": "9000"}]}, "it").interfaces
    assert 0 == interface.mtu


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "it is not a result object"),
        ("null", "it is not a result object"),
        ({"interfaces": {}}, "it: interfaces is not a list"),
        ({"interfaces": [3]}, "it: interfaces is not an object"),
        ({"interfaces": [{"name": 3}]}, "it: name is not a string"),
        ({"interfaces": [{"name": "a", "sandbox": []}]}, "it: sandbox is not a string"),
        ({"ips": "10.1.0.7/24"}, "it: ips is not a list"),
        ({"ips": ["10.1.0.7/24"]}, "it: ips is not an object"),
        ({"ips": [{"address": 10}]}, "it: address is not a string"),
        ({"ips": [{"address": "10.1.0.7/24", "interface": "0"}]}, "ips.interface is not a number"),
        ({"ips": [{"address": "10.1.0.7/24", "interface": True}]}, "ips.interface is not a number"),
        ({"routes": [None]}, "it: routes is not an object"),
        ({"dns": ["10.1.0.53"]}, "it: dns is not an object"),
    ],
)
def test_wrong_shapes(document: object, message: str) -> None:
    with pytest.raises(CniError, match=re.escape(message)) as raised:
        read_result(document, "it")
    assert DECODE_FAILURE == raised.value.code


def test_address_says_its_family() -> None:
    assert ["4", "6"] == [each.version for each in FULL.ips]
