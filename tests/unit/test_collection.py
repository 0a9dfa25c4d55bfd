"""`multinic-cni gc`: what pods have left goes, what lives stays."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from multinic_cni.admin import collection
from multinic_cni.attachments.claim import claim
from multinic_cni.errors import CniError
from multinic_cni.leftovers import clear_stale
from multinic_cni.upkeep import backlog
from tests.unit.admin import BLOCK, EARLIER, AdminNode
from tests.unit.commands import run
from tests.unit.damages import found_in
from tests.unit.stores import opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from multinic_cni.attachments.record import Record

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


@pytest.fixture
def node(admin_node: AdminNode) -> AdminNode:
    """Return a node with all that gc clears, and with pod a, which lives."""
    admin_node.attach("a", "10.1.0.1")
    admin_node.attach("b", "10.1.0.2", "10.1.0.3", lives=False)
    admin_node.attach("c", "10.1.0.4", boot=EARLIER)
    admin_node.reserve("10.1.0.5", "d\r\nnet1")
    admin_node.reserve("10.1.0.6", "e\r\neth0")
    admin_node.write("imported/10.1.0.6", str(admin_node.host_local_folder()))
    admin_node.write("quarantine/10.1.0.7", "1 over")
    admin_node.write("quarantine/10.1.0.8", f"{int(time.time()) + 600} why")
    admin_node.write("pools/10.1.0.0-24/.last_reserved_ip.0.new", "10")
    admin_node.write("attachments/rails/.a:net1.json.new", "{")
    admin_node.write("attachments/rails/f:net1.lock", "")
    admin_node.write("attachments/rails/.f:net1.json.new", "{")
    return admin_node


def cleared(container: str, *addresses: str, error: str | None = None) -> dict[str, object]:
    return {
        "network": "rails",
        "attachment": f"{container}:net1",
        "pod": f"team/{container}",
        "addresses": [*addresses],
        "error": error,
    }


GONE = [cleared("b", "10.1.0.2", "10.1.0.3"), cleared("c", "10.1.0.4")]
COLLECTED = {
    "attachments": GONE,
    "addresses": [
        {"address": "10.1.0.5", "block": BLOCK, "state": "orphaned"},
        {"address": "10.1.0.6", "block": BLOCK, "state": "stale"},
    ],
    "quarantine": ["10.1.0.7"],
    "vlans": [],
}
UNFINISHED = [
    "attachments/rails/.a:net1.json.new",
    "pools/10.1.0.0-24/.last_reserved_ip.0.new",
]
OF_NOBODY = "attachments/rails/.f:net1.json.new"


def test_all_is_cleared(node: AdminNode) -> None:
    status, output = run("gc", "--json", node=node)
    assert status == 0
    # The file of an attachment without a record has gone with its lock.
    assert json.loads(output) == {"dryRun": False, **COLLECTED, "unfinished": UNFINISHED}
    assert {"10.1.0.1": "a net1"} == node.files()
    assert ["10.1.0.8"] == [each.name for each in (node.data / "quarantine").iterdir()]
    kept = {each.name for each in (node.data / "attachments/rails").iterdir()}
    assert {"a:net1.json", "a:net1.lock"} == kept
    assert set() == found_in(node)


def test_dry_run_tells_the_same_and_changes_nothing(node: AdminNode) -> None:
    before = node.everything()
    status, output = run("gc", "--dry-run", "--json", node=node)
    assert status == 0
    unfinished = sorted([*UNFINISHED, OF_NOBODY])
    assert json.loads(output) == {"dryRun": True, **COLLECTED, "unfinished": unfinished}
    assert before == node.everything()


def test_as_text(node: AdminNode) -> None:
    _, would = run("gc", "--dry-run", node=node)
    _, output = run("gc", node=node)
    lines = [
        "rails b:net1: pod team/b: cleared 10.1.0.2 10.1.0.3",
        "rails c:net1: pod team/c: cleared 10.1.0.4",
        "10.1.0.5: orphaned: freed",
        "10.1.0.6: stale: freed",
        "10.1.0.7: quarantine ended",
        "attachments/rails/.a:net1.json.new: removed",
        "pools/10.1.0.0-24/.last_reserved_ip.0.new: removed",
    ]
    assert lines == output.splitlines()
    assert "rails b:net1: pod team/b: would be cleared 10.1.0.2 10.1.0.3" in would.splitlines()
    assert (0, "nothing to clear\n") == run("gc", node=node)


def test_first_call_after_a_boot(node: AdminNode) -> None:
    """What the reclaim frees before all else is told as well."""
    node.write("boot", EARLIER)
    _, output = run("gc", "--json", node=node)
    assert json.loads(output) == {"dryRun": False, **COLLECTED, "unfinished": UNFINISHED}
    assert {"10.1.0.1": "a net1"} == node.files()
    assert set() == found_in(node)


def test_backlog_is_worked_off(node: AdminNode) -> None:
    with opened(node.data) as store:
        backlog.append(store.root, [("rails", "b:net1"), ("rails", "a:net1"), ("rails", "x:net1")])
    run("gc", node=node)
    assert backlog.is_empty(node.path)
    assert {"10.1.0.1": "a net1"} == node.files()


def test_record_torn_by_a_power_cut(node: AdminNode) -> None:
    node.attach("t", "10.1.0.9").write_text("{")
    node.write("boot", EARLIER)
    _, output = run("gc", "--json", node=node)
    torn = cleared("t") | {"pod": "t"}
    assert [*GONE, torn] == json.loads(output)["attachments"]
    assert {"10.1.0.1": "a net1"} == node.files()
    assert (node.data / "attachments/rails/t:net1.damaged").exists()
    assert set() == found_in(node)


@pytest.mark.parametrize("content", ["{", '{"format": 99}'])
def test_record_that_cannot_be_read_counts_as_living(node: AdminNode, content: str) -> None:
    node.attach("t", "10.1.0.9").write_text(content)
    assert 0 == run("gc", node=node)[0]
    assert {"10.1.0.1": "a net1", "10.1.0.9": "t net1"} == node.files()


def test_damaged_file_is_left_to_check(node: AdminNode) -> None:
    node.reserve("10.1.0.9", "")
    run("gc", node=node)
    assert {("damaged", "10.1.0.9")} == found_in(node)


@pytest.mark.parametrize("content", ["e\r\neth0", "somebody else's", "", None])
def test_imported_addresses_stay(node: AdminNode, content: str | None) -> None:
    """While host-local has them, for whomever, and where nobody can know: the folder has gone."""
    folder = node.host_local_folder()
    if content is None:
        folder.rmdir()
    else:
        (folder / "10.1.0.6").write_bytes(content.encode())
    run("gc", node=node)
    assert {"10.1.0.1": "a net1", "10.1.0.6": "e eth0"} == node.files()


def test_busy_attachment_is_not_touched(node: AdminNode) -> None:
    busy = claim(node.path, "rails", "b:net1", time.monotonic() + 5)
    status, output = run("gc", "--json", node=node)
    busy.close()
    error = "a call is at work on it, or a delegate that such a call has left running"
    assert status == 1
    assert [
        cleared("b", "10.1.0.2", "10.1.0.3", error=error),
        cleared("c", "10.1.0.4"),
    ] == json.loads(output)["attachments"]
    assert {"10.1.0.1": "a net1", "10.1.0.2": "b net1", "10.1.0.3": "b net1"} == node.files()


def failing_clearer(error: Exception) -> object:
    def clear(_data_dir: str, _network: str, key: str, *_words: object, **_more: object) -> object:
        if isinstance(error, CniError) and key == "b:net1":
            return [error]
        raise error

    return clear


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (CniError(104, "delegate failed"), "delegate failed"),
        (OSError(5, "Input/output error"), "cannot clear it: Input/output error"),
    ],
)
def test_failures_are_told_and_the_rest_goes_on(
    node: AdminNode, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    monkeypatch.setattr(collection, "clear_stale", failing_clearer(error))
    status, output = run("gc", "--json", node=node)
    document = json.loads(output)
    assert status == 1
    assert [told, told] == [each["error"] for each in document["attachments"]]
    assert COLLECTED["addresses"] == document["addresses"]
    status, output = run("gc", node=node)
    assert f"rails b:net1: pod team/b: {told}" in output.splitlines()


def test_pod_that_was_attached_anew_meanwhile(
    node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runtime that keeps container names: podman."""

    def attach_first(*words: str, unless: Callable[[Record], bool]) -> list[CniError] | None:
        node.living.add("b")
        data_dir, network, key, *_ = words
        return clear_stale(data_dir, network, key, (), time.monotonic() + 5, unless=unless)

    monkeypatch.setattr(collection, "clear_stale", attach_first)
    _, output = run("gc", "--json", node=node)
    assert [cleared("c", "10.1.0.4")] == json.loads(output)["attachments"]
    assert "b net1" in node.files().values()
