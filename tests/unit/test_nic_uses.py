"""What living pods do with NICs in netns of their own is known from records alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni import nic_uses
from multinic_cni.attachments import records
from multinic_cni.attachments.claim import claim, key_of
from multinic_cni.attachments.record import NicRecord
from multinic_cni.conflicts import use_of
from multinic_cni.errors import NO_NICS, CniError
from multinic_cni.nic_uses import NicUse, begin_use
from multinic_ipam.reservation import Owner
from tests.unit.admin import BOOT, EARLIER
from tests.unit.nics import nic
from tests.unit.records import conf, record
from tests.unit.stores import opened

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.admin import AdminNode

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

INDEXES = {"rail0": 3, "rail1": 4, "rail2": 5}
L2, L3 = conf("ipvlan"), conf("ipvlan", mode="l3")
MACVLAN, PASSTHRU = conf("macvlan"), conf("macvlan", mode="passthru")
VLAN, HOST_DEVICE = conf("vlan", vlanId=5), conf("host-device")


def attach(
    node: AdminNode,
    container: str,
    template: dict[str, Any],
    *nics: str,
    network: str = "other",
    boot: str = BOOT,
    index: int = 0,
) -> None:
    """Write the record of a living attachment."""
    whole = record().but(
        network=network,
        container_id=container,
        boot_id=boot,
        pod=f"team/{container}",
        nics=tuple(
            NicRecord(
                nic=name,
                index=index or INDEXES[name],
                kind="",
                mac="",
                ifname="net1",
                confs=(template, conf("tuning")),
            )
            for name in nics
        ),
    )
    node.living.add(container)
    held = claim(node.path, network, key_of(container, "net1"), time.monotonic() + 5)
    held.write(whole)
    held.close()


def begin(
    node: AdminNode, template: dict[str, Any], *nics: str, container: str = "new", index: int = 0
) -> None:
    """Do what ADD does before it writes its record."""
    wanted = NicUse(
        network="rails",
        owner=Owner(container, "net1"),
        use=use_of(template),
        nics=[nic(name, index=index or INDEXES[name]) for name in nics],
        present=list(INDEXES),
    )
    with opened(node.data) as store:
        begin_use(store.root, node.path, wanted)


def refusal(node: AdminNode, template: dict[str, Any], *nics: str, index: int = 0) -> str:
    before = node.everything()
    with pytest.raises(CniError) as raised:
        begin(node, template, *nics, index=index)
    assert before == node.everything()
    assert NO_NICS == raised.value.code
    return raised.value.message


def noted(node: AdminNode) -> str:
    return (node.data / "uses" / "nics").read_text()


def forbid_records(patch: pytest.MonkeyPatch) -> None:
    def fail(_data_dir: str) -> None:
        pytest.fail("records were read")

    patch.setattr(records, "all_records", fail)


def test_other_ipvlan_mode(admin_node: AdminNode) -> None:
    begin(admin_node, L2, "rail0", "rail1")
    attach(admin_node, "a", L2, "rail0", "rail1")
    assert refusal(admin_node, L3, "rail2", "rail1") == (
        "NIC rail1: network rails wants ipvlan l3, but pod team/a of network other has ipvlan l2"
        " on it: all ipvlan links of a NIC share one mode"
    )
    begin(admin_node, L3, "rail2")
    admin_node.living.clear()
    begin(admin_node, L3, "rail1")
    assert (
        '{"rail0": [3, "ipvlan l2"], "rail1": [4, "ipvlan l3"], "rail2": [5, "ipvlan l3"]}'
        == noted(admin_node)
    )


@pytest.mark.parametrize(
    ("present", "wanted", "reason"),
    [
        (MACVLAN, L2, "has macvlan on it: a NIC carries ipvlan or macvlan links, never both"),
        (L3, MACVLAN, "has ipvlan l3 on it: a NIC carries macvlan or ipvlan links, never both"),
        (PASSTHRU, MACVLAN, "has macvlan passthru on it: mode passthru wants a NIC for itself"),
        (MACVLAN, PASSTHRU, "has macvlan on it: mode passthru wants a NIC for itself"),
        (PASSTHRU, PASSTHRU, "has macvlan passthru on it: mode passthru wants a NIC for itself"),
        (MACVLAN, HOST_DEVICE, "has macvlan on it: they would lose the NIC"),
        (VLAN, HOST_DEVICE, "has vlan on it: they would lose the NIC"),
    ],
)
def test_uses_that_do_not_go_together(
    admin_node: AdminNode, present: dict[str, Any], wanted: dict[str, Any], reason: str
) -> None:
    begin(admin_node, present, "rail0", container="a")
    attach(admin_node, "a", present, "rail0")
    assert refusal(admin_node, wanted, "rail0").endswith(f"pod team/a of network other {reason}")


@pytest.mark.parametrize(
    ("present", "wanted"),
    [
        (MACVLAN, conf("macvlan", mode="private")),
        (L3, conf("aws-ipvlan", mode="l3")),
        (L2, conf("ipvlan", mode="l2")),
        (MACVLAN, VLAN),
        (VLAN, L3),
        (PASSTHRU, VLAN),
        (HOST_DEVICE, MACVLAN),  # it is here: it was given back, whatever the record says
        (HOST_DEVICE, HOST_DEVICE),
        (conf("bridge"), L2),
        (conf("ipvlan", linkInContainer=True), MACVLAN),
    ],
)
def test_uses_that_go_together(
    admin_node: AdminNode, present: dict[str, Any], wanted: dict[str, Any]
) -> None:
    begin(admin_node, present, "rail0", container="a")
    attach(admin_node, "a", present, "rail0")
    begin(admin_node, wanted, "rail0")


def test_same_use_reads_one_small_file(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(admin_node, L2, "rail0", "rail1")
    before = admin_node.everything()
    forbid_records(monkeypatch)
    begin(admin_node, L2, "rail0")
    begin(admin_node, L2, "rail1", "rail0")
    begin(admin_node, VLAN, "rail0")
    assert before == admin_node.everything()


@pytest.mark.parametrize(
    "content",
    [
        *(None, "", "{", "[]", "7", '{"rail0": 5}', '{"rail0": "ipvlan l3"}', '{"rail0": []}'),
        *('{"rail0": null}', '{"rail0": [3]}', '{"rail0": ["ipvlan l3", 3]}'),
        '{"rail0": [3, "ipvlan l3", 1]}',
    ],
)
def test_where_nothing_is_known_the_records_are(admin_node: AdminNode, content: str | None) -> None:
    """After an upgrade, or with a file that was lost or damaged."""
    attach(admin_node, "a", L2, "rail0")
    if content is not None:
        admin_node.write("uses/nics", content)
    assert "pod team/a of network other has ipvlan l2" in refusal(admin_node, L3, "rail0")
    begin(admin_node, L2, "rail0")
    assert '{"rail0": [3, "ipvlan l2"]}' == noted(admin_node)


@pytest.mark.parametrize("place", ["uses", "uses/nics"])
def test_link_in_the_files_place_is_not_followed(admin_node: AdminNode, place: str) -> None:
    elsewhere = admin_node.data.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "nics").write_text('{"rail0": [3, "ipvlan l3"]}')
    planted = admin_node.data / place
    planted.parent.mkdir(exist_ok=True)
    planted.symlink_to(elsewhere if place == "uses" else elsewhere / "nics")
    attach(admin_node, "a", L2, "rail0")
    assert "ipvlan l2" in refusal(admin_node, L3, "rail0")


def test_note_that_cannot_be_written_stops_the_call(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the old note would let a third call pass that does not go with this one."""
    begin(admin_node, L2, "rail0")

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("multinic_ipam.folders.Folder.write", full)
    with pytest.raises(OSError, match="No space"):
        begin(admin_node, L3, "rail0")


