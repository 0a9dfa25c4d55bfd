"""The records of a node, as whoever looks at all of them sees them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from multinic_cni.attachments.records import addresses_named_elsewhere, all_records
from tests.unit.admin import BOOT, EARLIER
from tests.unit.claims import claimed
from tests.unit.verbs import first_call, work_off

if TYPE_CHECKING:
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


def test_every_record_is_seen_whatever_is_wrong_with_others(admin_node: AdminNode) -> None:
    admin_node.record("a", "10.1.0.1")
    admin_node.record("b", "10.1.0.2", boot=EARLIER, network="storage")
    admin_node.record("damaged").write_text('{"format": 1, "net')
    admin_node.record("later").write_text('{"format": 99}')
    folder = admin_node.record("unreadable")
    folder.unlink()
    folder.mkdir()
    admin_node.write("attachments/rails/lock-only:net1.lock", "")
    found = {(each.network, each.key): each for each in all_records(admin_node.path)}
    assert [
        ("rails", "a:net1"),
        ("rails", "damaged:net1"),
        ("rails", "later:net1"),
        ("rails", "unreadable:net1"),
        ("storage", "b:net1"),
    ] == list(found)
    containers = {key: each.record and each.record.container_id for key, each in found.items()}
    assert ("a", "b") == (containers["rails", "a:net1"], containers["storage", "b:net1"])
    readable = [each for each in found.values() if each.record]
    assert [("", False)] * 2 == [(each.trouble, each.damaged) for each in readable]
    troubles = {key: (each.trouble, each.damaged) for (_, key), each in found.items()}
    assert troubles["damaged:net1"][1]
    assert "damaged:net1.json" in troubles["damaged:net1"][0]
    assert not troubles["later:net1"][1]
    assert "was written by a later release" in troubles["later:net1"][0]
    assert not troubles["unreadable:net1"][1]
    assert troubles["unreadable:net1"][0].startswith("cannot read a record: Is a directory")


@pytest.mark.parametrize("name", [b"rails/\xff:net1.json", b"\xff/b:net1.json"])
def test_name_that_is_no_text_is_nobodys(admin_node: AdminNode, name: bytes) -> None:
    """A damaged disk may leave it: no call must fail by it, at the first after a boot neither."""
    admin_node.attach("a", "10.1.0.1", boot=EARLIER)
    strange = os.path.join(os.fsencode(admin_node.data), b"attachments", name)  # noqa: PTH118
    os.makedirs(os.path.dirname(strange), exist_ok=True)  # noqa: PTH103, PTH120
    with open(strange, "w", encoding="ascii") as file:  # noqa: PTH123 - Path takes no bytes
        file.write("{")
    assert ["a:net1"] == [each.key for each in all_records(admin_node.path)]
    admin_node.write("boot", EARLIER)
    first_call(admin_node)
    work_off(admin_node)
    assert BOOT == (admin_node.data / "boot").read_text()
    assert not admin_node.record_of("rails", "a").exists()
    assert os.path.exists(strange)  # noqa: PTH110


def test_no_data_directory_has_no_records(admin_node: AdminNode) -> None:
    assert [] == list(all_records(f"{admin_node.path}/never"))
    claimed(admin_node.data).close()
    assert [] == list(all_records(admin_node.path))


def test_addresses_that_the_same_name_has_in_other_networks(admin_node: AdminNode) -> None:
    admin_node.record("k", "10.1.0.1", network="a")
    admin_node.record("k", "10.1.0.2", "10.1.0.3", network="b")
    admin_node.record("k", "10.1.0.4", network="c", boot=EARLIER)
    admin_node.record("other", "10.1.0.5", network="b")
    admin_node.record("k", "10.1.0.6", network="damaged").write_text("{")
    admin_node.record("k", "10.1.0.7", network="later").write_text('{"format": 99}')

    def named(network: str, key: str) -> set[str]:
        return addresses_named_elsewhere(admin_node.path, network, key)

    assert {"10.1.0.2", "10.1.0.3", "10.1.0.4"} == named("a", "k:net1")
    assert {"10.1.0.1", "10.1.0.4"} == named("b", "k:net1")
    assert set() == named("a", "k:net2")
    assert {"10.1.0.5"} == named("a", "other:net1")
