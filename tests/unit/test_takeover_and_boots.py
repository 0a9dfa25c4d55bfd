"""`ipam import` around a boot: no pod of host-local's survives one, none of a new one is past."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.admin import BLOCK, BOOT, EARLIER, AdminNode
from tests.unit.commands import run
from tests.unit.verbs import first_call

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

IMPORTED = {"10.1.0.2": "a eth0"}


@pytest.fixture
def source(admin_node: AdminNode) -> Path:
    folder = admin_node.host_local_folder()
    (folder / "10.1.0.2").write_bytes(b"a\r\neth0")
    (folder / "last_reserved_ip.0").write_text("10.1.0.2")
    (folder / "lock").write_text("")
    return folder


def take_over(source: Path, node: AdminNode, *words: str) -> int:
    return run("ipam", "import", str(source), "--subnet", BLOCK, *words, node=node)[0]


@pytest.mark.parametrize("marker", [EARLIER, "", None])
def test_first_call_after_a_boot_takes_over_none_of_the_past(
    admin_node: AdminNode, source: Path, marker: str | None
) -> None:
    """Import may be the first call; the next one must not take its addresses for stale."""
    admin_node.attach("old", "10.1.0.9", boot=EARLIER)
    (admin_node.data / "boot").unlink()
    if marker is not None:
        admin_node.write("boot", marker)
    assert 0 == take_over(source, admin_node)
    assert BOOT == (admin_node.data / "boot").read_text()
    assert IMPORTED == admin_node.files()
    first_call(admin_node)
    assert IMPORTED == admin_node.files()
    assert "rails/old:net1\n" == (admin_node.data / "backlog").read_text()


def test_boot_while_they_are_ours_frees_them(admin_node: AdminNode, source: Path) -> None:
    take_over(source, admin_node)
    admin_node.write("boot", EARLIER)
    first_call(admin_node)
    assert {} == admin_node.files()
    assert [] == [*(admin_node.data / "imported").iterdir()]


def test_dry_run_after_a_boot_reclaims_nothing(admin_node: AdminNode, source: Path) -> None:
    admin_node.attach("old", "10.1.0.9", boot=EARLIER)
    admin_node.write("boot", EARLIER)
    before = admin_node.everything()
    assert 0 == take_over(source, admin_node, "--dry-run")
    assert before == admin_node.everything()
