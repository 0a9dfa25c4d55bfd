"""Whether a pod lives: by its netns's path, or by the processes in it. What is not known, lives."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from multinic_cni import host, liveness, netns
from multinic_cni.liveness import Living
from multinic_cni.netns import NetnsId
from tests.unit.records import record

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.attachments.record import Record

COOKIE = 5


class Netns:
    """Stands for PodNetns: a file that holds the netns's cookie."""

    refusals: dict[str, int]

    def __init__(self, path: str) -> None:
        if path in self.refusals:
            raise OSError(self.refusals[path], os.strerror(self.refusals[path]), path)
        self.path = path
        with open(path, encoding="ascii") as file:  # noqa: PTH123 - the error is the product's
            cookie = int(file.read())
        status = os.stat(path)  # noqa: PTH116 - as the product does it
        self.id = NetnsId(device=status.st_dev, inode=status.st_ino, cookie=cookie)

    def close(self) -> None:
        pass


class Machine:
    """The files by which it is decided."""

    def __init__(self, root: Path) -> None:
        self.netns = root / "netns"
        self.proc = root / "proc"
        self.own = self.proc / "self/ns/pid"
        self.own.parent.mkdir(parents=True)
        self.own.touch()

    def start(self, process: str, cookie: int = COOKIE) -> Path:
        file = self.proc / process / "ns/net"
        file.parent.mkdir(parents=True)
        file.write_text(str(cookie))
        return file

    def mount(self, cookie: int = COOKIE) -> None:
        self.netns.write_text(str(cookie))

    def record(self, *, inside: Path | None = None) -> Record:
        """Return the record of a pod whose netns has the inode of that of a process."""
        status = inside.stat() if inside else self.own.stat()
        known = NetnsId(device=status.st_dev, inode=status.st_ino, cookie=COOKIE)
        return record().but(boot_id="now", netns=str(self.netns), netns_id=known)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    Netns.refusals = {}
    monkeypatch.setattr(host, "boot_id", lambda: "now")
    for module in (netns, liveness):
        monkeypatch.setattr(module, "PodNetns", Netns)
    monkeypatch.setattr(liveness, "PROC", str(machine.proc))
    monkeypatch.setattr(liveness, "FIRST_PID_NAMESPACE", machine.own.stat().st_ino)
    return machine


def test_netns_at_its_path(machine: Machine) -> None:
    machine.mount()
    assert Living().has(machine.record())


def test_pod_of_an_earlier_boot(machine: Machine) -> None:
    machine.mount()
    assert not Living().has(machine.record().but(boot_id="before"))


@pytest.mark.parametrize("mounted", [True, False], ids=["another's path", "no path"])
def test_netns_that_has_gone(machine: Machine, *, mounted: bool) -> None:
    if mounted:
        machine.mount(cookie=COOKIE + 1)
    machine.start("7", cookie=COOKIE + 1)
    assert not Living().has(machine.record())


def test_process_in_a_netns_that_was_unmounted(machine: Machine) -> None:
    machine.start("7", cookie=COOKIE + 1)
    assert Living().has(machine.record(inside=machine.start("8")))


def test_inode_that_is_another_netns_by_now(machine: Machine) -> None:
    """The kernel uses their numbers again; the cookies it does not."""
    assert not Living().has(machine.record(inside=machine.start("8", cookie=COOKIE + 1)))


def test_process_that_ends_while_it_is_looked_at(machine: Machine) -> None:
    inside = machine.start("8")
    Netns.refusals = {str(inside): errno.ENOENT}
    assert not Living().has(machine.record(inside=inside))


def test_process_that_has_no_netns_any_more(machine: Machine) -> None:
    """A zombie, whose links in /proc lead nowhere."""
    (machine.proc / "6").mkdir()
    (machine.proc / "not-a-process").mkdir()
    assert Living().has(machine.record(inside=machine.start("8")))


def test_pod_whose_processes_cannot_be_seen_lives(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "FIRST_PID_NAMESPACE", 1)
    assert Living().has(machine.record())


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE, errno.EIO, errno.EPERM])
def test_netns_that_cannot_be_opened_lives(
    machine: Machine, capfd: pytest.CaptureFixture[str], number: int
) -> None:
    Netns.refusals = {str(machine.netns): number}
    assert Living().has(machine.record())
    warning = capfd.readouterr().err
    assert str(machine.netns) in warning
    assert os.strerror(number) in warning


def test_processes_are_listed_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [machine.record(inside=machine.start(str(number))) for number in range(3, 6)]
    listed = []

    def listing(path: str) -> list[str]:
        listed.append(path)
        return list_folder(path)

    list_folder = os.listdir
    monkeypatch.setattr(os, "listdir", listing)
    living = Living()
    assert [True] * 3 == [living.has(each) for each in records]
    assert [str(machine.proc)] == listed
