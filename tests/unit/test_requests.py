from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.invocation import read_environment
from multinic_cni.requests import Requests, read_requests, without_served
from multinic_cni.result import Interface, IpConfig, Result
from tests.unit.asking import asking
from tests.unit.confs import net_conf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from multinic_cni.invocation import Invocation

MAC, OTHER_MAC = "02:00:5e:10:00:01", "02:00:5e:10:00:02"
HOST_LOCAL = {"type": "host-local", "subnet": "10.1.0.0/24"}
TWO = [("rail0", "net1"), ("rail1", "net1-1")]


def call(cni_args: str) -> Invocation:
    environment = {
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": "c0ffee",
        "CNI_NETNS": "/run/netns/pod",
        "CNI_IFNAME": "net1",
        "CNI_PATH": "/opt/cni/bin",
        "CNI_ARGS": cni_args,
    }
    return read_environment(environment, "multinic-cni")


def requested(
    *,
    runtime: Mapping[str, Any] | None = None,
    cni_args: str = "",
    args: Mapping[str, Any] | None = None,
) -> Requests:
    conf = net_conf(runtimeConfig=runtime, args={"cni": args})
    return read_requests(call(cni_args), conf)


def ips(**sources: Any) -> list[str]:  # noqa: ANN401 - the sources' own types
    return [str(asked) for asked in requested(**sources).addresses]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({}, []),
        ({"runtime": {"ips": ["10.1.0.7/24", "fd00::7"]}}, ["10.1.0.7/24", "fd00::7"]),
        ({"cni_args": "IP=10.1.0.7/24"}, ["10.1.0.7/24"]),
        ({"cni_args": "A=1;IP=10.1.0.7, fd00:0::7/64;B=2"}, ["10.1.0.7", "fd00::7/64"]),
        ({"cni_args": "IP=10.1.0.7;IP=10.2.0.7"}, ["10.1.0.7", "10.2.0.7"]),
        ({"cni_args": "ip=10.1.0.7"}, ["10.1.0.7"]),
        ({"args": {"ips": ["10.1.0.7"]}}, ["10.1.0.7"]),
        ({"args": {"ips": "10.1.0.7"}}, ["10.1.0.7"]),
        ({"args": {"ips": "10.1.0.7,10.2.0.7"}}, ["10.1.0.7", "10.2.0.7"]),
        ({"runtime": {"ips": None}, "args": {"ips": []}, "cni_args": "IP="}, []),
        ({"args": {"ips": ""}}, []),
    ],
    ids=repr,
)
def test_addresses_of_each_source(sources: dict[str, Any], expected: list[str]) -> None:
    assert expected == ips(**sources)


def test_same_address_of_several_sources_is_one() -> None:
    expected = ["10.1.0.7/24", "fd00::7", "10.2.0.7"]
    found = ips(
        runtime={"ips": ["10.1.0.7", "fd00::7"]},
        cni_args="IP=10.1.0.7/24,fd00:0:0::7",
        args={"ips": ["10.2.0.7", "10.1.0.7"]},
    )
    assert expected == found


def test_source_stays_with_the_address() -> None:
    found = requested(runtime={"ips": ["10.1.0.7"]}, cni_args="IP=10.2.0.7", args={"ips": "::7"})
    expected = ["runtimeConfig.ips", "CNI_ARGS IP", "args.cni.ips"]
    assert expected == [asked.source for asked in found.addresses]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({"runtime": {"ips": 5}}, "runtimeConfig.ips: must be a list of addresses, not 5"),
        ({"runtime": {"ips": [5]}}, "runtimeConfig.ips: must be a list of addresses, not [5]"),
        ({"runtime": {"ips": {"a": 1}}}, "runtimeConfig.ips: must be a list of addresses"),
        ({"runtime": {"ips": False}}, "runtimeConfig.ips: must be a list of addresses, not false"),
        ({"args": {"ips": [["10.1.0.7"]]}}, 'args.cni.ips: must be a list of addresses, not [["'),
        ({"args": {"ips": [None]}}, "args.cni.ips: must be a list of addresses, not [null]"),
        ({"args": {"ips": ["10.1.0"]}}, 'args.cni.ips: "10.1.0" is no address'),
        ({"args": {"ips": ["10.1.0.7,10.1.0.8"]}}, 'args.cni.ips: "10.1.0.7,10.1.0.8" is no'),
        ({"args": {"ips": [""]}}, 'args.cni.ips: "" is no address'),
        ({"cni_args": "IP=10.1.0.7,"}, 'CNI_ARGS IP: "" is no address'),
        ({"cni_args": "IP=10.1.0.7/33"}, 'CNI_ARGS IP: "10.1.0.7/33" is no address'),
        ({"cni_args": "IP=10.1.0.7/"}, 'CNI_ARGS IP: "10.1.0.7/" is no address'),
        ({"cni_args": "IP=010.1.0.7"}, 'CNI_ARGS IP: "010.1.0.7" is no address'),
        ({"cni_args": "IP=fe80::1%eth0"}, 'CNI_ARGS IP: "fe80::1%eth0" is no address'),
        ({"cni_args": "IP=../../etc"}, 'CNI_ARGS IP: "../../etc" is no address'),
        (
            {"runtime": {"ips": ["10.1.0.7/16"]}, "cni_args": "IP=10.1.0.7/24"},
            "runtimeConfig.ips 10.1.0.7/16 and CNI_ARGS IP 10.1.0.7/24 have different lengths",
        ),
        (
            {"args": {"ips": ["10.1.0.7", "10.1.0.7/24", "10.1.0.7/16"]}},
            "args.cni.ips 10.1.0.7/24 and args.cni.ips 10.1.0.7/16 have different lengths",
        ),
    ],
    ids=repr,
)
def test_addresses_that_are_none(sources: dict[str, Any], message: str) -> None:
    with pytest.raises(CniError, match=re.escape(message)) as raised:
        requested(**sources)
    assert BAD_CONF == raised.value.code


