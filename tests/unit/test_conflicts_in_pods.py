"""What only records tell: other NICs take the place of one that a pod uses; errors name the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni import nic_uses
from multinic_cni.attachments import holders, records
from multinic_cni.choosing import choose, choose_for_nobody
from multinic_cni.conf.node import NodeFile
from multinic_cni.errors import NO_NICS, CniError
from multinic_cni.host import Host
from multinic_selectors.sysfs import Sysfs
from tests.unit.admin import EARLIER
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.test_nic_uses import (
    HOST_DEVICE,
    INDEXES,
    L2,
    MACVLAN,
    PASSTHRU,
    VLAN,
    attach,
    begin,
    forbid_records,
)

if TYPE_CHECKING:
    from types import ModuleType

    from multinic_cni.conf.netconf import NetConf
    from multinic_selectors.selection import Selection
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

NICS = [nic(name, index=index) for name, index in INDEXES.items()]


@pytest.fixture(autouse=True)
def no_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """No NIC of this node is a PCI function."""
    monkeypatch.setattr(Sysfs, "pci_address", lambda *_: "")
    monkeypatch.setattr(Sysfs, "nics", lambda *_: [])


def conf_of(node: AdminNode, **words: Any) -> NetConf:  # noqa: ANN401 - words of a conf
    words = {"masterNets": None, "masters": ["rail*"], "attachPolicy": {"nics": 1}, **words}
    return net_conf(dataDir=node.path, **words)


def selected(node: AdminNode, **words: Any) -> Selection:  # noqa: ANN401 - words of a conf
    return choose(conf_of(node, **words), Host(nics=NICS), list, dict)


def chosen(node: AdminNode, **words: Any) -> list[str]:  # noqa: ANN401 - words of a conf
    return [choice.nic.name for choice in selected(node, **words).chosen]


def refusal(node: AdminNode, **words: Any) -> str:  # noqa: ANN401 - words of a conf
    with pytest.raises(CniError) as raised:
        selected(node, **words)
    assert NO_NICS == raised.value.code
    return raised.value.message


ALONE = (
    "network rails wants macvlan, but pod team/a of network other has macvlan passthru on it:"
    " mode passthru wants a NIC for itself"
)


@pytest.mark.parametrize("noted", [True, False])
def test_other_nics_take_the_place_of_one_in_use(admin_node: AdminNode, *, noted: bool) -> None:
    if noted:
        begin(admin_node, PASSTHRU, "rail0", container="a")
    attach(admin_node, "a", PASSTHRU, "rail0")
    before = admin_node.everything()
    found = selected(admin_node)
    assert ["rail1"] == [choice.nic.name for choice in found.chosen]
    assert [("rail0", ALONE)] == list(found.conflicts)
    assert before == admin_node.everything()


def test_error_is_the_one_of_the_lock(admin_node: AdminNode) -> None:
    attach(admin_node, "a", PASSTHRU, "rail0")
    words = {"masters": ["rail0"]}
    assert f"NIC rail0: {ALONE}" == refusal(admin_node, **words)
    with pytest.raises(CniError) as raised:
        choose_for_nobody(conf_of(admin_node, **words), Host(nics=NICS))
    assert f"NIC rail0: {ALONE}" == raised.value.message
    with pytest.raises(CniError) as raised:
        begin(admin_node, MACVLAN, "rail0")
    assert f"NIC rail0: {ALONE}" == raised.value.message
    admin_node.living.clear()
    assert ["rail0"] == chosen(admin_node, **words)


def test_namesake_is_another_nic(admin_node: AdminNode) -> None:
    attach(admin_node, "a", PASSTHRU, "rail0", index=99)
    assert ["rail0"] == chosen(admin_node)


def test_same_use_reads_the_note_once(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(admin_node, MACVLAN, *INDEXES)
    forbid_records(monkeypatch)
    reads = counted(monkeypatch, nic_uses, "_read")
    assert list(INDEXES) == chosen(admin_node, attachPolicy={})
    assert 1 == len(reads)


def counted(patch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[object]:
    """Note what a function of one argument is called with."""
    own, noted = getattr(module, name), []

    def counting(argument: object) -> object:
        noted.append(argument)
        return own(argument)

    patch.setattr(module, name, counting)
    return noted


@pytest.mark.parametrize("kind", ["vlan", "bridge", "my-own"])
def test_uses_without_conflicts_read_nothing(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    forbid_records(monkeypatch)
    monkeypatch.setattr(nic_uses, "_read", lambda _: pytest.fail("the note was read"))
    assert ["rail0"] == chosen(admin_node, plugin={"type": kind})


def test_records_are_walked_once(admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch) -> None:
    attach(admin_node, "a", L2, "rail0", "rail1")
    walked = counted(monkeypatch, records, "all_records")
    assert ["rail2"] == chosen(admin_node)
    assert [admin_node.path] == walked


def test_store_that_cannot_be_read_is_told_under_the_lock(admin_node: AdminNode) -> None:
    admin_node.write("attachments", "no folder")
    assert ["rail0"] == chosen(admin_node)
    with pytest.raises(NotADirectoryError):
        begin(admin_node, MACVLAN, "rail0")


def test_other_nodes_pods_are_not_looked_for(admin_node: AdminNode) -> None:
    """Which of them live, only that node can say."""
    attach(admin_node, "a", PASSTHRU, "rail0")
    other = Host(str(admin_node.data.parent / "node"), nics=NICS, name="other")
    (choice,) = choose(conf_of(admin_node), other, list, dict).chosen
    assert "rail0" == choice.nic.name


# Which pod has the NIC that an entry names.


def told(node: AdminNode, **words: Any) -> str:  # noqa: ANN401 - words of a conf
    """Return what an error says of NICs in pods, on a node that has none of those named."""
    message = refusal(node, **words)
    return message.rpartition("); ")[2] if "); " in message else ""


def test_masters_that_are_in_pods(admin_node: AdminNode) -> None:
    attach(admin_node, "a", HOST_DEVICE, "vf1", index=11)
    attach(admin_node, "b", HOST_DEVICE, "vf2", index=12, network="third")
    one, two = "pod team/a of network other has vf1", "pod team/b of network third has vf2"
    assert one == told(admin_node, masters=["vf1"])
    assert f"{one}; {two}" == told(admin_node, masters=["vf*"])
    assert "vf1: no NIC has this name" in refusal(admin_node, masters=["vf1"])


def test_master_that_the_pod_asks_for(admin_node: AdminNode) -> None:
    attach(admin_node, "a", HOST_DEVICE, "vf1", index=11)
    wish = {"masters": ["vf*", "rail0"], "args": {"cni": {"masters": ["vf1"]}}}
    message = refusal(admin_node, **wish)
    assert message.startswith("the pod asks for master 'vf1', which this network does not allow")
    assert message.endswith("; pod team/a of network other has vf1")


@pytest.mark.parametrize("texts", [["0000:3B:00.2"], ["vf1"], ["vf?"]])
def test_rails_that_are_in_pods(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch, texts: list[str]
) -> None:
    attach(admin_node, "a", HOST_DEVICE, "vf1", index=11)
    file = admin_node.record_of("other", "a")
    own = file.read_text().replace('"nic": "vf1"', '"nic": "vf1", "pci": "0000:3b:00.2"')
    file.write_text(own)
    words: dict[str, Any] = {"masters": None, "rails": [texts]}
    assert "pod team/a of network other has vf1" == told(admin_node, **words)
    # The net conf may leave it to the node to say which NIC is which rail.
    monkeypatch.setattr("multinic_cni.host.read_node", lambda _: NodeFile(rails=[texts]))
    words["rails"] = 1
    assert "pod team/a of network other has vf1" == told(admin_node, **words)


@pytest.mark.parametrize("template", [MACVLAN, VLAN])
def test_nics_that_have_vanished_are_in_no_pod(
    admin_node: AdminNode, template: dict[str, Any]
) -> None:
    attach(admin_node, "a", template, "vf1", index=11)
    attach(admin_node, "b", HOST_DEVICE, "vf2", index=12, boot=EARLIER)
    attach(admin_node, "c", HOST_DEVICE, "rail0")  # it is here
    assert "" == told(admin_node, masters=["vf*"])
    assert "" == told(admin_node, masters=["vf*", "rail*"], plugin={"type": "sriov"})


def test_many_are_not_all_told(admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "MOST_TOLD", 2)
    for number in range(5):
        attach(admin_node, f"p{number}", HOST_DEVICE, f"vf{number}", index=20 + number)
    assert told(admin_node, masters=["vf*"]) == (
        "pod team/p0 of network other has vf0; pod team/p1 of network other has vf1; 3 more are"
        " in pods"
    )
