from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING

import pytest

from multinic_cni.attachments.claim import claim, claim_existing, claim_idle, key_of
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.attachments.records import has_record, keys, networks, peek
from multinic_cni.errors import TRY_AGAIN, CniError
from tests.unit.claims import KEY, claimed, files, soon
from tests.unit.records import record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


def test_key() -> None:
    assert "c0ffee:net1" == key_of("c0ffee", "net1")


def test_record_is_written_read_and_forgotten(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    assert held.read() is None
    held.write(record(complete=False))
    held.write(record())
    read = held.read()
    assert read is not None
    assert record().to_bytes() == read.to_bytes()
    held.forget()
    assert held.read() is None
    held.forget()
    held.close()


def test_files_stay_with_a_record_and_go_without(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.write(record())
    held.close()
    assert ["c0ffee:net1.json", "c0ffee:net1.lock"] == files(tmp_path)
    held = claimed(tmp_path)
    held.forget()
    held.close()
    assert [] == files(tmp_path)


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    held = claimed(tmp_path / "data")
    held.write(record())
    held.close()
    found = list((tmp_path / "data").rglob("*"))
    assert {0o600} == {each.stat().st_mode & 0o777 for each in found if each.is_file()}
    assert {0o700} == {each.stat().st_mode & 0o777 for each in found if each.is_dir()}


def test_torn_file_of_a_killed_write_goes_with_the_lock(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    (tmp_path / "attachments" / "rails" / ".c0ffee:net1.json.new").write_bytes(b'{"for')
    held.close()
    assert [] == files(tmp_path)


def test_busy_attachment_is_code_11(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    with pytest.raises(CniError, match="attachment c0ffee:net1 is busy") as raised:
        claimed(tmp_path, seconds=0.1)
    held.close()
    assert TRY_AGAIN == raised.value.code
    assert f"{tmp_path}/attachments/rails/c0ffee:net1.lock" in raised.value.details


def test_other_attachments_are_not_busy(tmp_path: Path) -> None:
    held = [
        claimed(tmp_path),
        claimed(tmp_path, key_of("c0ffee", "net2"), seconds=0),
        claimed(tmp_path, key_of("decade", "net1"), seconds=0),
        claim(str(tmp_path), "storage", KEY, soon()),
    ]
    for each in held:
        each.close()


@pytest.mark.parametrize("with_record", [True, False])
def test_waiter_gets_the_attachment(tmp_path: Path, *, with_record: bool) -> None:
    # Without a record the lock file is removed under the waiter, who must not keep the dead one.
    held = claimed(tmp_path)
    if with_record:
        held.write(record())
    timer = threading.Timer(0.15, held.close)
    timer.start()
    second = claimed(tmp_path)
    timer.join()
    with pytest.raises(CniError):
        claimed(tmp_path, seconds=0)
    assert "c0ffee:net1.lock" in files(tmp_path)
    second.close()


def test_lock_file_that_somebody_removed_is_made_anew(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    (tmp_path / "attachments" / "rails" / "c0ffee:net1.lock").unlink()
    second = claimed(tmp_path, seconds=0)
    second.close()
    held.close()


def test_existing_attachment_is_claimed(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.write(record())
    held.close()
    again = claim_existing(str(tmp_path), "rails", KEY, soon())
    assert again is not None
    assert again.read() is not None
    again.close()


def test_lock_alone_is_an_attachment_too(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    with pytest.raises(CniError):
        claim_existing(str(tmp_path), "rails", KEY, soon(0))
    held.close()


def nothing(_data: Path) -> None:
    return


def empty_folder(data: Path) -> None:
    data.mkdir()


def another_network(data: Path) -> None:
    claim(str(data), "storage", KEY, soon()).close()


def another_attachment(data: Path) -> None:
    held = claimed(data, key_of("decade", "net1"))
    held.write(record())
    held.close()


@pytest.mark.parametrize(
    "before", [nothing, empty_folder, another_network, another_attachment], ids=lambda f: f.__name__
)
@pytest.mark.parametrize(
    "look",
    [
        lambda data: claim_existing(data, "rails", KEY, soon()),
        lambda data: peek(data, "rails", KEY),
        lambda data: has_record(data, "rails", KEY) or None,
        lambda data: [each for each in keys(data, "rails") if each == KEY] or None,
        lambda data: [each for each in networks(data) if each == "never"] or None,
    ],
    ids=["claim_existing", "peek", "has_record", "keys", "networks"],
)
def test_looking_for_what_never_was_creates_nothing(
    tmp_path: Path, before: Callable[[Path], None], look: Callable[[str], object]
) -> None:
    data = tmp_path / "data"
    before(data)
    there = sorted(data.rglob("*"))
    assert look(str(data)) is None
    assert there == sorted(data.rglob("*"))
    assert data.exists() == (before is not nothing)


def test_idle_attachment(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.write(record())
    assert claim_idle(str(tmp_path), "rails", KEY) is None
    held.close()
    idle = claim_idle(str(tmp_path), "rails", KEY)
    assert idle is not None
    with pytest.raises(CniError):
        claimed(tmp_path, seconds=0)
    idle.close()


def test_peek_needs_no_lock(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    held.write(record())
    read = peek(str(tmp_path), "rails", KEY)
    assert read is not None
    assert record().to_bytes() == read.to_bytes()
    held.close()


def test_damaged_record_is_put_aside(tmp_path: Path) -> None:
    held = claimed(tmp_path)
    file = tmp_path / "attachments" / "rails" / "c0ffee:net1.json"
    file.write_bytes(b'{"format": 1, "net')
    with pytest.raises(DamagedRecordError, match=r"c0ffee:net1\.json"):
        held.read()
    held.quarantine()
    assert held.read() is None
    held.close()
    assert ["c0ffee:net1.damaged"] == files(tmp_path)
    assert b'{"format": 1, "net' == file.with_suffix(".damaged").read_bytes()


def test_keys_and_networks(tmp_path: Path) -> None:
    for network, key in (("rails", "b:net1"), ("rails", "a:net1"), ("storage", "c:net1")):
        held = claim(str(tmp_path), network, key, soon())
        held.write(record())
        held.close()
    locked = claimed(tmp_path, "c:net1")
    (tmp_path / "attachments" / "stray").write_text("")
    assert ["a:net1", "b:net1", "c:net1"] == list(keys(str(tmp_path), "rails"))
    assert ["rails", "storage"] == networks(str(tmp_path))
    assert has_record(str(tmp_path), "rails", "a:net1")
    assert not has_record(str(tmp_path), "rails", "c:net1")
    locked.close()


@pytest.mark.parametrize("planted", ["attachments", "attachments/rails"])
def test_planted_link_is_not_followed(tmp_path: Path, planted: str) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    claimed(data).close()
    (data / planted).rename(elsewhere)
    (data / planted).symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(OSError, match=r"symbolic|Not a directory"):
        claimed(data)
    assert before == sorted(elsewhere.rglob("*"))


def test_lock_that_cannot_be_had_leaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_arguments: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("multinic_cni.attachments.claim.lock", no_locks)
    with pytest.raises(OSError, match="No locks available"):
        claimed(tmp_path)
