from __future__ import annotations

from typing import Any

import pytest

from tests.unit.choices import choose, names, refusal, refusals
from tests.unit.nics import nic

NETS = ("10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24")


@pytest.mark.parametrize("master", ["rail1", "rail[1]", "enp1s0", "enp*"])
def test_masters_name_by_name_glob_and_altname(master: str) -> None:
    nics = [nic("rail1", altnames=("enp1s0",)), nic("eth5")]
    assert ["rail1"] == names(choose(nics, masters=(master,)))


def test_names_are_compared_with_regard_to_case() -> None:
    assert "rail1: neither its name nor" in refusal([nic("rail1")], masters=("Rail1",))


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ({"nets": ("10.9.0.0/24",)}, "masterNets"),
        ({"masters": ("rail*",)}, "masters"),
        ({"nets": ("10.9.0.0/24",), "masters": ("rail*",)}, "masters or masterNets"),
    ],
)
def test_reason_names_the_words_of_the_conf(words: dict[str, Any], missing: str) -> None:
    unmatched = {
        "10.9.0.0/24": "no NIC has an address in this masterNet",
        "rail*": "no NIC has this name",
    }
    entries = {*words.get("nets", ()), *words.get("masters", ())}
    expected = {entry: unmatched[entry] for entry in entries}
    expected["eth5"] = f"neither its name nor its addresses are in {missing}"
    assert expected == refusals([nic("eth5", "10.1.0.1/24")], **words)


def test_reason_without_masters_or_nets() -> None:
    nics = [
        nic("lo", "127.0.0.1/8", loopback=True),
        nic("veth1", kind="veth"),
        nic("br0", "10.1.0.1/24", kind="bridge"),
        nic("eth1", enslaved_to="bond0"),
        nic("eth0", uplink="the node's IPv6 default route leaves by it"),
    ]
    assert {
        "lo": "it is the loopback",
        "veth1": "it is a veth: name it in masters to use it",
        "br0": "it is a bridge: name it in masters to use it",
        "eth1": "it is a port of bond0: name it exactly in masters to use it",
        "eth0": "the node's IPv6 default route leaves by it: name it exactly in masters to use it",
    } == refusals(nics)


@pytest.mark.parametrize("kind", ["", "bond", "team", "vlan"])
def test_kinds_that_are_nics(kind: str) -> None:
    assert ["x"] == names(choose([nic("x", kind=kind)]))


@pytest.mark.parametrize("kind", ["veth", "bridge", "macvlan", "ipvlan", "tun", "dummy", "vxlan"])
def test_kinds_that_must_be_named(kind: str) -> None:
    nics = [nic("x", "10.1.0.1/24", kind=kind)]
    assert ["x"] == names(choose(nics, masters=("x",)))
    assert ["x"] == names(choose(nics, masters=("x*",)))
    assert ["x"] == names(choose(nics, nets=("10.1.0.0/24",)))
    assert "x: it is a " + kind in refusal(nics)


SPECIAL = [
    nic("eth0", "10.1.0.1/24", uplink="the node's IPv4 default route leaves by it"),
    nic("eth1", "10.2.0.1/24", enslaved_to="bond0"),
]


def test_glob_does_not_take_uplinks_and_ports() -> None:
    reasons = refusals(SPECIAL, masters=("eth*",))
    assert {"eth0", "eth1"} == set(reasons)
    assert {"name it exactly in masters to use it"} == {
        reason.rpartition(": ")[2] for reason in reasons.values()
    }


def test_exact_name_takes_uplinks_and_ports() -> None:
    assert ["eth0", "eth1"] == names(choose(SPECIAL, masters=("eth1", "eth0")))
    assert ["eth1"] == names(choose(SPECIAL, masters=("eth1", "eth*")))


def test_exact_altname_takes_uplinks() -> None:
    uplink = nic("eth0", altnames=("enp1s0",), uplink="the node's IPv4 default route leaves by it")
    assert ["eth0"] == names(choose([uplink], masters=("enp1s0",)))


def test_master_nets_that_list_their_network_take_uplinks_and_ports() -> None:
    assert ["eth0", "eth1"] == names(choose(SPECIAL, nets=NETS))


@pytest.mark.parametrize("words", [{"masters": ("lo",)}, {"nets": ("127.0.0.0/8",)}, {}])
def test_loopback_is_never_taken(words: dict[str, Any]) -> None:
    loopback = nic("lo", "127.0.0.1/8", loopback=True)
    assert {"lo": "it is the loopback"} == refusals([loopback], **words)
