"""What dead pods left is freed by whoever needs it, and nothing that may be somebody's."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from multinic_cni.attachments.claim import Claim, claim, claim_idle
from multinic_cni.errors import BAD_CONF, NO_ADDRESS, CniError
from multinic_cni.liveness import Living
from multinic_cni.reservations import ExhaustedError
from multinic_cni.upkeep import sweeping
from multinic_cni.upkeep.sweeping import after_sweep
from multinic_ipam.networks import Network
from multinic_ipam.pools import Pool
from tests.unit.admin import BLOCK, EARLIER
from tests.unit.stores import A, opened, take
from tests.unit.verbs import soon, sweep_on, work_off

if TYPE_CHECKING:
    from collections.abc import Callable

    from multinic_cni.attachments.record import Record
    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


def test_stale_addresses_are_freed_and_their_attachments_wait(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1")
    admin_node.attach("b", "10.1.0.2", "10.1.0.3", lives=False)
    admin_node.attach("c", "10.1.0.4", boot=EARLIER, network="storage")
    swept = sweep_on(admin_node)
    assert (3, 0) == (swept.freed, swept.kept)
    assert {"10.1.0.1": "a net1"} == admin_node.files()
    lines = (admin_node.data / "backlog").read_text().splitlines()
    assert {"rails/b:net1", "storage/c:net1"} == set(lines)
    work_off(admin_node)
    assert [admin_node.record_of("rails", "a")] == [*admin_node.data.glob("attachments/*/*.json")]


def test_nothing_stale_writes_nothing(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1")
    admin_node.record("b", lives=False)  # its delegates have the addresses
    before = admin_node.everything()
    swept = sweep_on(admin_node)
    assert (0, 0) == (swept.freed, swept.kept)
    assert before == admin_node.everything()


def test_record_whose_addresses_have_gone_waits_once(admin_node: AdminNode) -> None:
    admin_node.attach("b", "10.1.0.2", lives=False)
    sweep_on(admin_node)
    assert 0 == sweep_on(admin_node).freed
    assert "rails/b:net1\n" == (admin_node.data / "backlog").read_text()


def test_file_without_a_record_is_host_locals(admin_node: AdminNode) -> None:
    """It uses our folders itself, or an ADD of this moment does."""
    admin_node.reserve("10.1.0.5", "stranger\r\neth0")
    admin_node.reserve("10.1.0.6", "")
    assert 0 == sweep_on(admin_node).freed
    assert {"10.1.0.5": "stranger eth0", "10.1.0.6": ""} == admin_node.files()


@pytest.mark.parametrize(
    ("content", "kept"), [("e\r\neth0", True), ("other\r\neth0", True), ("", True), (None, False)]
)
def test_imported_address_goes_with_its_file(
    admin_node: AdminNode, content: str | None, *, kept: bool
) -> None:
    folder = admin_node.host_local_folder()
    if content is not None:
        (folder / "10.1.0.6").write_bytes(content.encode())
    admin_node.reserve("10.1.0.6", "e\r\neth0")
    admin_node.write("imported/10.1.0.6", str(folder))
    assert (0 if kept else 1) == sweep_on(admin_node).freed
    assert ({"10.1.0.6": "e eth0"} if kept else {}) == admin_node.files()
    assert kept == (admin_node.data / "imported/10.1.0.6").exists()


@pytest.mark.parametrize("becomes", ["nothing", "a file"])
def test_imported_address_stays_where_its_folder_cannot_be_asked(
    admin_node: AdminNode, becomes: str
) -> None:
    folder = admin_node.host_local_folder()
    folder.rmdir()
    if becomes == "a file":
        folder.write_text("")
    admin_node.reserve("10.1.0.6", "e\r\neth0")
    admin_node.write("imported/10.1.0.6", str(folder))
    assert 0 == sweep_on(admin_node).freed
    assert {"10.1.0.6": "e eth0"} == admin_node.files()


@pytest.mark.parametrize("content", ["", '{"format": 1', '{"format": 99}', None])
def test_record_that_cannot_be_read_stops_nothing(
    admin_node: AdminNode, capfd: pytest.CaptureFixture[str], content: str | None
) -> None:
    file = admin_node.attach("a", "10.1.0.1")
    file.unlink()
    if content is None:
        file.mkdir()
    else:
        file.write_text(content)
    admin_node.attach("b", "10.1.0.2", lives=False)
    assert 1 == sweep_on(admin_node).freed
    assert {"10.1.0.1": "a net1"} == admin_node.files()
    warnings = capfd.readouterr().err
    assert "stale addresses swept" in warnings
    assert "a:net1.json" in warnings or "Is a directory" in warnings


def before_the_claim(patch: pytest.MonkeyPatch, deed: Callable[[], object]) -> None:
    """Let something happen between the look at an attachment and its lock."""

    def claim_later(data_dir: str, network: str, key: str) -> Claim | None:
        deed()
        return claim_idle(data_dir, network, key)

    patch.setattr(sweeping, "claim_idle", claim_later)


def test_record_that_was_damaged_meanwhile_stops_nothing(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = admin_node.attach("a", "10.1.0.1", lives=False)
    admin_node.attach("b", "10.1.0.2", lives=False)
    before_the_claim(monkeypatch, lambda: file.write_text("{"))
    assert 1 == sweep_on(admin_node).freed
    assert {"10.1.0.1": "a net1"} == admin_node.files()


def test_pod_that_was_attached_anew_meanwhile(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin_node.attach("b", "10.1.0.2", lives=False)
    before_the_claim(monkeypatch, lambda: admin_node.living.add("b"))
    assert 0 == sweep_on(admin_node).freed
    assert {"10.1.0.2": "b net1"} == admin_node.files()
    assert not (admin_node.data / "backlog").exists()


def test_busy_attachment_is_told_and_left(admin_node: AdminNode) -> None:
    admin_node.attach("b", "10.1.0.2", "10.1.0.3", lives=False)
    busy = claim(admin_node.path, "rails", "b:net1", time.monotonic() + 5)
    swept = sweep_on(admin_node)
    busy.close()
    assert (0, 2) == (swept.freed, swept.kept)
    assert {"10.1.0.2", "10.1.0.3"} == set(admin_node.files())


class Crowd:
    """Work that finds no room so many times, or fails for another reason."""

    def __init__(self, *errors: CniError) -> None:
        self.errors = [*errors]
        self.times = 0

    def work(self) -> str:
        self.times += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def crowded() -> ExhaustedError:
    return ExhaustedError(NO_ADDRESS, "it is full", "remove pods")


def test_crowd_is_swept_once(admin_node: AdminNode) -> None:
    admin_node.attach("b", "10.1.0.2", lives=False)
    crowd = Crowd(crowded())
    assert "done" == after_sweep(admin_node.path, soon(), crowd.work)
    assert (2, {}) == (crowd.times, admin_node.files())


def test_room_needs_no_sweep(admin_node: AdminNode) -> None:
    admin_node.attach("b", "10.1.0.2", lives=False)
    assert "done" == after_sweep(admin_node.path, soon(), Crowd().work)
    assert {"10.1.0.2": "b net1"} == admin_node.files()


def test_other_errors_need_no_sweep(admin_node: AdminNode) -> None:
    admin_node.attach("b", "10.1.0.2", lives=False)
    crowd = Crowd(CniError(BAD_CONF, "the share moves"))
    with pytest.raises(CniError, match="the share moves"):
        after_sweep(admin_node.path, soon(), crowd.work)
    assert (1, {"10.1.0.2": "b net1"}) == (crowd.times, admin_node.files())


@pytest.mark.parametrize(
    ("busy", "told"), [(True, "1 of them stale but busy"), (False, "1 stale freed")]
)
def test_crowd_that_stays_is_told_after_one_sweep(
    admin_node: AdminNode, *, busy: bool, told: str
) -> None:
    admin_node.attach("b", "10.1.0.2", lives=False)
    crowd = Crowd(crowded(), crowded())
    held = claim(admin_node.path, "rails", "b:net1", soon()) if busy else None
    with pytest.raises(CniError) as raised:
        after_sweep(admin_node.path, soon(), crowd.work)
    if held:
        held.close()
    assert (NO_ADDRESS, "remove pods") == (raised.value.code, raised.value.details)
    assert raised.value.message.startswith(f"it is full; {told}")
    assert 2 == crowd.times


def test_address_of_a_failed_add_is_given_at_once(admin_node: AdminNode) -> None:
    """AdminNode's records have no results, as those of an ADD that did not end well."""
    pool = Pool(Network.parse(BLOCK), prefix_length=24, start=0x0A010002, end=0x0A010002)
    admin_node.attach("b", "10.1.0.2", lives=False)
    sweep_on(admin_node)
    with opened(admin_node.data) as store:
        assert "10.1.0.2" == store.choose(pool, (), cooldown=600).address
        assert ["10.1.0.2"] == take(store, A, pool)


def test_processes_are_asked_for_once(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node has thousands, and hundreds of records."""
    made: list[Living] = []
    asked: list[str] = []

    def has(living: Living, record: Record) -> bool:
        asked.append(record.container_id)
        if living not in made:
            made.append(living)
        return False

    monkeypatch.setattr(Living, "has", has)
    for name in "abc":
        admin_node.attach(name, f"10.1.0.{ord(name)}", lives=False)
    assert 3 == sweep_on(admin_node).freed
    assert (1, ["a", "a", "b", "b", "c", "c"]) == (len(made), sorted(asked))
