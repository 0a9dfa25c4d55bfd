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


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_each_kind_is_mended_or_left_to_a_person(sound_node: AdminNode, damage: Damage) -> None:
    damage.do(sound_node)
    status, output = run("ipam", "check", "--repair", "--json", node=sound_node)
    document = json.loads(output)
    left = {(each["kind"], each["subject"]) for each in document["findings"]}
    assert damage.left == left == found_in(sound_node)
    assert status == (1 if left else 0)
    assert damage.files == sound_node.files()
    mended = {each["subject"] for each in document["mended"]}
    assert mended == {subject for _, subject in damage.found - damage.left} - {"10.1.0.0/24"}


def test_repair_of_everything_at_once_keeps_the_living(sound_node: AdminNode) -> None:
    sound_node.attach("z", "10.1.0.100")
    for name, damage in DAMAGES.items():
        with suppress(FileExistsError):  # some are done at the same place
            if "double" not in name:
                damage.do(sound_node)
    run("ipam", "check", "--repair", node=sound_node)
    assert "z net1" == sound_node.files()["10.1.0.100"]
    assert "10.1.0.1" in sound_node.files()  # damaged, and two name it by now


def test_repair_as_json(sound_node: AdminNode) -> None:
    lose(sound_node)
    sound_node.attach("b", "10.1.0.2", lives=False)
    (sound_node.data / f"{POOL}/10.1.0.3").mkdir()
    status, output = run("ipam", "check", "--repair", "--json", node=sound_node)
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


def test_repair_leaves_busy_attachments_alone(sound_node: AdminNode) -> None:
    lose(sound_node)
    sound_node.attach("b", "10.1.0.2", lives=False)
    sound_node.write("attachments/rails/.b:net1.json.new", "{")
    calls = [claim(sound_node.path, "rails", f"{each}:net1", time.monotonic() + 5) for each in "ab"]
    before = sound_node.everything()
    run("ipam", "check", "--repair", node=sound_node)
    assert before == sound_node.everything()
    for call in calls:
        call.close()


def test_damaged_record_goes_in_two_steps(sound_node: AdminNode) -> None:
    """Its pod may live, so that a person must say that it does not."""
    damage_record_with_address(sound_node)
    assert 1 == run("ipam", "check", "--repair", node=sound_node)[0]
    assert 1 == run("ipam", "release", "10.1.0.2", node=sound_node)[0]
    assert 0 == run("ipam", "release", "--force", "10.1.0.2", node=sound_node)[0]
    assert 0 == run("ipam", "check", "--repair", node=sound_node)[0]
    kept = {each.name for each in (sound_node.data / "attachments/rails").iterdir()}
    assert {"a:net1.json", "a:net1.lock", "b:net1.damaged"} == kept


def test_damaged_file_stays_while_a_damaged_record_may_name_it(sound_node: AdminNode) -> None:
    damage_record_with_address(sound_node)
    sound_node.reserve("10.1.0.3", "")
    left = {("damaged", "rails b:net1"), ("damaged", "10.1.0.3")}
    run("ipam", "check", "--repair", node=sound_node)
    assert left == found_in(sound_node)
    assert "10.1.0.3" in sound_node.files()


def test_stale_reservation_of_a_pod_that_cannot_be_cleared_is_freed(
    sound_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        collection, "clear_stale", lambda *_words, **_options: [CniError(104, "delegate failed")]
    )
    sound_node.attach("b", "10.1.0.2", lives=False)
    status, output = run("ipam", "check", "--repair", "--json", node=sound_node)
    assert (status, json.loads(output)["failed"]) == (
        1,
        [{"subject": "rails b:net1", "error": "delegate failed"}],
    )
    assert A == sound_node.files()


def test_damaged_record_stays_while_a_damaged_file_may_be_its(sound_node: AdminNode) -> None:
    sound_node.write("attachments/rails/b:net1.json", "{")
    sound_node.reserve("10.1.0.3", "")
    assert 1 == run("ipam", "check", "--repair", node=sound_node)[0]
    assert {("damaged", "rails b:net1"), ("damaged", "10.1.0.3")} == found_in(sound_node)


def test_address_that_two_living_pods_name_is_restored_for_neither(sound_node: AdminNode) -> None:
    sound_node.record("b", "10.1.0.1")
    lose(sound_node)
    run("ipam", "check", "--repair", node=sound_node)
    assert {} == sound_node.files()
    assert {("double", "10.1.0.1"), ("missing", "10.1.0.1")} == found_in(sound_node)


def test_address_that_has_a_file_in_another_block_is_not_restored(sound_node: AdminNode) -> None:
    lose(sound_node)
    sound_node.reserve("10.1.0.1", "b\r\nnet1", folder="10.1.0.0-25")
    run("ipam", "check", "--repair", node=sound_node)
    assert {"10.1.0.1": "b net1"} == sound_node.files()
    assert {("missing", "10.1.0.1"), ("orphaned", "10.1.0.1")} == found_in(sound_node)


def test_address_is_restored_for_the_living_of_two(
    sound_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        collection, "clear_stale", lambda *_words, **_options: [CniError(104, "delegate failed")]
    )
    sound_node.record("a0", "10.1.0.2", lives=False)
    sound_node.record("b", "10.1.0.2")
    run("ipam", "check", "--repair", node=sound_node)
    assert A | {"10.1.0.2": "b net1"} == sound_node.files()
