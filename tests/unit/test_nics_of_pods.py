"""`multinic-cni nics`: what pods have of a node's NICs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.machines import machine
from tests.unit.records import attach, say_boot
from tests.unit.test_nics_command import listed, run, table
from tests.unit.trees import tree_of

if TYPE_CHECKING:
    from pathlib import Path


def test_what_pods_have_of_a_nic_that_was_renamed_is_counted(tmp_path: Path) -> None:
    """Its index stays, as ADD counts it."""
    machine("laptop", tmp_path)
    folder = tmp_path / "laptop"
    say_boot(folder)
    index = listed(folder)["wlp1s0"]["index"]
    attach(folder / "var/lib/cni/multinic", "a", "wlan0", 100, index=index)
    row = table(folder)["wlp1s0"]
    assert ("1", "100 Mbit/s") == (row["PODS"], row["TAKEN"])


def test_what_pods_have_taken(tmp_path: Path) -> None:
    machine("laptop", tmp_path)
    folder = tmp_path / "laptop"
    data = folder / "srv/state"
    for pod, nic, megabits in (("a", "wlp1s0", 100), ("b", "wlp1s0", 150), ("c", "docker0", 0)):
        attach(data, pod, nic, megabits)
    assert {"PODS", "TAKEN"}.isdisjoint(table(folder, "--data-dir", "/srv/state")["wlp1s0"])
    path = "proc/sys/kernel/random/boot_id"
    note = f"note: attachments are not counted: no {folder}/{path} says which of them live"
    assert note in run(folder, "--data-dir", "/srv/state")
    say_boot(folder)
    before = tree_of(folder)
    rows = table(folder, "--data-dir", "/srv/state")
    assert ("2", "250 Mbit/s") == (rows["wlp1s0"]["PODS"], rows["wlp1s0"]["TAKEN"])
    assert ("1", "") == (rows["docker0"]["PODS"], rows["docker0"]["TAKEN"])  # so it is a NIC
    assert "veth1a2b3c4" not in rows
    assert before == tree_of(folder)


def test_no_data_directory_and_none_that_can_be_read(tmp_path: Path) -> None:
    machine("laptop", tmp_path)
    folder = tmp_path / "laptop"
    assert "note" not in run(folder)
    (folder / "var/lib/cni/multinic").mkdir(parents=True)
    (folder / "var/lib/cni/multinic/attachments").write_text("no folder")
    assert "note: attachments are not counted: Not a directory " in run(folder)
