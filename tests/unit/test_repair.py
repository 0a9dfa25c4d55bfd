"""`ipam check --repair` mends what no living pod can lose by, and leaves the rest to a person."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from multinic_cni.admin import collection
from multinic_cni.attachments.claim import claim
from multinic_cni.errors import CniError
from tests.unit.commands import run
from tests.unit.damages import DAMAGES, POOL, A, Damage, damage_record_with_address, found_in, lose

if TYPE_CHECKING:
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


@pytest.fixture
def node(admin_node: AdminNode) -> AdminNode:
    """Return a node on which pod a lives with 10.1.0.1, and where nothing is wrong."""
    admin_node.attach("a", "10.1.0.1")
    assert set() == found_in(admin_node)
    return admin_node


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_each_kind_is_mended_or_left_to_a_person(node: AdminNode, damage: Damage) -> None:
    damage.do(node)
    status, output = run("ipam", "check", "--repair", "--json", node=node)
    document = json.loads(output)
    left = {(each["kind"], each["subject"]) for each in document["findings"]}
    assert damage.left == left == found_in(node)
    assert status == (1 if left else 0)
    assert damage.files == node.files()
    mended = {each["subject"] for each in document["mended"]}
    assert mended == {subject for _, subject in damage.found - damage.left} - {"10.1.0.0/24"}


def test_repair_of_everything_at_once_keeps_the_living(node: AdminNode) -> None:
    node.attach("z", "10.1.0.100")
    for name, damage in DAMAGES.items():
        with suppress(FileExistsError):  # some are done at the same place
            if "double" not in name:
                damage.do(node)
    run("ipam", "check", "--repair", node=node)
    assert "z net1" == node.files()["10.1.0.100"]
    assert "10.1.0.1" in node.files()  # damaged, and two name it by now


def test_repair_as_json(node: AdminNode) -> None:
    lose(node)
    node.attach("b", "10.1.0.2", lives=False)
    (node.data / f"{POOL}/10.1.0.3").mkdir()
    status, output = run("ipam", "check", "--repair", "--json", node=node)
    assert status == 1
    assert json.loads(output) == {
        "mended": [
            {"subject": "rails b:net1", "deed": "cleared"},
            {"subject": "10.1.0.1", "deed": "restored"},
        ],
        "failed": [
            {
                "subject": "10.1.0.3",
                "error": "cannot remove it: it is no file",
            }
        ],
        "findings": [
            {
                "kind": "damaged",
                "subject": "10.1.0.3",
                "problem": "its file does not say whose it is",
                "advice": "`ipam check --repair`",
            }
        ],
    }


def test_repair_leaves_busy_attachments_alone(node: AdminNode) -> None:
    lose(node)
    node.attach("b", "10.1.0.2", lives=False)
    node.write("attachments/rails/.b:net1.json.new", "{")
    calls = [claim(node.path, "rails", f"{each}:net1", time.monotonic() + 5) for each in "ab"]
    before = node.everything()
    run("ipam", "check", "--repair", node=node)
    assert before == node.everything()
    for call in calls:
        call.close()


def test_damaged_record_goes_in_two_steps(node: AdminNode) -> None:
    """Its pod may live, so that a person must say that it does not."""
    damage_record_with_address(node)
    assert 1 == run("ipam", "check", "--repair", node=node)[0]
    assert 1 == run("ipam", "release", "10.1.0.2", node=node)[0]
    assert 0 == run("ipam", "release", "--force", "10.1.0.2", node=node)[0]
    assert 0 == run("ipam", "check", "--repair", node=node)[0]
    kept = {each.name for each in (node.data / "attachments/rails").iterdir()}
    assert {"a:net1.json", "a:net1.lock", "b:net1.damaged"} == kept


def test_damaged_file_stays_while_a_damaged_record_may_name_it(node: AdminNode) -> None:
    damage_record_with_address(node)
    node.reserve("10.1.0.3", "")
    left = {("damaged", "rails b:net1"), ("damaged", "10.1.0.3")}
    run("ipam", "check", "--repair", node=node)
    assert left == found_in(node)
    assert "10.1.0.3" in node.files()


def test_stale_reservation_of_a_pod_that_cannot_be_cleared_is_freed(
    node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        collection, "clear_stale", lambda *_words, **_options: [CniError(104, "delegate failed")]
    )
    node.attach("b", "10.1.0.2", lives=False)
    status, output = run("ipam", "check", "--repair", "--json", node=node)
    assert (status, json.loads(output)["failed"]) == (
        1,
        [{"subject": "rails b:net1", "error": "delegate failed"}],
    )
    assert A == node.files()


def test_damaged_record_stays_while_a_damaged_file_may_be_its(node: AdminNode) -> None:
    node.write("attachments/rails/b:net1.json", "{")
    node.reserve("10.1.0.3", "")
    assert 1 == run("ipam", "check", "--repair", node=node)[0]
    assert {("damaged", "rails b:net1"), ("damaged", "10.1.0.3")} == found_in(node)


def test_address_that_two_living_pods_name_is_restored_for_neither(node: AdminNode) -> None:
    node.record("b", "10.1.0.1")
    lose(node)
    run("ipam", "check", "--repair", node=node)
    assert {} == node.files()
    assert {("double", "10.1.0.1"), ("missing", "10.1.0.1")} == found_in(node)


def test_address_that_has_a_file_in_another_block_is_not_restored(node: AdminNode) -> None:
    lose(node)
    node.reserve("10.1.0.1", "b\r\nnet1", folder="10.1.0.0-25")
    run("ipam", "check", "--repair", node=node)
    assert {"10.1.0.1": "b net1"} == node.files()
    assert {("missing", "10.1.0.1"), ("orphaned", "10.1.0.1")} == found_in(node)


def test_address_is_restored_for_the_living_of_two(
    node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        collection, "clear_stale", lambda *_words, **_options: [CniError(104, "delegate failed")]
    )
    node.record("a0", "10.1.0.2", lives=False)
    node.record("b", "10.1.0.2")
    run("ipam", "check", "--repair", node=node)
    assert A | {"10.1.0.2": "b net1"} == node.files()
