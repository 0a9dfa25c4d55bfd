"""`multinic-cni explain` where this node's own pods are in the way, or its store out of reach."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from multinic_cni import host
from multinic_cni.admin import forecast
from multinic_cni.attachments.claim import claim, key_of
from multinic_cni.attachments.record import NicRecord
from multinic_cni.cli.app import app
from multinic_cni.conf.node import NodeFile
from multinic_cni.errors import BAD_CONF, IO_FAILURE, NO_NICS
from multinic_ipam.preview import Preview
from multinic_selectors import attributes
from tests.unit.confs import document
from tests.unit.nics import nic
from tests.unit.rails import BLOCKS
from tests.unit.records import attach as attach_bandwidth
from tests.unit.records import conf as delegate_conf
from tests.unit.records import record
from tests.unit.trees import tree_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.admin import AdminNode

SHARED: dict[str, Any] = {"subnet": "192.168.0.0/16", "ipam": BLOCKS}


@pytest.fixture(autouse=True)
def node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nics = [nic("rail0", "10.1.0.5/24", index=3), nic("rail1", "10.2.0.6/24", index=4)]
    monkeypatch.setattr(host, "nics", lambda: nics)
    monkeypatch.setattr(host, "name", lambda: "node-a")
    monkeypatch.setattr(attributes, "SYSFS", str(tmp_path / "sys"))
    monkeypatch.setattr(host, "read_node", lambda _path: NodeFile())


def run(admin_node: AdminNode, **conf: object) -> tuple[int, dict[str, Any]]:
    file = admin_node.data.parent / "20-rails.conf"
    file.write_text(json.dumps(document(dataDir=admin_node.path, **conf)))
    before = tree_of(admin_node.data)
    ended = CliRunner().invoke(app, ["explain", "--json", str(file)])
    assert before == tree_of(admin_node.data)
    (found,) = json.loads(ended.stdout)
    return ended.exit_code, found


def attach(admin_node: AdminNode, pod: str, kind: str, mode: str) -> None:
    """Record a living pod that has an interface of a kind on rail0."""
    own = NicRecord(
        nic="rail0",
        index=3,
        kind="",
        mac="",
        ifname="net1",
        confs=(delegate_conf(kind, master="rail0", mode=mode),),
    )
    held = claim(admin_node.path, "other", key_of(pod, "net1"), time.monotonic() + 5)
    whole = record().but(network="other", container_id=pod, pod=f"team/{pod}", nics=(own,))
    held.write(whole.but(boot_id=host.boot_id()))
    held.close()
    admin_node.living.add(pod)


def test_other_pods_use_of_a_nic(admin_node: AdminNode) -> None:
    attach(admin_node, "a", "ipvlan", mode="l2")
    status, found = run(admin_node)
    assert (1, NO_NICS) == (status, found["error"]["code"])
    message = "NIC rail0: network rails wants macvlan, but pod team/a of network other has ipvlan"
    assert found["error"]["msg"].startswith(message)
    status, found = run(admin_node, attachPolicy={"nics": 1})
    assert (0, ["rail1"]) == (status, [each["nic"] for each in found["nics"]])
    (refused,) = (each["reason"] for each in found["refused"] if each["nic"] == "rail0")
    assert f"NIC rail0: {refused}" == (
        message + " l2 on it: a NIC carries macvlan or ipvlan links, never both"
    )
    admin_node.living.clear()
    assert 0 == run(admin_node)[0]


def test_share_that_has_moved_below_a_living_pod(admin_node: AdminNode) -> None:
    """Node 1 has 192.168.1.0/24 of the first NIC's part, node 5 has 192.168.5.0/24."""
    admin_node.record("b", "192.168.1.70", block="192.168.1.0/24")
    text = admin_node.record_of("rails", "b").read_text()
    admin_node.record_of("rails", "b").write_text(text.replace("rail1", "rail0"))
    status, found = run(admin_node, hosts={"node-a": 1}, **SHARED)
    assert (0, ["192.168.1.1/18"]) == (status, found["nics"][0]["addresses"])
    status, found = run(admin_node, hosts={"node-a": 5}, **SHARED)
    assert (1, BAD_CONF) == (status, found["error"]["code"])
    assert "but pod team/b still has 192.168.1.70: delete such pods first" in found["error"]["msg"]


def test_what_others_have_taken(admin_node: AdminNode) -> None:
    attach(admin_node, "a", "macvlan", mode="bridge")
    status, found = run(admin_node)
    assert (0, [1, 0]) == (status, [each["attachments"] for each in found["nics"]])


def test_store_that_only_root_may_read(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_preview: Preview) -> Preview:
        raise PermissionError(13, "Permission denied", admin_node.path)

    monkeypatch.setattr(Preview, "__enter__", refuse)
    status, found = run(admin_node, hosts={"node-a": 1}, **SHARED)
    assert (0, [[], []]) == (status, [each["addresses"] for each in found["nics"]])
    (note,) = found["notes"]
    assert note.startswith("addresses are not told: cannot use the address store: Permission den")
    assert note.endswith("; are you root?")


def test_records_that_cannot_be_read(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are asked for by who counts; others only miss the figures."""
    admin_node.write("attachments", "no folder")
    monkeypatch.setattr(forecast, "_ask_store", lambda *_: None)
    status, found = run(admin_node)
    assert 0 == status
    (note,) = found["notes"]
    assert note.startswith("cannot count what attached pods have taken: Not a directory")
    status, found = run(admin_node, attachPolicy={"strategy": "topology"})
    assert (1, IO_FAILURE) == (status, found["error"]["code"])


def test_pods_that_went_without_a_del_count_until_nics_fall_short(
    admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ADD looks who lives only then, and explain says what ADD would do."""
    speeds = {"rail0": 100_000, "rail1": 100_000}
    monkeypatch.setattr(host, "read_node", lambda _path: NodeFile(speeds=speeds))
    for pod, name in (("lives", "rail0"), ("gone", "rail1")):
        attach_bandwidth(admin_node.data, pod, name, 80_000, host.boot_id())
    admin_node.living.add("lives")
    policy = {"strategy": "costOpt", "target": "20G"}
    status, found = run(admin_node, attachPolicy=policy)
    assert (0, ["rail0"]) == (status, [each["nic"] for each in found["nics"]])
    assert ["20 Gbit/s of 100 Gbit/s are free"] == [each["why"] for each in found["nics"]]
    status, found = run(admin_node, attachPolicy=policy | {"target": "60G"})
    assert (0, ["rail1"]) == (status, [each["nic"] for each in found["nics"]])
    assert [0] == [each["attachments"] for each in found["nics"]]
    status, found = run(admin_node, attachPolicy=policy | {"target": "121G"})
    assert (1, NO_NICS) == (status, found["error"]["code"])
    assert "target 121 Gbit/s cannot be reached: 120 Gbit/s are free" == found["error"]["msg"]
