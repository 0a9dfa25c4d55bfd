"""What goes with a VLAN below a delegate, on its NIC and on the VLAN itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.attachments.claim import claim, key_of
from multinic_cni.attachments.record import NicRecord
from multinic_cni.conflicts import conflict_below, use_of
from multinic_cni.errors import CniError
from multinic_cni.nic_uses import NicUse, begin_use
from multinic_ipam.reservation import Owner
from multinic_selectors.candidates import Admin, candidates_among
from multinic_selectors.nics import Nic, Upper
from tests.unit.admin import BOOT
from tests.unit.conflicting import IPVLAN, MACVLAN, Surroundings
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.records import conf, record
from tests.unit.stores import opened

if TYPE_CHECKING:
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

ID = 100


def on_vlan(nic: Nic, link: Nic | None, *chain: dict[str, Any]) -> str:
    return conflict_below(nic, link, chain, Surroundings(), rdma=False)


def test_conflicts_are_those_of_the_vlan() -> None:
    port = Nic(index=3, name="rail1", enslaved_to="br0", mtu=1500, uppers=[Upper("m", "macvlan")])
    assert "" == on_vlan(port, None, IPVLAN)
    taken = Nic(index=5, name="rail1.100", mtu=1500, uppers=[Upper("m", "macvlan")])
    assert on_vlan(port, taken, IPVLAN).startswith(
        "its VLAN rail1.100: ipvlan l2 is wanted, but m on it is macvlan"
    )
    assert "" == on_vlan(port, taken, MACVLAN)
    small = Nic(index=5, name="rail1.100", mtu=1400)
    assert on_vlan(port, small, {**MACVLAN, "mtu": 1450}).startswith("its VLAN rail1.100: mtu 1450")
    infiniband = Nic(index=3, name="ib0", medium=32)
    assert "InfiniBand" in on_vlan(infiniband, None, MACVLAN)


def begin(
    node: AdminNode,
    template: dict[str, Any],
    link: str = "",
    *,
    name: str = "rail1",
    index: int = 3,
) -> None:
    """Do what ADD does before it writes its record."""
    wanted = NicUse(
        network="rails",
        owner=Owner("new", "net1"),
        use=use_of(template),
        nics=[nic(name, index=index)],
        present=["rail1", "rail1.100", "rail2"],
        links=[link] if link else [],
    )
    with opened(node.data) as store:
        begin_use(store.root, node.path, wanted)


L2, L3 = conf("ipvlan"), conf("ipvlan", mode="l3")


def live(node: AdminNode, template: dict[str, Any], master: str, name: str = "rail1") -> None:
    """Write the record of a living attachment on a NIC, or on its VLAN."""
    index = {"rail1": 3, "rail1.100": 9}[name]
    own = NicRecord(
        nic=name, index=index, kind="", mac="", ifname="n", confs=(template,), master=master
    )
    held = claim(node.path, "other", key_of("a", "net1"), time.monotonic() + 5)
    held.write(record().but(network="other", container_id="a", nics=(own,), boot_id=BOOT))
    held.close()
    node.living.add("a")


@pytest.mark.parametrize(
    ("template", "link"),
    [(L2, "rail1.100"), (L3, "rail1.200"), (L3, ""), (conf("macvlan"), ""), (conf("vlan"), "")],
)
def test_uses_that_go_with_one_of_a_vlan(
    admin_node: AdminNode, template: dict[str, Any], link: str
) -> None:
    live(admin_node, L2, "rail1.100")
    begin(admin_node, template, link)


@pytest.mark.parametrize(
    ("template", "link", "present"),
    [
        (L3, "rail1.100", "ipvlan l2"),
        (conf("macvlan"), "rail1.100", "ipvlan l2"),
        (conf("host-device"), "", "vlan"),
    ],
)
def test_uses_that_do_not(
    admin_node: AdminNode, template: dict[str, Any], link: str, present: str
) -> None:
    live(admin_node, L2, "rail1.100")
    with pytest.raises(CniError, match=f"NIC rail1: network rails wants .* has {present} on it"):
        begin(admin_node, template, link)


def test_admins_vlan_may_be_a_nic_too(admin_node: AdminNode) -> None:
    """By one network it is named as a NIC, by another it is the VLAN of one."""
    live(admin_node, L2, "", "rail1.100")
    begin(admin_node, L2, "rail1.100")
    with pytest.raises(CniError, match="has ipvlan l2 on it"):
        begin(admin_node, L3, "rail1.100")
    live(admin_node, L2, "rail1.100")
    with pytest.raises(CniError, match="has ipvlan l2 on it"):
        begin(admin_node, L3, name="rail1.100", index=9)


def test_note_that_all_take_the_nic_does_not_outlive_a_vlan(admin_node: AdminNode) -> None:
    begin(admin_node, conf("host-device"))
    begin(admin_node, L2, "rail1.100")
    live(admin_node, L2, "rail1.100")
    with pytest.raises(CniError, match="they would lose the NIC"):
        begin(admin_node, conf("host-device"))


def test_vlans_of_pods_are_no_candidates() -> None:
    links = [
        Nic(index=3, name="rail1"),
        Nic(index=4, name="rail1.100", kind="vlan", group=0x6D6E1234, stands_on="rail1"),
        Nic(index=5, name="rail1.200", kind="vlan", stands_on="rail1"),
    ]
    for masters in ([], ["rail*"], ["rail1", "rail1.100", "rail1.200"]):
        chosen, refused = candidates_among(links, Admin(masters=masters))
        assert ["rail1", "rail1.200"] == [choice.nic.name for choice in chosen]
        why = "it is the VLAN of pods on rail1, and goes with the last of them"
        assert [("rail1.100", why)] == refused


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ({"type": "host-device"}, "no interface on a NIC"),
        ({"type": "bridge"}, "no interface on a NIC"),
        ({"type": "macvlan", "linkInContainer": True}, "made on the node"),
    ],
)
def test_delegates_that_cannot_have_one(plugin: dict[str, Any], message: str) -> None:
    with pytest.raises(CniError, match=message):
        net_conf(plugin=plugin, vlan={"id": ID})
    assert ID == net_conf(plugin=MACVLAN, vlan={"id": ID}).vlan
