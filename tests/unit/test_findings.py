"""`ipam check` finds each kind of damage, and nothing that a call is just at work on."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from multinic_cni.attachments.claim import claim
from tests.unit.commands import run
from tests.unit.damages import DAMAGES, POOL, Damage, found_in, lose

if TYPE_CHECKING:
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_each_kind_is_found(sound_node: AdminNode, damage: Damage) -> None:
    damage.do(sound_node)
    assert damage.found == found_in(sound_node)


def test_check_as_json(sound_node: AdminNode) -> None:
    lose(sound_node)
    sound_node.attach("b", "10.1.0.2", lives=False)
    status, output = run("ipam", "check", "--json", node=sound_node)
    assert status == 1
    assert json.loads(output) == {
        "mended": [],
        "failed": [],
        "findings": [
            {
                "kind": "missing",
                "subject": "10.1.0.1",
                "problem": "pod team/a has it, but its file is gone",
                "advice": "`ipam check --repair`, before another pod gets it",
            },
            {
                "kind": "stale",
                "subject": "rails b:net1",
                "problem": "pod team/b has gone without a DEL",
                "advice": "`multinic-cni gc`",
            },
        ],
    }


def test_check_as_text(sound_node: AdminNode) -> None:
    assert (0, "nothing is wrong\n") == run("ipam", "check", node=sound_node)
    lose(sound_node)
    status, output = run("ipam", "check", node=sound_node)
    assert status == 1
    assert output.splitlines()[0].split() == ["KIND", "WHAT", "PROBLEM", "WHAT", "TO", "DO"]
    assert output.splitlines()[1].split()[:2] == ["missing", "10.1.0.1"]
    assert (0, "10.1.0.1: restored\nnothing is wrong\n") == run(
        "ipam", "check", "--repair", node=sound_node
    )


def test_file_of_another_living_pod_is_a_double_only(sound_node: AdminNode) -> None:
    """The file names b; a has lost it. Both live."""
    sound_node.record("b", "10.1.0.1")
    sound_node.reserve("10.1.0.1", "b\r\nnet1")
    assert {("double", "10.1.0.1")} == found_in(sound_node)


def test_what_a_call_is_at_work_on_is_not_found(sound_node: AdminNode) -> None:
    """A DEL frees addresses before it forgets the record, both without the store's lock between."""
    lose(sound_node)
    sound_node.attach("b", "10.1.0.2", lives=False)
    sound_node.write("attachments/rails/.b:net1.json.new", "{")
    calls = [claim(sound_node.path, "rails", f"{each}:net1", time.monotonic() + 5) for each in "ab"]
    assert set() == found_in(sound_node)
    assert (0, "nothing is wrong\n") == run("ipam", "check", node=sound_node)
    for call in calls:
        call.close()
    assert {"missing", "stale", "damaged"} == {kind for kind, _ in found_in(sound_node)}


def test_host_locals_own_files_in_a_block_are_no_strangers(sound_node: AdminNode) -> None:
    sound_node.write(f"{POOL}/lock", "")
    sound_node.write(f"{POOL}/last_reserved_ip.0", "10.1.0.1")
    sound_node.write(f"{POOL}/last_reserved_ip.10.1.0.100", "10.1.0.101")
    assert set() == found_in(sound_node)


def test_empty_block_overlaps_nothing(sound_node: AdminNode) -> None:
    (sound_node.data / "pools/10.1.0.0-25").mkdir()
    assert set() == found_in(sound_node)


def test_file_name_that_is_no_text(sound_node: AdminNode) -> None:
    (sound_node.data / "pools/10.1.0.0-24" / os.fsdecode(b"\xff")).touch()
    status, output = run("ipam", "check", node=sound_node)
    assert status == 1
    assert "pools/10.1.0.0-24/\\udcff" in output
    assert 1 == run("ipam", "check", "--json", node=sound_node)[0]
