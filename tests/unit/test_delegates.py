from __future__ import annotations

from typing import Any

import pytest

from multinic_cni.delegates import (
    Wanted,
    chain_confs,
    delegate_cni_args,
    executables,
    ipam_type,
    limit_at_once,
    mac_setter,
)
from tests.unit.confs import net_conf

STATIC = {"type": "static", "addresses": [{"address": "10.1.0.7/24"}]}


def first(
    plugin: dict[str, Any], ipam: dict[str, Any] | None = None, **words: object
) -> dict[str, Any]:
    return chain_confs(net_conf(plugin=plugin, **words), "rail0", ipam)[0]


def test_conf_is_the_template_with_name_version_nic_and_addresses() -> None:
    template = {"type": "macvlan", "mode": "bridge", "mtu": 9000, "unknownToUs": {"a": [None]}}
    expected = {
        "type": "macvlan",
        "mode": "bridge",
        "mtu": 9000,
        "unknownToUs": {"a": [None]},
        "master": "rail0",
        "ipam": STATIC,
        "name": "rails",
        "cniVersion": "1.0.0",
    }
    assert expected == first(template, STATIC)


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("macvlan", "master"),
        ("ipvlan", "master"),
        ("vlan", "master"),
        ("mine", "master"),
        ("host-device", "device"),
        ("bridge", None),
        ("ptp", None),
        ("tap", None),
        ("dummy", None),
    ],
)
def test_nic_is_named_in_the_delegates_own_word(kind: str, key: str | None) -> None:
    conf = first({"type": kind})
    named = {word: conf[word] for word in ("master", "device") if word in conf}
    assert ({key: "rail0"} if key else {}) == named


def test_templates_own_master_name_and_version_are_replaced() -> None:
    conf = first(
        {"type": "macvlan", "master": "eth9", "name": "mine", "cniVersion": "0.3.1"},
    )
    assert ("rail0", "rails", "1.0.0") == (conf["master"], conf["name"], conf["cniVersion"])


def test_host_device_by_pci_address_stays() -> None:
    conf = first({"type": "host-device", "pciBusID": "0000:3b:00.2"})
    assert "device" not in conf


def test_template_keeps_its_own_ipam() -> None:
    assert {"type": "dhcp"} == first({"type": "macvlan", "ipam": {"type": "dhcp"}})["ipam"]


def test_chain_takes_nic_and_addresses_at_its_head_only() -> None:
    conf = net_conf(plugin=[{"type": "macvlan"}, {"type": "tuning", "mtu": 9000}])
    head, tail = chain_confs(conf, "rail0", STATIC)
    assert ("rail0", STATIC) == (head["master"], head["ipam"])
    expected = {"type": "tuning", "mtu": 9000, "name": "rails", "cniVersion": "1.0.0"}
    assert expected == tail


def test_templates_are_not_changed() -> None:
    conf = net_conf(plugin={"type": "macvlan", "runtimeConfig": {"a": 1}})
    before = repr(conf.chain)
    chain_confs(conf, "rail0", STATIC)[0]["ipam"]["addresses"] = []
    assert before == repr(conf.chain)
    assert [{"address": "10.1.0.7/24"}] == STATIC["addresses"]


def test_dns_is_added_where_the_template_has_none() -> None:
    dns = {"nameservers": ["10.1.0.53"]}
    own = {"nameservers": ["10.9.0.53"]}
    assert dns == first({"type": "macvlan"}, dns=dns)["dns"]
    assert own == first({"type": "macvlan", "dns": own}, dns=dns)["dns"]
    assert "dns" not in first({"type": "macvlan"})


RUNTIME = {
    "portMappings": [{"hostPort": 80}],
    "bandwidth": {"ingressRate": 1},
    "mac": "02:00:00:00:00:01",
    "ips": ["10.1.0.9/24"],
    "deviceID": "0000:3b:00.2",
}


def test_runtime_config_goes_to_who_declares_it() -> None:
    template = {"type": "macvlan", "capabilities": {"portMappings": True, "bandwidth": False}}
    expected = {"portMappings": [{"hostPort": 80}]}
    assert expected == first(template, runtimeConfig=RUNTIME)["runtimeConfig"]
    assert "runtimeConfig" not in first({"type": "macvlan"}, runtimeConfig=RUNTIME)


@pytest.mark.parametrize("name", ["mac", "ips", "deviceID"])
def test_what_only_one_interface_can_have_goes_to_none(name: str) -> None:
    template = {"type": "macvlan", "capabilities": {name: True}}
    assert "runtimeConfig" not in first(template, runtimeConfig=RUNTIME)


def test_admins_own_runtime_config_wins() -> None:
    template = {
        "type": "macvlan",
        "capabilities": {"bandwidth": True, "portMappings": True},
        "runtimeConfig": {"bandwidth": {"ingressRate": 9}},
    }
    expected = {"portMappings": [{"hostPort": 80}], "bandwidth": {"ingressRate": 9}}
    assert expected == first(template, runtimeConfig=RUNTIME)["runtimeConfig"]


WANTED = Wanted(ips=("10.1.0.7/24", "fd00::7"), mac="02:00:5e:10:00:01")


def chain(*plugins: dict[str, Any], wanted: Wanted = WANTED) -> tuple[dict[str, Any], ...]:
    return chain_confs(net_conf(plugin=list(plugins)), "rail0", STATIC, wanted)


