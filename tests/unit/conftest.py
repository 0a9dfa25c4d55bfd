"""Guards around every unit test, and how hypothesis works here."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import hypothesis
import pytest

from multinic_cni.log import Log
from multinic_cni.log import log as shared_log
from multinic_cni.process import Command
from tests.unit.admin import AdminNode
from tests.unit.damages import found_in
from tests.unit.descriptors import open_descriptors
from tests.unit.guards import NETLINK, PROCESS, SYSFS, ForbiddenError, forbidding, is_in_sysfs
from tests.unit.programs import PATH, Script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A busy machine is no failure, and a run leaves nothing in the checkout.
hypothesis.settings.register_profile("unit", deadline=None, database=None)
hypothesis.settings.load_profile("unit")


@pytest.fixture(autouse=True)
def log_stays_in_the_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Confs that tests read name log files: none outside the tests' own folders is written."""
    own, configure = str(tmp_path_factory.getbasetemp()), Log.configure

    def configure_within(log: Log, *, file: str, level: str) -> None:
        configure(log, file=file if file.startswith(own) else "", level=level)

    monkeypatch.setattr(Log, "configure", configure_within)
    yield
    configure(shared_log, file="", level="info")


@pytest.fixture(autouse=True)
def guards(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forbid processes (but for the marker `process`), netlink and /sys."""
    marked = request.node.get_closest_marker("process") is not None
    read_link = os.readlink

    def guarded_read_link(path: str, *, dir_fd: int | None = None) -> str:
        # The one call that sysfs is read by and that raises no audit event.
        if is_in_sysfs(path):
            message = f"a unit test must not {SYSFS} (readlink {path})"
            raise ForbiddenError(message)
        return read_link(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "readlink", guarded_read_link)
    with forbidding(NETLINK, SYSFS, *(() if marked else (PROCESS,))):
        yield


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Return a function that writes a shell script and returns the command that executes it."""

    def write(text: str, *, stdin: bytes = b"", **variables: str) -> Command:
        file = tmp_path / f"script{len(list(tmp_path.iterdir()))}"
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return Command(executable=str(file), environment={**PATH, **variables}, stdin=stdin)

    return write


@pytest.fixture
def admin_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AdminNode:
    """Return a node with an empty store; which pods live on it, the test says."""
    return AdminNode.make(tmp_path / "data", monkeypatch)


@pytest.fixture
def no_descriptor_is_left() -> Iterator[None]:
    before = open_descriptors()
    yield
    assert before == open_descriptors()


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    """Fail a test that leaves a child, a descriptor, a handler or a wake-up pipe behind."""
    descriptors = open_descriptors()
    handlers = [signal.getsignal(each) for each in (signal.SIGCHLD, signal.SIGTERM)]
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    assert descriptors == open_descriptors()
    assert handlers == [signal.getsignal(each) for each in (signal.SIGCHLD, signal.SIGTERM)]
    assert -1 == signal.set_wakeup_fd(-1)


@pytest.fixture
def sound_node(admin_node: AdminNode) -> AdminNode:
    """Return a node on which pod a lives with 10.1.0.1, and where nothing is wrong."""
    admin_node.attach("a", "10.1.0.1")
    assert set() == found_in(admin_node)
    return admin_node
