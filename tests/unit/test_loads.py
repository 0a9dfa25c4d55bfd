"""What attached pods have taken, counted in their records; and who counts at a time."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni import cancellation
from multinic_cni.attachments import loads, records
from multinic_cni.attachments.loads import loads_on, take_turn
from multinic_cni.attachments.records import networks
from multinic_cni.errors import TRY_AGAIN, CniError
from tests.unit.nics import nic
from tests.unit.records import record
from tests.unit.test_locks import held_elsewhere

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_ipam.folders import Folder

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

BOOT = "boot-1"


class Node:
    """A data directory with records."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, key: str, content: object, network: str = "rails") -> Path:
        file = self.root / "attachments" / network / f"{key}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    def attach(self, key: str, network: str = "rails", boot: str = BOOT, **megabits: int) -> Path:
        """Write what an ADD writes for these NICs."""
        whole = record()
        nics = tuple(
            whole.nics[0].but(nic=name, megabits=number) for name, number in megabits.items()
        )
        document = whole.but(nics=nics, boot_id=boot, network=network).to_bytes().decode()
        return self.write(key, document, network)

    @property
    def loads(self) -> dict[str, tuple[int, int]]:
        found = loads_on(str(self.root), BOOT)
        return {name: (each.attachments, each.megabits) for name, each in found.items()}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path / "data")


def test_nothing_yet(node: Node) -> None:
    assert {} == node.loads
    node.root.mkdir()
    assert {} == node.loads
    (node.root / "attachments" / "rails").mkdir(parents=True)
    assert {} == node.loads
    assert [] == [each for each in node.root.rglob("*") if each.is_file()]


def test_attachments_of_all_networks_are_added(node: Node) -> None:
    node.attach("a:net1", rail0=25000, rail1=5000)
    node.attach("b:net1", rail1=0)
    node.attach("a:net1", network="storage", rail1=100, bond0=7)
    assert {"rail0": (1, 25000), "rail1": (3, 5100), "bond0": (1, 7)} == node.loads


def test_nic_that_was_renamed_is_known_by_its_index(node: Node) -> None:
    node.attach("a:net1", rail0=25000)
    index = record().nics[0].index
    found = loads_on(str(node.root), BOOT, [nic("fab0", index=index), nic("rail0", index=99)])
    assert {"fab0": (1, 25000)} == {
        name: (each.attachments, each.megabits) for name, each in found.items()
    }


def test_record_of_what_is_not_complete_yet_counts(node: Node) -> None:
    whole = record(complete=False)
    node.write("a:net1", whole.but(boot_id=BOOT).to_bytes().decode())
    assert {"rail0": (1, 0), "rail1": (1, 0)} == node.loads


def test_earlier_boots_and_other_files_do_not_count(node: Node) -> None:
    node.attach("a:net1", boot="boot-0", rail0=25000)
    file = node.attach("b:net1", rail0=1000)
    for name in ("b:net1.lock", "b:net1.damaged", "b:net1.json~"):
        (file.parent / name).write_text(file.read_text())
    file.rename(file.with_name(".c:net1.json.new"))
    (node.root / "attachments" / "stray.json").write_text("{}")
    assert {} == node.loads


NIC: dict[str, Any] = {"nic": "rail0", "megabits": 5}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "null",
        "[]",
        "[" * 5000,
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
        {"bootID": BOOT},
        {"bootID": BOOT, "nics": {}},
        {"bootID": BOOT, "nics": ["rail0"]},
        {"bootID": BOOT, "nics": [{"megabits": 5}]},
        {"bootID": BOOT, "nics": [{"nic": 7}]},
        {"bootID": BOOT, "nics": [NIC, NIC | {"megabits": "5"}]},
        {"bootID": BOOT, "nics": [NIC, NIC | {"megabits": True}]},
        {"bootID": BOOT, "nics": [NIC, NIC | {"megabits": 1.5}]},
        {"bootID": BOOT, "nics": [NIC, NIC | {"megabits": -5}]},
        {"bootID": BOOT, "nics": [NIC, NIC | {"megabits": 1_000_000_001}]},
        {"bootID": BOOT, "nics": [NIC, NIC | {"megabits": int("9" * 4200)}]},
        {"nics": [NIC]},
        {"bootID": [BOOT], "nics": [NIC]},
    ],
    ids=lambda content: str(content)[:99],
)
def test_damaged_record_says_nothing(node: Node, content: object) -> None:
    node.write("broken:net1", content)
    node.attach("a:net1", rail0=1000)
    assert {"rail0": (1, 1000)} == node.loads


def test_most_that_a_record_can_say_counts(node: Node) -> None:
    node.attach("a:net1", rail0=1_000_000_000)
    assert {"rail0": (1, 1_000_000_000)} == node.loads


def test_record_of_a_later_release_counts_if_it_can_be_read(node: Node) -> None:
    later = {"format": 2, "bootID": BOOT, "nics": [NIC | {"gigabits": 1}], "more": {}}
    node.write("a:net1", later)
    assert {"rail0": (1, 5)} == node.loads


def test_no_link_is_followed_and_no_fifo_waited_for(node: Node) -> None:
    file = node.attach("a:net1", rail0=1000)
    (file.parent / "link:net1.json").symlink_to(file.name)
    os.mkfifo(file.parent / "fifo:net1.json")
    (file.parent / "folder:net1.json").mkdir()
    (node.root / "attachments" / "other").symlink_to("rails")
    assert {"rail0": (1, 1000)} == node.loads


def test_what_goes_while_it_is_read_is_no_error(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = node.attach("a:net1", rail0=1000)
    node.attach("b:net1", rail1=2000)
    other = node.attach("c:net1", network="storage", rail2=1)

    def remove_one(data_dir: str) -> list[str]:
        listed = networks(data_dir)
        other.unlink()
        other.parent.rmdir()
        return listed

    content = records._content

    def remove_another(folder: Folder, name: str) -> bytes:
        gone.unlink(missing_ok=True)
        return content(folder, name)

    monkeypatch.setattr(records, "networks", remove_one)
    monkeypatch.setattr(records, "_content", remove_another)
    assert {"rail1": (1, 2000)} == node.loads


def test_turn_is_one_calls_at_a_time(node: Node) -> None:
    data_dir = str(node.root)
    turn = take_turn(data_dir, time.monotonic() + 5)
    with pytest.raises(CniError) as raised:
        take_turn(data_dir, time.monotonic())
    assert TRY_AGAIN == raised.value.code
    assert "other calls are choosing NICs by what is taken" in raised.value.message
    assert f"lock: {data_dir}/choosing" == raised.value.details
    turn.end()
    turn.end()
    take_turn(data_dir, time.monotonic()).end()


@pytest.mark.process
def test_turn_of_a_dead_call_is_free(node: Node) -> None:
    node.root.mkdir()
    with held_elsewhere(node.root / "choosing") as holder:
        with pytest.raises(CniError):
            take_turn(str(node.root), time.monotonic() + 0.01)
        holder.kill()
        take_turn(str(node.root), time.monotonic() + 20).end()


def test_call_that_is_called_off_waits_no_longer(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = take_turn(str(node.root), time.monotonic())
    monkeypatch.setattr(loads, "cancelled", lambda: True)
    before = time.monotonic()
    with pytest.raises(CniError):
        take_turn(str(node.root), before + 60)
    assert time.monotonic() < before + 30
    turn.end()
    assert not cancellation.cancelled()