def test_what_is_wanted_goes_to_the_head() -> None:
    head, tail = chain({"type": "macvlan"}, {"type": "tuning", "capabilities": {"mac": True}})
    assert {"cni": {"ips": ["10.1.0.7/24", "fd00::7"]}} == head["args"]
    assert {"mac": "02:00:5e:10:00:01"} == head["runtimeConfig"]
    assert not {"args", "runtimeConfig"} & tail.keys()


def test_nothing_wanted_adds_nothing() -> None:
    (head,) = chain({"type": "macvlan"}, wanted=Wanted())
    assert not {"args", "runtimeConfig"} & head.keys()


def test_admins_own_args_stay() -> None:
    args = {"labels": ["a"], "cni": {"ips": ["10.1.0.1"], "vrf": "blue"}}
    template = {"type": "macvlan", "args": args, "runtimeConfig": {"x": 1}}
    conf = net_conf(plugin=template)
    before = repr(conf.chain)
    (head,) = chain_confs(conf, "rail0", STATIC, WANTED)
    expected = {"labels": ["a"], "cni": {"ips": ["10.1.0.7/24", "fd00::7"], "vrf": "blue"}}
    assert expected == head["args"]
    assert {"x": 1, "mac": "02:00:5e:10:00:01"} == head["runtimeConfig"]
    assert before == repr(conf.chain)


def test_admins_own_mac_in_the_runtime_config_stays() -> None:
    (head,) = chain({"type": "macvlan", "runtimeConfig": {"mac": "02:00:5e:99:99:99"}})
    assert {"mac": "02:00:5e:99:99:99"} == head["runtimeConfig"]


@pytest.mark.parametrize("args", [None, [], "x", {"cni": None}, {"cni": 5}], ids=repr)
def test_args_that_no_plugin_could_read_do_not_hinder(args: object) -> None:
    (head,) = chain({"type": "macvlan", "args": args})
    assert {"cni": {"ips": ["10.1.0.7/24", "fd00::7"]}} == head["args"]


TUNING = {"type": "tuning", "capabilities": {"mac": True}}
OTHER_TUNING = {"type": "tuning", "capabilities": {"mac": False}}


@pytest.mark.parametrize(
    ("plugins", "setter"),
    [
        ([{"type": "macvlan"}], 0),
        ([{"type": "bridge"}], 0),
        ([{"type": "sriov"}, TUNING], 0),
        ([{"type": "mine"}], 0),
        ([{"type": "vlan"}], None),
        ([{"type": "vlan"}, {"type": "tuning"}, OTHER_TUNING], None),
        ([{"type": "vlan"}, {"type": "sbr"}, TUNING], 2),
        ([{"type": "host-device", "capabilities": {"mac": True}}], None),
        ([{"type": "host-device"}, TUNING, TUNING], 1),
        # The kernel refuses another MAC on an ipvlan, whoever sets it.
        ([{"type": "ipvlan"}, TUNING], None),
        ([{"type": "ib-sriov"}, TUNING], None),
    ],
    ids=repr,
)
def test_who_sets_the_mac(plugins: list[dict[str, Any]], setter: int | None) -> None:
    assert setter == mac_setter(plugins)
    confs = chain(*plugins, wanted=Wanted(mac="02:00:5e:10:00:01"))
    have = [place for place, conf in enumerate(confs) if "runtimeConfig" in conf]
    assert ([] if setter is None else [setter]) == have


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ((), ""),
        (
            (("IgnoreUnknown", "true"), ("K8S_POD_NAME", "a"), ("K8S_POD_UID", "")),
            "IgnoreUnknown=true;K8S_POD_NAME=a;K8S_POD_UID=",
        ),
        ((("IP", "10.1.0.7/24"), ("A", "1"), ("MAC", "02:00"), ("GATEWAY", "10.1.0.1")), "A=1"),
        # Go's LoadArgs matches names with regard to case, but plugins of others need not.
        ((("mac", "02:00"), ("A", "b=c")), "A=b=c"),
    ],
)
def test_cni_args_of_delegates(pairs: tuple[tuple[str, str], ...], expected: str) -> None:
    assert expected == delegate_cni_args(pairs)


@pytest.mark.parametrize(
    ("conf", "kind", "programs"),
    [
        ({"type": "macvlan", "ipam": {"type": "static"}}, "static", ["macvlan", "static"]),
        ({"type": "macvlan", "ipam": {}}, "", ["macvlan"]),
        ({"type": "macvlan", "ipam": None}, "", ["macvlan"]),
        ({"type": "macvlan", "ipam": {"type": 5}}, "", ["macvlan"]),
        ({"type": "macvlan"}, "", ["macvlan"]),
    ],
    ids=repr,
)
def test_programs_of_a_chain(conf: dict[str, object], kind: str, programs: list[str]) -> None:
    assert kind == ipam_type([conf])
    assert programs == executables([conf])
    assert [programs[0], "tuning", *programs[1:]] == executables([conf, {"type": "tuning"}])


@pytest.mark.parametrize("kind", ["ib-sriov", "rdma"])
def test_types_that_cannot_run_side_by_side(kind: str) -> None:
    assert 1 == limit_at_once([{"type": "macvlan"}, {"type": kind}], 8)
    assert 1 == limit_at_once([{"type": kind}], None)


@pytest.mark.parametrize("at_once", [None, 1, 8])
def test_other_types_run_side_by_side(at_once: int | None) -> None:
    assert at_once == limit_at_once([{"type": "macvlan"}, {"type": "tuning"}], at_once)
