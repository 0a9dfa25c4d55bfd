from __future__ import annotations

import re
from typing import Any

import pytest

from multinic_cni.choosing import looks_at_devices
from multinic_cni.conf.netconf import read_net_conf
from multinic_cni.errors import BAD_CONF, BAD_ENVIRONMENT, UNSUPPORTED_FIELD, CniError
from multinic_cni.plan import admin_of, inner_names, wish_of
from multinic_ipam.networks import Network
from multinic_selectors.candidates import Choice
from tests.unit.confs import document, net_conf
from tests.unit.nics import nic


def choices(*places: int | None) -> list[Choice]:
    return [Choice(nic(f"rail{number}"), place) for number, place in enumerate(places)]


THREE = choices(0, 1, 2)


@pytest.mark.parametrize(
    ("mode", "existing", "expected"),
    [
        ("spec", set(), ["net1", "net1-1", "net1-2"]),
        ("spec", {"eth0"}, ["net1", "net1-1", "net1-2"]),
        ("spec", {"net1"}, ["net1-1", "net1-2", "net1-3"]),
        ("rail", set(), ["net1", "net1-1", "net1-2"]),
        ("rail", {"net1"}, ["net1-1", "net1-2", "net1-3"]),
        ("indexed", set(), ["net1-0", "net1-1", "net1-2"]),
        ("indexed", {"net1"}, ["net1-0", "net1-1", "net1-2"]),
    ],
)
def test_inner_names(mode: str, existing: set[str], expected: list[str]) -> None:
    assert expected == inner_names(mode, "net1", THREE, existing)


def test_missing_rail_shifts_no_other() -> None:
    assert ["net1-1", "net1-3"] == inner_names("rail", "net1", choices(1, 3), ())
    assert ["net1-2", "net1-4"] == inner_names("rail", "net1", choices(1, 3), {"net1"})


def test_rail_follows_the_place_and_spec_the_order() -> None:
    assert ["net1-3", "net1"] == inner_names("rail", "net1", choices(3, 0), ())
    assert ["net1", "net1-1"] == inner_names("spec", "net1", choices(3, 0), ())


def test_two_nics_of_one_place_are_no_rails() -> None:
    with pytest.raises(CniError) as raised:
        inner_names("rail", "net1", choices(0, 1, 1), ())
    assert BAD_CONF == raised.value.code
    assert "NICs rail1 and rail2 have the same place" in raised.value.message
    assert ["net1", "net1-1", "net1-2"] == inner_names("spec", "net1", choices(0, 1, 1), ())


@pytest.mark.parametrize(
    ("mode", "ifname", "count", "longest"),
    [
        ("spec", "a" * 15, 1, "a" * 15),
        ("spec", "a" * 13, 10, "a" * 13 + "-9"),
        ("spec", "a" * 12, 11, "a" * 12 + "-10"),
        ("indexed", "a" * 13, 10, "a" * 13 + "-9"),
    ],
)
def test_names_of_15_bytes(mode: str, ifname: str, count: int, longest: str) -> None:
    assert longest == inner_names(mode, ifname, choices(*range(count)), ())[-1]


@pytest.mark.parametrize(
    ("mode", "ifname", "places", "named"),
    [
        ("spec", "a" * 14, (0, 1), "a" * 14 + "-1"),
        ("spec", "a" * 13, tuple(range(11)), "a" * 13 + "-10"),
        ("indexed", "a" * 14, (0,), "a" * 14 + "-0"),
        ("rail", "a" * 13, (0, 10), "a" * 13 + "-10"),
    ],
)
def test_names_that_are_too_long(
    mode: str, ifname: str, places: tuple[int, ...], named: str
) -> None:
    with pytest.raises(CniError) as raised:
        inner_names(mode, ifname, choices(*places), ())
    assert BAD_ENVIRONMENT == raised.value.code
    assert f"{named!r} has more than 15 bytes" in raised.value.message


@pytest.mark.parametrize(
    ("cni_args", "masters", "nics"),
    [
        ({}, [], None),
        ({"nics": 2}, [], 2),
        ({"nics": "2"}, [], 2),
        ({"nics": None, "masters": None}, [], None),
        ({"masters": ["rail0", "rail1"]}, ["rail0", "rail1"], None),
        ({"master": "rail0"}, ["rail0"], None),
        ({"master": ["rail0"]}, ["rail0"], None),
        ({"masters": ["rail1"], "master": "rail0"}, ["rail1", "rail0"], None),
        ({"colour": "red"}, [], None),
        ({"class": None, "target": None}, [], None),
    ],
)
def test_pods_wishes(cni_args: dict[str, object], masters: list[str], nics: int | None) -> None:
    wish = wish_of(net_conf(args={"cni": cni_args})).wish
    assert (masters, nics) == (list(wish.masters), wish.nics)


