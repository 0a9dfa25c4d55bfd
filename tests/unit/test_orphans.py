from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from multinic_cni.attachments.claim import (
    claim_existing,
    claim_idle,
)
from multinic_cni.errors import CniError
from tests.unit.claims import KEY, claimed, files, soon
from tests.unit.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


@contextmanager
def orphan() -> Iterator[None]:
    """Let a child live that has inherited what may be inherited."""
    command = ["/bin/sh", "-c", "echo executed; exec sleep 60"]
    with subprocess.Popen(command, close_fds=False, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        try:
            assert b"executed\n" == child.stdout.readline()
            yield
        finally:
            child.kill()


@pytest.mark.process
def test_orphan_of_a_killed_call_keeps_the_attachment(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.write(record())
    held.let_children_inherit()
    with orphan():
        held.close()
        with pytest.raises(CniError, match="a delegate that such a call left"):
            claim_existing(str(tmp_path), "rails", KEY, soon(0.1))
        assert claim_idle(str(tmp_path), "rails", KEY) is None
    after = claim_existing(str(tmp_path), "rails", KEY, soon())
    assert after is not None
    after.close()


@pytest.mark.process
def test_lock_file_stays_while_an_orphan_holds_it(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.let_children_inherit()
    with orphan():
        assert held.has_orphans()
        held.close()
        assert ["c0ffee:net1.lock"] == files(tmp_path)
        with pytest.raises(CniError):
            claimed(tmp_path, seconds=0.1)


@pytest.mark.process
def test_other_programs_do_not_inherit_the_lock(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    with orphan():
        assert not held.has_orphans()
        held.close()
        claimed(tmp_path, seconds=0).close()
        assert [] == files(tmp_path)


@pytest.mark.process
def test_delegates_that_have_ended_are_no_orphans(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.let_children_inherit()
    with orphan():
        pass
    assert not held.has_orphans()
    held.let_children_inherit()
    with orphan():
        assert held.has_orphans()
    held.close()
