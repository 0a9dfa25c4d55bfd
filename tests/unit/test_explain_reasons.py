"""What `multinic-cni explain` says for and against each NIC, on the machines of tests/machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from multinic_cni.errors import NO_NICS
from tests.unit.confs import document
from tests.unit.explaining import NEAR_DEVICES, attach_pods, dgx_in, names, printed, run
from tests.unit.machines import machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def dgx(tmp_path: Path) -> Path:
    return dgx_in(tmp_path)


def test_every_nic_is_told_where_too_few_are_left(dgx: Path) -> None:
    """Rails 0 and 1 are usable, the third is down, and a fourth is none."""
    links = dgx / "ip-link.json"
    documents = json.loads(links.read_text())
    for link in documents:
        if link["ifname"] == "enp75s0":
            link["flags"].remove("UP")
    links.write_text(json.dumps(documents))
    masters = ["rail0", "rail1", "rail2", "rail9"]
    conf = document(masterNets=None, masters=masters, attachPolicy={"minNics": 4})
    status, found = run(dgx, conf)
    assert (1, NO_NICS) == (status, found["error"]["code"])
    assert "4 NICs needed, 2 usable on this node" == found["error"]["msg"]
    assert ([], [{"entry": "rail9", "reason": "no NIC has this name"}]) == (
        found["nics"],
        found["missing"],
    )
    reasons = {each["nic"]: each["reason"] for each in found["refused"]}
    assert {link["ifname"] for link in documents} == set(reasons)
    assert ["usable", "usable", "it is down"] == [
        reasons[nic] for nic in ("enp12s0", "enp18s0", "enp75s0")
    ]
    lines = printed(dgx, conf)
    assert "not taken: enp18s0: usable" in lines
    assert "not taken: enp75s0: it is down" in lines
    assert "missing: rail9: no NIC has this name" in lines
    assert "error: 4 NICs needed, 2 usable on this node" in lines


def test_every_nic_is_told_where_a_conflict_is_in_the_way(dgx: Path) -> None:
    plugin = {"type": "macvlan", "mtu": 9216}
    conf = document(masterNets=None, masters=["rail0", "rail1"], plugin=plugin)
    status, found = run(dgx, conf)
    why = "mtu 9216 of macvlan is more than the NIC's own, 9000"
    assert (1, f"NICs enp12s0, enp18s0: {why}") == (status, found["error"]["msg"])
    reasons = {each["nic"]: each["reason"] for each in found["refused"]}
    assert [why, why] == [reasons["enp12s0"], reasons["enp18s0"]]
    assert 12 == len(reasons)


def test_every_nic_is_told_where_a_sick_one_is_an_error(dgx: Path) -> None:
    health = dgx / "run/multinic-cni/health"
    health.mkdir(parents=True)
    word = {"healthy": False, "reason": "BER too high", "expires": "2126-12-01T12:00:00Z"}
    (health / "enp12s0.json").write_text(json.dumps(word))
    policy = {"unhealthy": "fail"}
    conf = document(masterNets=None, masters=["rail0", "rail1"], attachPolicy=policy)
    status, found = run(dgx, conf)
    assert (1, NO_NICS) == (status, found["error"]["code"])
    assert found["error"]["msg"].startswith("NIC enp12s0 is wanted, but BER too high")
    reasons = {each["nic"]: each["reason"] for each in found["refused"]}
    assert ("BER", "usable", 12) == (reasons["enp12s0"][:3], reasons["enp18s0"], len(reasons))


def test_missing_rail_of_a_pod_that_gets_others(dgx: Path) -> None:
    conf = document(masterNets=None, rails=[["rail0"], ["rail9", "rail8"], ["rail2"]])
    status, found = run(dgx, conf)
    assert (0, ["enp12s0", "enp75s0"]) == (status, names(found))
    assert [{"entry": "rail 1", "reason": "this node has no rail9 or rail8"}] == found["missing"]
    assert "missing: rail 1: this node has no rail9 or rail8" in printed(dgx, conf)


def test_why_a_nic_was_taken(dgx: Path) -> None:
    attach_pods(dgx, "enp141s0", megabits=150_000)
    attach_pods(dgx, "enp148s0", count=2)
    near = ["--devices", "0000:87:00.0,0000:90:00.0,0000:07:00.0"]
    policy = {"strategy": "topology", "nics": 3}
    _, found = run(dgx, document(**NEAR_DEVICES | {"attachPolicy": policy}), *near)
    both = "one switch with 0000:87:00.0, 0000:90:00.0"
    assert [
        ("enp12s0", "one switch with 0000:07:00.0, no attachments"),
        ("enp141s0", f"{both}, 1 attachment"),
        ("enp148s0", f"{both}, 2 attachments"),
    ] == [(each["nic"], each["why"]) for each in found["nics"]]
    conf = document(masterNets=None, masters=["rail4"], attachPolicy={"strategy": "perfOpt"})
    _, found = run(dgx, conf)
    assert ["50 Gbit/s of 200 Gbit/s are free"] == [each["why"] for each in found["nics"]]
    _, found = run(dgx, document(masterNets=None, masters=["rail4"]))
    assert [None] == [each["why"] for each in found["nics"]]


def test_near_and_far_in_words(dgx: Path) -> None:
    """With the GPU behind 01:00.0: its root complex has no other NIC, its NUMA node has."""
    policy = {"strategy": "topology", "nics": 2}
    masters = ["enp97s0f0", "enp225s0f0", "enp226s0"]
    conf = document(masterNets=None, masters=masters, attachPolicy=policy)
    _, found = run(dgx, conf, "--devices", "0000:07:00.0")
    assert [
        ("enp97s0f0", "one NUMA node with 0000:07:00.0, no attachments"),
        ("enp225s0f0", "far from the pod's devices, no attachments"),
    ] == [(each["nic"], each["why"]) for each in found["nics"]]
    _, found = run(dgx, conf)
    assert ["no attachments"] * 2 == [each["why"] for each in found["nics"]]


def test_text_of_what_others_have(dgx: Path) -> None:
    attach_pods(dgx, "enp12s0", count=2, megabits=25_000)
    policy = {"strategy": "perfOpt", "target": "100Gbps"}
    conf = document(masterNets=None, masters=["rail0"], attachPolicy=policy)
    lines = printed(dgx, conf, "--devices", "0000:07:00.0")
    heading, row = (line.split("  ") for line in lines if line.startswith(("NIC", "enp12s0")))
    cells = dict(zip(filter(None, heading), filter(None, row), strict=True))
    words = {name.strip(): text.strip() for name, text in cells.items()}
    assert ("100 Gbit/s", "2", "50 Gbit/s", "150 Gbit/s of 200 Gbit/s are free") == (
        words["TARGET"],
        words["PODS"],
        words["TAKEN"],
        words["WHY"],
    )
    assert "near 0000:07:00.0" in lines


def test_unknown_speeds_are_noted(tmp_path: Path) -> None:
    """The strategy takes them all, since none of them gives anything."""
    machine("vpc-guest-small", tmp_path)
    policy = {"strategy": "perfOpt", "target": "100Gbps"}
    conf = document(masterNets=None, masters=["ens3", "ens4"], attachPolicy=policy)
    status, found = run(tmp_path / "vpc-guest-small", conf)
    assert (0, ["ens3", "ens4"]) == (status, names(found))
    (note,) = found["notes"]
    assert "say those of ens3, ens4 in the node's node.json" in note
    file = tmp_path / "vpc-guest-small/etc/cni/multinic/node.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"speeds": {"ens4": "100G"}}')
    status, found = run(tmp_path / "vpc-guest-small", conf)
    assert (0, ["ens4"]) == (status, names(found))
    assert "notes" not in found


def test_nics_among_the_devices_do_not_count(dgx: Path) -> None:
    devices = "0000:0c:00.0,0000:87:00.0"
    status, found = run(dgx, document(**NEAR_DEVICES), "--devices", devices)
    assert (0, ["enp141s0", "enp148s0"]) == (status, names(found))
    assert ["0000:87:00.0"] == found["devices"]
    assert ["--devices 0000:0c:00.0: it is a NIC, and those of a pod do not count"] == (
        found["notes"]
    )


def test_devices_where_all_nics_are_taken(dgx: Path) -> None:
    conf = document(**NEAR_DEVICES | {"attachPolicy": {"strategy": "topology"}})
    _, found = run(dgx, conf, "--devices", "0000:87:00.0")
    (note,) = found["notes"]
    assert note.startswith("the strategy topology takes all NICs unless")
    _, found = run(dgx, conf)
    assert "notes" not in found


def test_attachments_of_a_node_whose_boot_is_unknown(dgx: Path) -> None:
    attach_pods(dgx, "enp12s0")
    (dgx / "proc/sys/kernel/random/boot_id").unlink()
    status, found = run(dgx, document(**NEAR_DEVICES), "--devices", "0000:07:00.0")
    assert (0, [0, 0]) == (status, [each["attachments"] for each in found["nics"]])
    (note,) = found["notes"]
    assert note.startswith("attachments are not counted: no ")