@pytest.mark.parametrize(
    ("cni_args", "code", "message"),
    [
        ({"nics": 0}, BAD_CONF, "args.cni.nics: must be a whole number from 1, not 0"),
        ({"nics": -1}, BAD_CONF, "args.cni.nics: must be a whole number from 1, not -1"),
        ({"nics": "0"}, BAD_CONF, "args.cni.nics: must be a whole number from 1, not '0'"),
        ({"nics": ""}, BAD_CONF, "args.cni.nics: must be a whole number from 1, not ''"),
        ({"nics": "many"}, BAD_CONF, "args.cni.nics: must be a whole number from 1, not 'many'"),
        ({"nics": "٤"}, BAD_CONF, "args.cni.nics: must be a whole number from 1, not '٤'"),
        ({"nics": True}, BAD_CONF, "args.cni.nics: must be a whole number from 1, not True"),
        ({"nics": 1.5}, BAD_CONF, "args.cni.nics: must be a whole number from 1, not 1.5"),
        ({"nics": [1]}, BAD_CONF, "args.cni.nics: must be a whole number from 1, not [1]"),
        ({"masters": 5}, BAD_CONF, "args.cni.masters: must be a list of NIC names, not 5"),
        ({"masters": [5]}, BAD_CONF, "args.cni.masters: must be a list of NIC names, not [5]"),
        ({"masters": ["a" * 128]}, BAD_CONF, "args.cni.masters: must be a list of NIC names"),
        (
            {"masters": [str(number) for number in range(257)]},
            BAD_CONF,
            "args.cni.masters: 257 names are more than a pod may give, 256",
        ),
        ({"class": "c" * 128}, BAD_CONF, "args.cni.class: must be the name of a class"),
        ({"masters": {"a": 1}}, BAD_CONF, "args.cni.masters: must be a list of NIC names"),
        ({"master": True}, BAD_CONF, "args.cni.master: must be a list of NIC names, not True"),
        ({"class": 5}, BAD_CONF, "args.cni.class: must be the name of a class, not 5"),
        (
            {"target": "10G"},
            UNSUPPORTED_FIELD,
            "args.cni.target: strategy none of this network does not look at bandwidth",
        ),
    ],
)
def test_wishes_that_cannot_be(cni_args: dict[str, object], code: int, message: str) -> None:
    with pytest.raises(CniError, match=re.escape(message)) as raised:
        wish_of(net_conf(args={"cni": cni_args}))
    assert code == raised.value.code


@pytest.mark.parametrize("cni", ["nics=1", ["nics"], 5, True], ids=repr)
def test_args_of_another_shape_are_a_bad_conf(cni: object) -> None:
    # A pod's author writes them: never a traceback.
    with pytest.raises(CniError) as raised:
        wish_of(read_net_conf(document(args={"cni": cni}), ""))
    assert BAD_CONF == raised.value.code


def test_what_the_admin_allows() -> None:
    policy = {"nics": 4, "minNics": 2, "unhealthy": "fail"}
    admin = admin_of(net_conf(masters=["rail*"], attachPolicy=policy))
    expected: dict[str, Any] = {
        "master_nets": (Network.parse("10.1.0.0/24"), Network.parse("10.2.0.0/24")),
        "masters": ("rail*",),
        "nics": 4,
        "min_nics": 2,
        "unhealthy": "fail",
    }
    assert expected == {word: getattr(admin, word) for word in expected}


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [({"type": "host-device"}, True), ({"type": "macvlan"}, False)],
    ids=["host-device", "macvlan"],
)
def test_delegate_that_takes_the_nic(plugin: dict[str, str], *, expected: bool) -> None:
    assert expected == admin_of(net_conf(plugin=plugin)).takes_nics


def test_class_that_the_pod_asks_for() -> None:
    assert "fast" == wish_of(net_conf(args={"cni": {"class": "fast"}})).class_name


BY_BANDWIDTH = {"strategy": "perfOpt", "target": "100Gbps"}


@pytest.mark.parametrize(
    ("cni_args", "expected"),
    [({}, 100_000), ({"target": ""}, 100_000), ({"target": "25G"}, 25_000)],
    ids=repr,
)
def test_target_is_the_pods_or_the_admins(cni_args: dict[str, object], expected: int) -> None:
    conf = net_conf(attachPolicy=BY_BANDWIDTH, args={"cni": cni_args})
    assert expected == wish_of(conf).target


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("101G", "101G is more than this network allows, 100 Gbit/s"),
        ("fast", "'fast' is no bandwidth such as 100Gbps, 25G or 400Mbit/s"),
        (25, "'25' is no bandwidth"),
        (["25G"], "is no bandwidth"),
    ],
)
def test_target_that_cannot_be(target: object, message: str) -> None:
    conf = net_conf(attachPolicy=BY_BANDWIDTH, args={"cni": {"target": target}})
    with pytest.raises(CniError, match=r"^args\.cni\.target: ") as raised:
        wish_of(conf)
    assert BAD_CONF == raised.value.code
    assert message in raised.value.message


@pytest.mark.parametrize("key", ["nics", "masters", "master", "class", "target"])
def test_megabytes_are_not_echoed(key: str) -> None:
    conf = net_conf(attachPolicy={"strategy": "perfOpt"}, args={"cni": {key: ["x" * 1_000_000]}})
    with pytest.raises(CniError) as raised:
        wish_of(conf)
    assert len(raised.value.message) < 200


@pytest.mark.parametrize(
    ("policy", "args", "expected"),
    [
        ({"strategy": "topology"}, {}, False),
        ({"strategy": "topology", "nics": 2}, {}, True),
        ({"strategy": "topology"}, {"nics": 2}, True),
        ({"strategy": "perfOpt", "nics": 2}, {}, False),
        ({}, {"nics": 2}, False),
    ],
)
def test_when_the_pods_devices_matter(
    policy: dict[str, object], args: dict[str, object], *, expected: bool
) -> None:
    assert expected == looks_at_devices(net_conf(attachPolicy=policy, args={"cni": args}))
