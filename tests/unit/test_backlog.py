"""Attachments that wait for their delegates' DEL: a file of lines that a crash may tear."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from multinic_cni import leftovers
from multinic_cni.errors import CniError
from multinic_cni.leftovers import clear_stale, work_off_backlog
from multinic_cni.upkeep import backlog
from tests.unit.stores import opened
from tests.unit.verbs import soon, work_off

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from multinic_cni.attachments.record import Record
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

ONE, TWO, THREE = ("rails", "a:net1"), ("rails", "b:net1"), ("storage", "c:net1")


def append(data: Path, *attachments: tuple[str, str]) -> None:
    with opened(data) as store:
        backlog.append(store.root, attachments)


def take(data: Path, count: int = 2) -> list[tuple[str, str]]:
    with opened(data) as store:
        return backlog.take(store.root, count)


def put_back(data: Path, *attachments: tuple[str, str]) -> None:
    with opened(data) as store:
        backlog.put_back(store.root, attachments)


def test_what_is_appended_is_taken_from_the_end(tmp_path: Path) -> None:
    append(tmp_path, ONE, TWO)
    append(tmp_path, THREE)
    assert b"rails/a:net1\nrails/b:net1\nstorage/c:net1\n" == (tmp_path / "backlog").read_bytes()
    assert [TWO, THREE] == take(tmp_path)
    assert [ONE] == take(tmp_path)
    assert [] == take(tmp_path)


def test_file_is_there_only_while_somebody_waits(tmp_path: Path) -> None:
    append(tmp_path)
    assert [] == take(tmp_path)
    assert not (tmp_path / "backlog").exists()
    assert backlog.is_empty(str(tmp_path))
    append(tmp_path, ONE, TWO)
    assert not backlog.is_empty(str(tmp_path))
    assert [ONE, TWO] == take(tmp_path)
    assert backlog.is_empty(str(tmp_path))
    assert not (tmp_path / "backlog").exists()


@pytest.mark.parametrize("number", [1, 2, 3, 50, 51])
def test_each_is_taken_once_however_many_wait(tmp_path: Path, number: int) -> None:
    wanted = [("n" * 200, f"{each:0200}:net1") for each in range(number)]
    append(tmp_path, *wanted)
    taken: list[tuple[str, str]] = []
    while batch := take(tmp_path):
        taken += batch
    assert wanted == sorted(taken)


def test_last_line_that_a_full_disk_has_torn(tmp_path: Path) -> None:
    """What is appended after it is whole, and what stood before."""
    (tmp_path / "backlog").write_bytes(b"rails/a:net1\nrails/b:n")
    append(tmp_path, THREE)
    assert {ONE, THREE} <= set(take(tmp_path, 9))
    assert backlog.is_empty(str(tmp_path))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"rails",
        b"rails/",
        b"/b:net1",
        b"/",
        b"../x/y:net1",
        b"./.",
        b"./b:net1",
        b"rails/.",
        b"rails/..",
        b"a/z/c/y",
        b"rails/b:net1\0",
        bytes(40),
        b"\0" * 4096,
        b"x" * 5000,
    ],
    ids=lambda line: repr(line[:12]),
)
def test_line_that_names_no_attachment_is_dropped(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "backlog").write_bytes(b"rails/a:net1\n" + line + b"\nstorage/c:net1\n")
    taken: list[tuple[str, str]] = []
    for _ in range(9):
        taken += take(tmp_path)
    assert [ONE, THREE] == sorted(taken)
    assert backlog.is_empty(str(tmp_path))


def test_lines_that_name_none_cost_a_call_nothing(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1", lives=False)
    admin_node.write("backlog", "../x/y:net1\nrails/a:net1\n\0\0\0\n./.\nrails/a:ne")
    for _ in range(4):
        work_off(admin_node)
    assert backlog.is_empty(admin_node.path)
    assert {} == admin_node.files()
    assert not admin_node.record_of("rails", "a").exists()


def test_put_back_are_taken_last(tmp_path: Path) -> None:
    append(tmp_path, ONE)
    put_back(tmp_path, TWO)
    assert b"rails/b:net1\nrails/a:net1\n" == (tmp_path / "backlog").read_bytes()
    assert [ONE] == take(tmp_path, 1)
    assert [TWO] == take(tmp_path, 1)
    put_back(tmp_path, THREE)
    assert [THREE] == take(tmp_path)


def test_planted_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("rails/a:net1\n")
    (tmp_path / "backlog").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic"):
        take(tmp_path)
    assert "rails/a:net1\n" == victim.read_text()


class Clearing:
    """Stands for clear_stale: fails for some attachments, and notes which were tried."""

    def __init__(self, **failures: Exception | list[CniError]) -> None:
        self.failures = failures
        self.tried: list[str] = []
        self.deadlines: list[float] = []

    def clear(  # as clear_stale
        self,
        data_dir: str,
        network: str,
        key: str,
        path: tuple[str, ...],
        deadline: float,
        *,
        unless: Callable[[Record], bool],
    ) -> list[CniError] | None:
        container, _, _ = key.partition(":")
        self.tried.append(container)
        self.deadlines.append(deadline)
        failure = self.failures.get(container)
        if isinstance(failure, Exception):
            raise failure
        return failure or clear_stale(data_dir, network, key, path, deadline, unless=unless)


FAILURES: list[Exception | list[CniError]] = [
    CniError(104, "its delegate hangs"),
    OSError(5, "Input/output error"),
    [CniError(104, "its delegate failed")],
]


@pytest.mark.parametrize("failure", FAILURES, ids=["error", "system", "delegate"])
@pytest.mark.parametrize("failing", ["a", "b"])
def test_one_that_fails_loses_no_other_and_comes_again(
    admin_node: AdminNode,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception | list[CniError],
    failing: str,
) -> None:
    names = ["c", "a", "b"]
    for name in names:
        admin_node.attach(name, f"10.1.0.{ord(name)}", lives=False)
    append(admin_node.data, *(("rails", f"{name}:net1") for name in names))
    clearing = Clearing(**{failing: failure})
    monkeypatch.setattr(leftovers, "clear_stale", clearing.clear)
    work_off(admin_node)
    assert {"a", "b"} == set(clearing.tried)
    waiting = (admin_node.data / "backlog").read_text().splitlines()
    assert [f"rails/{failing}:net1", "rails/c:net1"] == waiting
    (other,) = {"a", "b"} - {failing}
    assert not admin_node.record_of("rails", other).exists()

    work_off(admin_node)  # it is the last of the two
    assert [f"rails/{failing}:net1"] == (admin_node.data / "backlog").read_text().splitlines()
    clearing.failures = {}
    work_off(admin_node)
    assert backlog.is_empty(admin_node.path)
    assert {} == admin_node.files()


def test_one_whose_network_has_gone_is_done(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1", lives=False)
    append(admin_node.data, ("never", "b:net1"), ONE)
    work_off(admin_node)
    assert backlog.is_empty(admin_node.path)
    assert {} == admin_node.files()


def test_pod_that_was_attached_anew_is_left(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1")
    append(admin_node.data, ONE)
    work_off(admin_node)
    assert backlog.is_empty(admin_node.path)
    assert {"10.1.0.1": "a net1"} == admin_node.files()


@pytest.mark.parametrize(("seconds", "most"), [(2.0, 2.0), (100.0, 3.0)])
def test_it_ends_with_the_call(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch, seconds: float, most: float
) -> None:
    admin_node.attach("a", "10.1.0.1", lives=False)
    append(admin_node.data, ONE)
    clearing = Clearing()
    monkeypatch.setattr(leftovers, "clear_stale", clearing.clear)
    started = time.monotonic()
    work_off_backlog(admin_node.path, (), started + seconds)
    (deadline,) = clearing.deadlines
    assert most <= deadline - started < most + 1


def test_store_that_others_hold_is_no_failure(admin_node: AdminNode) -> None:
    """The ADD has done its work: nobody must hear of this."""
    append(admin_node.data, ONE)
    before = admin_node.everything()
    started = time.monotonic()
    with opened(admin_node.data):
        work_off_backlog(admin_node.path, (), soon(0.1))
    assert time.monotonic() - started < 2
    assert before == admin_node.everything()
