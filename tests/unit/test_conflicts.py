"""What is in the way of a delegate on a NIC, as far as the node's own netns shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.conflicts import clash, conflict_on, use_of
from multinic_selectors.nics import INFINIBAND, Upper
from tests.unit.conflicting import (
    AWS_IPVLAN,
    HOST_DEVICE,
    IPVLAN,
    IPVLAN_L3,
    MACVLAN,
    OTHERS,
    PASSTHRU,
    TUNING,
    VLAN,
    Surroundings,
    conflict,
    nic,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.conflicting import Conf


@pytest.mark.parametrize(
    "template", [MACVLAN, PASSTHRU, IPVLAN, IPVLAN_L3, AWS_IPVLAN, VLAN, HOST_DEVICE, *OTHERS]
)
def test_bare_nic_suits_all(template: Conf) -> None:
    node = Surroundings()
    assert "" == conflict_on(nic(), [template, TUNING], node, rdma=False)
    assert 0 == node.asked


@pytest.mark.parametrize("template", [MACVLAN, IPVLAN, AWS_IPVLAN, VLAN])
def test_infiniband(template: Conf) -> None:
    expected = f"it is InfiniBand, which carries no {template['type'].removeprefix('aws-')} links"
    assert f"{expected}: use the ipoib plugin" == conflict(nic(medium=INFINIBAND), template)


@pytest.mark.parametrize("template", [HOST_DEVICE, {"type": "ipoib"}, *OTHERS])
def test_infiniband_for_those_that_can(template: Conf) -> None:
    assert "" == conflict(nic(medium=INFINIBAND), template)


def test_other_media() -> None:
    tunnel = nic(medium=65534)
    expected = "it is no Ethernet (ARP hardware type 65534): it carries no macvlan links"
    assert expected == conflict(tunnel, MACVLAN)
    assert "" == conflict(tunnel, HOST_DEVICE)


@pytest.mark.parametrize(
    ("owner", "kind"), [("br0", "bridge"), ("bond0", "bond"), ("team0", "team")]
)
def test_port(owner: str, kind: str) -> None:
    port = nic(enslaved_to=owner)
    assert conflict(port, MACVLAN) == (
        f"it is a port of {kind} {owner}, which takes its frames: macvlan can have {owner} as its"
        " master instead"
    )
    assert conflict(port, AWS_IPVLAN).endswith(f"ipvlan can have {owner} as its master instead")
    assert f"it is a port of {kind} {owner}, which would lose it" == conflict(port, HOST_DEVICE)


def test_port_that_a_vlan_can_stand_on() -> None:
    assert "" == conflict(nic(enslaved_to="br0"), VLAN)


def test_port_of_a_device() -> None:
    """A VF behind its synthetic NIC: the owner is of no kind."""
    assert conflict(nic(enslaved_to="eth0"), IPVLAN).startswith("it is a port of eth0, which takes")


@pytest.mark.parametrize("owner", ["blue", "bat0"])
@pytest.mark.parametrize("template", [MACVLAN, IPVLAN, HOST_DEVICE])
def test_port_whose_frames_are_left_alone(owner: str, template: Conf) -> None:
    assert "" == conflict(nic(enslaved_to=owner), template)


@pytest.mark.parametrize("template", OTHERS)
def test_port_is_no_concern_of_others(template: Conf) -> None:
    assert "" == conflict(nic(enslaved_to="br0"), template)


NEVER_BOTH = "a NIC carries {} or {} links, never both"
ONE_MODE = "all ipvlan links of a NIC share one mode"
ALONE = "mode passthru wants a NIC for itself"

UPPERS: list[tuple[Upper, Conf, str]] = [
    (
        Upper("ip0", "ipvlan", "l2"),
        MACVLAN,
        f"macvlan is wanted, but ip0 on it is ipvlan l2: {NEVER_BOTH.format('macvlan', 'ipvlan')}",
    ),
    (
        Upper("tap0", "ipvtap", ""),
        MACVLAN,
        f"macvlan is wanted, but tap0 on it is ipvlan: {NEVER_BOTH.format('macvlan', 'ipvlan')}",
    ),
    (
        Upper("tap0", "macvtap", "vepa"),
        IPVLAN,
        f"ipvlan l2 is wanted, but tap0 on it is macvlan: {NEVER_BOTH.format('ipvlan', 'macvlan')}",
    ),
    (
        Upper("sec0", "macsec", ""),
        MACVLAN,
        f"macvlan is wanted, but sec0 on it is macsec: {NEVER_BOTH.format('macvlan', 'macsec')}",
    ),
    (
        Upper("ip0", "ipvlan", "l3s"),
        IPVLAN_L3,
        f"ipvlan l3 is wanted, but ip0 on it is ipvlan l3s: {ONE_MODE}",
    ),
    (
        Upper("ip0", "ipvlan", "l3"),
        IPVLAN,
        f"ipvlan l2 is wanted, but ip0 on it is ipvlan l3: {ONE_MODE}",
    ),
    (
        Upper("ip0", "ipvlan", "l3"),
        {"type": "ipvlan", "mode": ""},
        f"ipvlan l2 is wanted, but ip0 on it is ipvlan l3: {ONE_MODE}",
    ),
    (
        Upper("mac0", "macvlan", "passthru"),
        MACVLAN,
        f"macvlan is wanted, but mac0 on it is macvlan passthru: {ALONE}",
    ),
    (
        Upper("mac0", "macvlan", "bridge"),
        PASSTHRU,
        f"macvlan passthru is wanted, but mac0 on it is macvlan: {ALONE}",
    ),
    (
        Upper("rail0.5", "vlan", ""),
        HOST_DEVICE,
        "host-device is wanted, but rail0.5 on it is vlan: they would lose the NIC",
    ),
    (Upper("ip0", "ipvlan", "l3"), IPVLAN_L3, ""),
    (Upper("ip0", "ipvlan", "l3"), AWS_IPVLAN, ""),
    (Upper("ip0", "ipvlan", "l2"), IPVLAN, ""),
    (Upper("tap0", "ipvtap", ""), IPVLAN, ""),  # in which mode? The kernel has the word
    (Upper("mac0", "macvlan", "private"), MACVLAN, ""),
    (Upper("mac0", "macvlan", ""), MACVLAN, ""),
    (Upper("rail0.5", "vlan", ""), MACVLAN, ""),
    (Upper("rail0.5", "vlan", ""), PASSTHRU, ""),
    (Upper("rail0.5", "vlan", ""), IPVLAN, ""),
    (Upper("rail0.5", "vlan", ""), VLAN, ""),
    (Upper("mac0", "macvlan", "passthru"), VLAN, ""),
    (Upper("mac0", "macvlan", "bridge"), {"type": "bridge"}, ""),
]


@pytest.mark.parametrize(("upper", "template", "expected"), UPPERS)
def test_links_on_the_nic(upper: Upper, template: Conf, expected: str) -> None:
    harmless = Upper("vx0", "vxlan")
    if template["type"] == "host-device":
        assert expected == conflict(nic(uppers=[upper]), template)
    else:
        assert expected == conflict(nic(uppers=[harmless, upper]), template)


@pytest.mark.parametrize("kind", ["macvlan", "ipvlan", "aws-ipvlan", "vlan"])
def test_mtu_above_the_nics(kind: str) -> None:
    expected = f"mtu 9000 of {kind} is more than the NIC's own, 8999"
    assert expected == conflict(nic(mtu=8999), {"type": kind, "mtu": 9000})
    harmless: Sequence[object] = (8999, 0, -1, True, "9000", None, 9000.0, {})
    for mtu in harmless:
        assert "" == conflict(nic(mtu=8999), {"type": kind, "mtu": mtu})


def test_mtu_that_tuning_sets_later() -> None:
    large = {"type": "tuning", "mtu": 9000}
    expected = "mtu 9000 of tuning is more than the NIC's own, 1500"
    assert expected == conflict(nic(), MACVLAN, {"type": "sbr"}, large)
    assert "" == conflict(nic(), MACVLAN, {"type": "my-own", "mtu": 9000})
    assert "" == conflict(nic(), HOST_DEVICE, large)  # the NIC itself gets it
    assert "" == conflict(nic(), {"type": "bridge", "mtu": 9000})
    assert "" == conflict(nic(mtu=0), MACVLAN, large)


@pytest.mark.parametrize("chain", [[MACVLAN], [IPVLAN, TUNING], [AWS_IPVLAN]])
def test_master_is_looked_for_in_the_pod(chain: Sequence[Conf]) -> None:
    first = {**chain[0], "linkInContainer": True, "mtu": 9000}
    blocked = nic(enslaved_to="br0", medium=INFINIBAND, uppers=[Upper("x", "macvlan", "passthru")])
    assert "" == conflict(blocked, first, *chain[1:])
    assert "" == use_of(first)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ({"type": "macvlan"}, "macvlan"),
        ({"type": "macvlan", "mode": "vepa"}, "macvlan"),
        (PASSTHRU, "macvlan passthru"),
        (IPVLAN, "ipvlan l2"),
        (AWS_IPVLAN, "ipvlan l3"),
        ({"type": "ipvlan", "mode": 7}, "ipvlan 7"),
        (VLAN, "vlan"),
        (HOST_DEVICE, "host-device"),
        *((each, "") for each in OTHERS),
    ],
)
def test_uses_in_words(template: Conf, expected: str) -> None:
    assert expected == use_of(template)


USES = ["macvlan", "macvlan passthru", "ipvlan l2", "ipvlan l3", "vlan", "host-device", ""]


def test_which_uses_go_together() -> None:
    """A host-device NIC that is here was given back, so its use is over."""
    together = {(wanted, present) for wanted in USES for present in USES}
    apart = {(wanted, present) for wanted, present in together if clash(wanted, present)}
    assert apart == {
        ("macvlan", "macvlan passthru"),
        ("macvlan", "ipvlan l2"),
        ("macvlan", "ipvlan l3"),
        ("macvlan passthru", "macvlan"),
        ("macvlan passthru", "macvlan passthru"),
        ("macvlan passthru", "ipvlan l2"),
        ("macvlan passthru", "ipvlan l3"),
        ("ipvlan l2", "macvlan"),
        ("ipvlan l2", "macvlan passthru"),
        ("ipvlan l2", "ipvlan l3"),
        ("ipvlan l3", "macvlan"),
        ("ipvlan l3", "macvlan passthru"),
        ("ipvlan l3", "ipvlan l2"),
        ("host-device", "macvlan"),
        ("host-device", "macvlan passthru"),
        ("host-device", "ipvlan l2"),
        ("host-device", "ipvlan l3"),
        ("host-device", "vlan"),
    }