def test_namesake_is_another_nic(admin_node: AdminNode) -> None:
    """The NIC that the pod is on has gone, and another one has its name."""
    begin(admin_node, L2, "rail0")
    attach(admin_node, "a", L2, "rail0")
    begin(admin_node, L3, "rail0", index=9)
    assert '{"rail0": [9, "ipvlan l3"]}' == noted(admin_node)
    # The old one is back: the note is the other's, the record is not.
    assert "ipvlan l2" in refusal(admin_node, L3, "rail0")


def test_nic_that_was_renamed_has_its_links_still(admin_node: AdminNode) -> None:
    begin(admin_node, L2, "rail0")
    attach(admin_node, "a", L2, "rail0")
    message = refusal(admin_node, L3, "fab0", index=INDEXES["rail0"])
    assert "NIC fab0: network rails wants ipvlan l3, but pod team/a" in message


def test_nics_that_have_gone_are_forgotten(admin_node: AdminNode) -> None:
    admin_node.write("uses/nics", '{"vf17": [99, "macvlan"], "rail1": [4, "macvlan"]}')
    begin(admin_node, MACVLAN, "rail0")
    assert '{"rail1": [4, "macvlan"], "rail0": [3, "macvlan"]}' == noted(admin_node)


def test_vlan_makes_host_device_look_at_the_records(admin_node: AdminNode) -> None:
    """VLANs are not noted: they go with all else."""
    begin(admin_node, HOST_DEVICE, "rail0", "rail1")
    begin(admin_node, VLAN, "rail0", container="a")
    assert '{"rail1": [4, "host-device"]}' == noted(admin_node)
    attach(admin_node, "a", VLAN, "rail0")
    assert "has vlan on it" in refusal(admin_node, HOST_DEVICE, "rail1", "rail0")


def test_vlan_alone_leaves_nothing(admin_node: AdminNode) -> None:
    begin(admin_node, VLAN, "rail0")
    assert not (admin_node.data / "uses").exists()


def test_others_are_no_concern(admin_node: AdminNode) -> None:
    """Pods of other NICs and earlier boots, records that nobody can read, and without confs."""
    attach(admin_node, "a", L2, "rail1")
    attach(admin_node, "b", L2, "rail0", boot=EARLIER)
    attach(admin_node, "c", L2, "rail0", network="third")
    admin_node.record_of("third", "c").write_text("{")
    admin_node.record("d", "10.1.0.52")
    begin(admin_node, L3, "rail0")


def test_own_record_is_no_concern(admin_node: AdminNode) -> None:
    """Of a first try that found a crowd after its record was written."""
    attach(admin_node, "new", PASSTHRU, "rail0", network="rails")
    begin(admin_node, PASSTHRU, "rail0")
    assert "team/new" in refusal_for_another(admin_node)


def refusal_for_another(node: AdminNode) -> str:
    with pytest.raises(CniError) as raised:
        begin(node, PASSTHRU, "rail0", container="another")
    return raised.value.message


def test_refusal_names_the_container_where_no_pod_is_known(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    nameless = record().but(network="other", container_id="c0ffee", boot_id=BOOT, pod="")
    admin_node.living.add("c0ffee")
    monkeypatch.setattr(nic_uses, "_records_of_others", lambda *_: [nameless])
    assert "pod c0ffee of network other has macvlan" in refusal(admin_node, L2, "rail0")


def test_file_is_the_stores_own(admin_node: AdminNode) -> None:
    begin(admin_node, L2, "rail0")
    file: Path = admin_node.data / "uses" / "nics"
    assert 0o600 == file.stat().st_mode & 0o777
    assert ["nics"] == [each.name for each in file.parent.iterdir()]
