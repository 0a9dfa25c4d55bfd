"""The first call after a boot, by the marker and the records that it finds."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from multinic_cni import host
from multinic_ipam.networks import Network
from multinic_ipam.pools import Pool
from multinic_ipam.refusals import PoolExhaustedError
from tests.unit.admin import BLOCK, BOOT, EARLIER, FOLDER, AdminNode
from tests.unit.clocks import clock_of_the_store
from tests.unit.stores import A, number, opened, take
from tests.unit.verbs import first_call, work_off

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


@pytest.fixture
def node(admin_node: AdminNode) -> AdminNode:
    """Return a node after a boot; pod a was attached before it."""
    admin_node.attach("a", "10.1.0.1", boot=EARLIER)
    admin_node.write("boot", EARLIER)
    return admin_node


def waiting(node: AdminNode) -> list[str]:
    file = node.data / "backlog"
    return file.read_text().splitlines() if file.exists() else []


def boot_marker(node: AdminNode) -> str:
    return (node.data / "boot").read_text()


def test_everything_of_an_earlier_boot_is_freed(node: AdminNode) -> None:
    """With a marker, what no record of this boot names: orphans, torn and imported files too."""
    node.reserve("10.1.0.2", "orphan\r\nnet1")
    node.reserve("10.1.0.3", "")
    node.reserve("10.1.0.4", "e\r\neth0")
    node.write("imported/10.1.0.4", str(node.host_local_folder()))
    first_call(node)
    assert {} == node.files()
    assert ["rails/a:net1"] == waiting(node)
    assert BOOT == boot_marker(node)
    work_off(node)
    assert not node.record_of("rails", "a").exists()


def test_once_for_a_boot(node: AdminNode) -> None:
    first_call(node)
    node.attach("b", "10.1.0.1")
    node.reserve("10.1.0.2", "orphan\r\nnet1")
    before = node.everything()
    first_call(node)
    assert before == node.everything()


@pytest.mark.parametrize("marker", ["", "\n", "torn-mark"])
def test_damaged_marker_is_an_earlier_boots(node: AdminNode, marker: str) -> None:
    """A power cut may leave it empty: there was one."""
    node.write("boot", marker)
    node.reserve("10.1.0.2", "orphan\r\nnet1")
    node.record("torn", "10.1.0.3").write_text("")
    first_call(node)
    assert {} == node.files()
    assert {"rails/a:net1", "rails/torn:net1"} == set(waiting(node))
    assert BOOT == boot_marker(node)


def test_without_a_marker_records_decide_alone(node: AdminNode) -> None:
    """A release before this one wrote none: its pods live, and its orphans may be pods'."""
    (node.data / "boot").unlink()
    node.attach("b", "10.1.0.2")
    node.attach("torn", "10.1.0.3").write_text("")
    node.reserve("10.1.0.4", "orphan\r\nnet1")
    first_call(node)
    assert {"10.1.0.2": "b net1", "10.1.0.3": "torn net1", "10.1.0.4": "orphan net1"} == (
        node.files()
    )
    assert ["rails/a:net1"] == waiting(node)
    assert BOOT == boot_marker(node)


def test_record_of_this_boot_keeps_its_addresses(node: AdminNode) -> None:
    """The call that attached it was killed before it wrote the marker, or the marker was lost."""
    node.attach("b", "10.1.0.2")
    node.record("a", "10.1.0.1", boot=EARLIER)
    first_call(node)
    assert {"10.1.0.2": "b net1"} == node.files()


def test_name_that_has_records_of_both_boots_keeps_what_it_has(node: AdminNode) -> None:
    """In two networks with one block: the file says neither which."""
    node.record("a", "10.1.0.1", network="renamed")
    first_call(node)
    assert {"10.1.0.1": "a net1"} == node.files()
    assert ["rails/a:net1"] == waiting(node)


def test_record_of_a_later_release_is_this_boots(node: AdminNode) -> None:
    node.attach("later", "10.1.0.2").write_text('{"format": 99}')
    first_call(node)
    assert {"10.1.0.2": "later net1"} == node.files()
    assert ["rails/a:net1"] == waiting(node)


def put_folder(file: Path) -> None:
    file.mkdir()


def put_link(file: Path) -> None:
    file.symlink_to("/etc/hostname")


def put_socket(file: Path) -> None:
    os.mknod(file, stat.S_IFSOCK | 0o600)


def put_link_to_itself(file: Path) -> None:
    file.symlink_to(file.name)


@pytest.mark.parametrize(
    "put", [put_folder, put_link, put_socket, put_link_to_itself], ids=lambda put: put.__name__
)
def test_what_is_no_file_stands_in_nobodys_way(
    node: AdminNode, put: Callable[[Path], None]
) -> None:
    put(node.data / "pools" / FOLDER / "10.1.0.0")  # it comes first
    first_call(node)
    assert {"10.1.0.0"} == {each.name for each in (node.data / "pools" / FOLDER).iterdir()}
    assert BOOT == boot_marker(node)


def test_pipe_holds_nobody_and_goes_as_an_empty_file(node: AdminNode) -> None:
    os.mkfifo(node.data / "pools" / FOLDER / "10.1.0.0")
    first_call(node)
    assert [] == [*(node.data / "pools" / FOLDER).iterdir()]


RESTING = Pool(
    Network.parse(BLOCK), prefix_length=24, start=number("10.1.0.1"), end=number("10.1.0.1")
)


@pytest.mark.parametrize(("up", "rests"), [(599, True), (601, False)])
def test_freed_addresses_rest_since_the_boot(
    node: AdminNode, monkeypatch: pytest.MonkeyPatch, up: float, *, rests: bool
) -> None:
    """The first call may come hours after it: nobody had them meanwhile."""
    clock_of_the_store(monkeypatch).advance(up)  # it begins with the boot
    first_call(node)
    with opened(node.data) as store:
        if rests:
            with pytest.raises(PoolExhaustedError, match="1 rest for up to 600 s"):
                store.choose(RESTING, (), cooldown=600)
        else:
            assert "10.1.0.1" == store.choose(RESTING, (), cooldown=600).address
        assert ["10.1.0.1"] == take(store, A, RESTING)


def test_delegates_get_their_del_however_often_the_node_boots(
    node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_call(node)
    monkeypatch.setattr(host, "boot_id", lambda: "a-later-boot")
    first_call(node)
    assert {"rails/a:net1"} == set(waiting(node))
    for _ in range(2):
        work_off(node)
    assert [] == waiting(node)
    assert not node.record_of("rails", "a").exists()
