"""What is remembered of a pod's addresses: no more than a preference, which fails nothing."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING

import pytest

from multinic_cni.upkeep import sticky
from multinic_ipam.networks import parse_address
from tests.unit.admin import EARLIER, AdminNode
from tests.unit.faults import Fault
from tests.unit.stores import opened
from tests.unit.verbs import delete_pod, first_call

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

DAY, MONTH = 86_400, 30 * 86_400
NAME = "team:db-0:net1"


def remember(data: Path, *names: str) -> None:
    with opened(data) as store:
        for name in names:
            sticky.remember(store.root, "rails", name, {"rail0": ["10.1.0.5", "fd00::5"]})


def recall(data: Path, name: str = NAME) -> dict[str, list[tuple[int, int]]]:
    with opened(data) as store:
        return sticky.recall(store.root, "rails", name)


def notes(data: Path) -> set[str]:
    return {each.name for each in (data / "sticky/rails").iterdir()} - {".pruned"}


def age(file: Path, seconds: float) -> None:
    moment = time.time() - seconds
    os.utime(file, (moment, moment))


def age_of(file: Path) -> float:
    return time.time() - file.stat().st_mtime


@pytest.mark.parametrize(
    ("pod", "ifname", "expected"),
    [
        ("team/db-0", "net1", "team:db-0:net1"),
        ("team/db-0", "net2", "team:db-0:net2"),
        ("db-0", "net1", ""),  # the runtime says no namespace
        ("/db-0", "net1", ""),
        ("team/", "net1", ""),
        ("", "net1", ""),
        ("team/a/b", "net1", ""),
        ("../x", "net1", "..:x:net1"),
        ("team/" + "x" * 240, "net1", "team:" + "x" * 240 + ":net1"),
        ("team/" + "x" * 241, "net1", ""),
        ("team/" + "ä" * 121, "net1", ""),
    ],
)
def test_name_of_a_note(pod: str, ifname: str, expected: str) -> None:
    assert expected == sticky.name_of(pod, ifname)


def test_what_was_remembered(tmp_path: Path) -> None:
    remember(tmp_path, NAME)
    assert {"rail0": [parse_address("10.1.0.5"), parse_address("fd00::5")]} == recall(tmp_path)
    assert {} == recall(tmp_path, "team:db-1:net1")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b"\xff",
        b'{"rail0": 7}',
        b'{"rail0": null}',
        b'{"rail0": [7]}',
        b'{"rail0": [null]}',
        b'{"rail0": [["10.1.0.5"]]}',
        b'{"rail0": [{}]}',
        b'{"rail0": ["10.1"]}',
        b'{"rail0": ["10.1.0.5\\u0000"]}',
        b'{"rail0": "10.1.0.5"}',
        b'{"rail0": ["10.1.0.5"], "rail1": 7}',
    ],
)
def test_broken_note_says_nothing(tmp_path: Path, content: bytes) -> None:
    remember(tmp_path, NAME)
    (tmp_path / "sticky/rails" / NAME).write_bytes(content)
    assert {} == recall(tmp_path)
    remember(tmp_path, NAME)
    assert {"rail0"} == set(recall(tmp_path))


@pytest.mark.parametrize("place", ["sticky", "sticky/rails", f"sticky/rails/{NAME}"])
def test_what_stands_in_a_notes_place_is_only_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], place: str
) -> None:
    if place.endswith("net1"):
        (tmp_path / place).mkdir(parents=True)
    else:
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text("")
    assert {} == recall(tmp_path)
    remember(tmp_path, NAME)
    assert "the pod's addresses are not remembered" in capfd.readouterr().err


def test_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data/sticky").symlink_to(tmp_path / "elsewhere")
    remember(tmp_path / "data", NAME)
    assert [] == list((tmp_path / "elsewhere").iterdir())


def test_full_disk_is_only_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """At whatever it fails."""
    met: set[str] = set()
    for nth in range(1, 30):
        folder = tmp_path / str(nth)
        with opened(folder) as store:
            fault = Fault(("mkdir", "write", "rename"), nth, errno.ENOSPC)
            with fault:
                sticky.remember(store.root, "rails", NAME, {"rail0": ["10.1.0.5"]})
        if not fault.met:
            assert {"mkdir", "write", "rename"} == met
            return
        met.add(fault.met.split()[0])
        assert "No space left on device" in capfd.readouterr().err
    pytest.fail("the work never ended without a fault")


def test_pods_that_have_not_come_for_a_month_are_forgotten(tmp_path: Path) -> None:
    remember(tmp_path, NAME, "team:old:net1", "team:young:net1")
    folder = tmp_path / "sticky/rails"
    age(folder / "team:old:net1", MONTH + 60)
    age(folder / "team:young:net1", MONTH - 60)
    age(folder / ".pruned", DAY + 60)
    remember(tmp_path, NAME)
    assert {NAME, "team:young:net1"} == notes(tmp_path)
    assert age_of(folder / ".pruned") < 60


def test_nobody_looks_for_them_more_than_once_a_day(tmp_path: Path) -> None:
    """A node has thousands of notes; an ADD must not look at each."""
    remember(tmp_path, NAME, "team:old:net1")
    folder = tmp_path / "sticky/rails"
    age(folder / "team:old:net1", MONTH + 60)
    age(folder / ".pruned", DAY - 60)
    remember(tmp_path, NAME)
    assert {NAME, "team:old:net1"} == notes(tmp_path)


def attached(node: AdminNode, *, boot: str) -> Path:
    """Attach pod team/a, which has a note of long ago, and return that."""
    node.attach("a", "10.1.0.1", boot=boot)
    remember(node.data, "team:a:net1", "team:other:net1")
    for each in (node.data / "sticky/rails").iterdir():
        age(each, MONTH + 60)
    return node.data / "sticky/rails/team:a:net1"


def test_month_begins_with_the_del(admin_node: AdminNode) -> None:
    note = attached(admin_node, boot=EARLIER)
    delete_pod(admin_node, "rails", "a")
    assert age_of(note) < 60
    remember(admin_node.data, NAME)
    assert {"team:a:net1", NAME} == notes(admin_node.data)


def test_month_begins_with_the_boot_that_ended_the_pod(admin_node: AdminNode) -> None:
    """Nobody is forgotten by the boot itself."""
    note = attached(admin_node, boot=EARLIER)
    admin_node.write("boot", EARLIER)
    first_call(admin_node)
    assert age_of(note) < 60
    assert {"team:a:net1", "team:other:net1"} == notes(admin_node.data)
    remember(admin_node.data, NAME)
    assert {"team:a:net1", NAME} == notes(admin_node.data)


def test_del_of_a_pod_without_a_note(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1", boot=EARLIER)
    delete_pod(admin_node, "rails", "a")
    assert not (admin_node.data / "sticky").exists()


def test_refresh_follows_no_link(admin_node: AdminNode, tmp_path: Path) -> None:
    note = attached(admin_node, boot=EARLIER)
    victim = tmp_path / "victim"
    victim.write_text("")
    age(victim, MONTH)
    note.unlink()
    note.symlink_to(victim)
    delete_pod(admin_node, "rails", "a")
    assert age_of(victim) > DAY
