"""VLANs below delegates: who uses them, and what they make of conflicts and choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni import compensation, vlans
from multinic_cni.attachments.record import NicRecord
from multinic_ipam.reservation import Owner
from tests.unit.nics import nic
from tests.unit.records import record
from tests.unit.stores import opened

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from multinic_cni.attachments.record import Record
    from multinic_selectors.nics import Nic
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

ID = 100
NICS = [nic("rail1", index=3), nic("rail2", index=4)]


class Link:
    """As much of a link as is looked at."""

    def __init__(self, name: str, index: int) -> None:
        self.name = name
        self.index = index


class Node:
    """The links that the plugin would have made and deleted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
        self.data = data
        self.links: dict[str, tuple[int, int]] = {}  # to the NIC's index and the id
        monkeypatch.setattr(vlans, "make_links", self.make)
        monkeypatch.setattr(vlans, "delete_link", self.delete)
        monkeypatch.setattr(vlans, "links_without", self.without)

    def make(self, nics: list[Nic], vlan_id: int, _group: int) -> None:
        for each in nics:
            self.links.setdefault(f"{each.name}.{vlan_id}", (each.index, vlan_id))

    def delete(self, name: str, _group: int) -> bool:
        return self.links.pop(name, None) is not None

    def without(self, needed: Container[tuple[int, int]], _group: int) -> list[str]:
        return [name for name, place in self.links.items() if place not in needed]

    def join(self, container: str, network: str = "rails") -> None:
        with opened(self.data) as store:
            vlans.join(store.root, network, Owner(container, "net1"), NICS, ID)

    def leave(self, whose: Record) -> None:
        with opened(self.data) as store:
            vlans.leave(store.root, str(self.data), whose)

    def notes(self) -> list[str]:
        root = self.data / "vlans"
        return sorted(str(each.relative_to(root)) for each in root.rglob("*"))


@pytest.fixture
def kernel(admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(monkeypatch, admin_node.data)


def record_of(container: str, *masters: str, network: str = "rails") -> Record:
    masters = masters or ("rail1.100", "rail2.100")
    return record().but(
        container_id=container,
        network=network,
        nics=tuple(
            NicRecord(nic="x", index=index, kind="", mac="", ifname="n", confs=(), master=master)
            for index, master in enumerate(masters, start=3)
        ),
    )


def test_last_one_takes_the_links_along(kernel: Node, admin_node: AdminNode) -> None:
    for container, network in (("a", "rails"), ("b", "rails"), ("a", "others")):
        admin_node.record(container, network=network)
        kernel.join(container, network)
    assert ["rail1.100", "rail2.100"] == sorted(kernel.links)
    assert "rail1.100/others/a:net1" in kernel.notes()

    for container, network in (("a", "rails"), ("b", "rails")):
        kernel.leave(record_of(container, network=network))
        admin_node.record_of(network, container).unlink()
        assert ["rail1.100", "rail2.100"] == sorted(kernel.links)
    kernel.leave(record_of("a", network="others"))

    assert {} == kernel.links
    assert [] == kernel.notes()


def test_killed_before_the_note_or_after_it_was_taken_away(kernel: Node) -> None:
    """The record alone says what there may be."""
    kernel.links = {"rail1.100": (3, ID)}
    kernel.leave(record_of("a"))
    assert {} == kernel.links


def test_note_without_a_record_does_not_count(kernel: Node) -> None:
    kernel.join("gone")
    kernel.join("a")
    kernel.leave(record_of("a"))
    assert {} == kernel.links
    assert [] == kernel.notes()


def test_record_that_cannot_be_read_counts(kernel: Node, admin_node: AdminNode) -> None:
    kernel.join("torn")
    admin_node.write("attachments/rails/torn:net1.json", "{")
    kernel.join("a")
    kernel.leave(record_of("a"))
    assert ["rail1.100", "rail2.100"] == sorted(kernel.links)
    admin_node.record_of("rails", "torn").unlink()

    with opened(kernel.data) as store:
        vlans.leave_all(store.root, str(kernel.data), "rails", "torn:net1")

    assert {} == kernel.links
    assert [] == kernel.notes()


def files_below(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file() and each.name != "lock"]


def test_planted_names_lead_nowhere(kernel: Node, tmp_path: Path) -> None:
    kernel.links = {"eth0": (1, 0), "../x.100": (3, ID)}
    before = files_below(tmp_path)
    kernel.leave(record_of("a", "eth0", "../x.100", "/etc/x.100", ".."))
    assert {"eth0": (1, 0), "../x.100": (3, ID)} == kernel.links
    assert before == files_below(tmp_path)


def test_links_that_nobody_needs(kernel: Node, admin_node: AdminNode) -> None:
    """A link that has got another name is known by its NIC and id."""
    kernel.join("a")
    kernel.links = {"renamed": (3, ID), "rail2.100": (4, ID), "lost": (5, ID)}

    assert ["lost"] == vlans.unused(admin_node.path, [record_of("a")])
    assert [] == vlans.unused(admin_node.path, [record_of("a"), None])


def test_node_without_vlans_is_not_asked(admin_node: AdminNode) -> None:
    """The guards would tell."""
    assert [] == vlans.unused(admin_node.path, [record_of("a")])
    with opened(admin_node.data) as store:
        assert [] == vlans.remove_unused(store.root, admin_node.path)


def test_links_of_a_killed_delegate_stand_on_the_vlan(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the index that it has now; a VLAN that has gone has taken them along."""
    there = [Link(name="rail1.100", index=17), Link(name="rail2", index=4)]
    monkeypatch.setattr(compensation, "links_of_node", lambda: there)
    nics = record_of("a").nics
    named = [each.but(ifname=name) for each, name in zip(nics, ("net1", "net1-1"), strict=True)]
    assert {"net1": 17, "net1-1": -1} == compensation._indexes_below(named)


def test_no_links_are_listed_where_there_is_no_vlan() -> None:
    """The guards would tell."""
    assert {"net1": 3, "net1-1": 4} == compensation._indexes_below(record().nics)