@pytest.mark.parametrize(
    "sources",
    [
        {"runtime": {"mac": MAC}},
        {"cni_args": f"MAC={MAC}"},
        {"cni_args": f"mac={MAC.upper()}"},
        {"args": {"mac": MAC}},
        {"runtime": {"mac": MAC}, "cni_args": f"MAC={MAC.upper()};MAC=", "args": {"mac": MAC}},
        {"runtime": {"mac": ""}, "args": {"mac": MAC}},
    ],
    ids=repr,
)
def test_mac_of_each_source(sources: dict[str, Any]) -> None:
    assert MAC == requested(**sources).mac


def test_no_mac() -> None:
    assert "" == requested(runtime={"mac": None}, cni_args="MAC=", args={"mac": ""}).mac


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({"runtime": {"mac": 5}}, "runtimeConfig.mac: 5 is no MAC such as 02:00:5e:10:00:01"),
        ({"runtime": {"mac": [MAC]}}, "runtimeConfig.mac: ["),
        ({"args": {"mac": False}}, "args.cni.mac: false is no MAC"),
        ({"args": {"mac": "02:00:5e:10:00"}}, 'args.cni.mac: "02:00:5e:10:00" is no MAC'),
        ({"args": {"mac": "02005e100001"}}, 'args.cni.mac: "02005e100001" is no MAC'),
        ({"args": {"mac": MAC + ":00:01"}}, "is no MAC"),
        ({"cni_args": "MAC=02:00:5e:10:00:0g"}, 'CNI_ARGS MAC: "02:00:5e:10:00:0g" is no MAC'),
        ({"cni_args": "MAC=03:00:5e:10:00:01"}, "is a group's"),
        ({"cni_args": "MAC=ff:ff:ff:ff:ff:ff"}, "is a group's"),
        ({"cni_args": "MAC=00:00:00:00:00:00"}, '"00:00:00:00:00:00" is no interface\'s'),
        (
            {"runtime": {"mac": MAC}, "args": {"mac": OTHER_MAC}},
            f"runtimeConfig.mac {MAC} and args.cni.mac {OTHER_MAC}: one interface has one MAC",
        ),
        ({"cni_args": f"MAC={MAC};MAC={OTHER_MAC}"}, f"CNI_ARGS MAC {MAC} and CNI_ARGS MAC"),
    ],
    ids=repr,
)
def test_macs_that_are_none(sources: dict[str, Any], message: str) -> None:
    with pytest.raises(CniError, match=re.escape(message)) as raised:
        requested(**sources)
    assert BAD_CONF == raised.value.code


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(VALUES, VALUES, VALUES, VALUES)
def test_no_document_is_a_surprise(one: object, two: object, three: object, four: object) -> None:
    found: set[int] = set()
    try:
        requested(runtime={"ips": one, "mac": two}, args={"ips": three, "mac": four})
    except CniError as error:
        found = {error.code}
    assert found <= {BAD_CONF}


def test_what_a_plugin_before_us_has_served_is_not_asked_of_us() -> None:
    previous = Result(
        interfaces=(
            Interface(name="br0", mac=OTHER_MAC),
            Interface(name="eth0", mac=MAC.upper(), sandbox="/run/netns/pod"),
        ),
        ips=(IpConfig(address="10.1.0.7/24"), IpConfig(address="fd00:0::7/64")),
    )
    left = without_served(asking("fd00::7", "10.1.0.7/16", "10.1.0.8", mac=MAC), previous)
    assert asking("10.1.0.8") == left
    assert asking("::7", mac=OTHER_MAC) == without_served(asking("::7", mac=OTHER_MAC), previous)


def test_first_plugin_is_asked_for_everything() -> None:
    everything = asking("10.1.0.7", mac=MAC)
    assert everything == without_served(everything, Result())
    assert Requests() == without_served(Requests(), Result())
