"""What counts against a NIC: a prober's word, the kernel's, and what RDMA needs."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni import host
from multinic_cni.attachments.claim import claim, key_of
from multinic_cni.choosing import choose
from multinic_cni.errors import NO_NICS, CniError
from multinic_cni.host import Host
from multinic_cni.judging import NodeJudge
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.records import record

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.attachments.record import Record
    from multinic_selectors.nics import Nic

BOOT = "this-boot"
ADDRESS = "0000:3b:00.2"
RAIL0, DOWN = nic("rail0", index=3), nic("rail1", index=4, up=False, carrier=False)


class Tree:
    """A node's files, below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, content: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def say(self, nic: str, *, healthy: bool, reason: str = "BER", until: float = 1e10) -> None:
        words = {"healthy": healthy, "reason": reason, "expires": until}
        self.write(f"run/multinic-cni/health/{nic}.json", json.dumps(words))

    def rdma(self, nic: str, device: str, state: str) -> None:
        (self.root / f"sys/class/net/{nic}/device/infiniband/{device}").mkdir(parents=True)
        self.write(f"sys/class/infiniband/{device}/ports/1/state", state)

    def netns_mode(self, letter: str) -> None:
        self.write("sys/module/ib_core/parameters/netns_mode", f"{letter}\n")

    def host(self, *nics: Nic) -> Host:
        return Host(str(self.root), nics=nics or (RAIL0, DOWN), name="node-a")

    def judge(self, *nics: Nic, **policy: Any) -> NodeJudge:  # noqa: ANN401 - words of a conf
        return NodeJudge(net_conf(attachPolicy=policy), self.host(*nics))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_without_a_prober_the_kernel_has_the_word(tree: Tree) -> None:
    assert ["", "it is down"] == [tree.judge().trouble(each) for each in (RAIL0, DOWN)]


def test_probers_go_before_the_kernel(tree: Tree) -> None:
    tree.say("rail0", healthy=False)
    tree.say("rail1", healthy=True)
    judge = tree.judge()
    file = f"{tree.root}/run/multinic-cni/health/rail0.json"
    assert [f"BER (says {file})", ""] == [judge.trouble(each) for each in (RAIL0, DOWN)]
    assert [f"BER (says {file})", ""] == [judge.lasting_trouble(each) for each in (RAIL0, DOWN)]


def test_expired_or_damaged_word_leaves_it_to_the_kernel(tree: Tree) -> None:
    tree.say("rail0", healthy=False, until=1)
    tree.write("run/multinic-cni/health/rail1.json", "\x00{")
    assert ["", "it is down"] == [tree.judge().trouble(each) for each in (RAIL0, DOWN)]


def test_paths_name_the_folder(tree: Tree) -> None:
    words = json.dumps({"healthy": False, "expires": 1e10})
    tree.write("etc/cni/multinic/node.json", json.dumps({"paths": {"health": "/srv/probes"}}))
    tree.write("srv/probes/rail0.json", words)
    assert tree.judge().trouble(RAIL0) == (
        f"it is unhealthy (says {tree.root}/srv/probes/rail0.json)"
    )


def test_rdma_port_must_be_active(tree: Tree) -> None:
    tree.rdma("rail0", "mlx5_0", "1: DOWN")
    assert "" == tree.judge().trouble(RAIL0)
    judge = tree.judge(rdma=True)
    assert "no RDMA port of it is ACTIVE: mlx5_0/1 is DOWN" == judge.trouble(RAIL0)
    assert "" == judge.lasting_trouble(RAIL0)  # it may wake up with the NIC
    tree.write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n")
    assert "" == judge.trouble(RAIL0)


def test_rdma_needs_a_device(tree: Tree) -> None:
    judge, reason = tree.judge(rdma=True), "it has no RDMA device (attachPolicy.rdma)"
    assert [reason, "it is down"] == [judge.trouble(each) for each in (RAIL0, DOWN)]
    assert [reason, reason] == [judge.lasting_trouble(each) for each in (RAIL0, DOWN)]
    tree.say("rail0", healthy=True)
    assert "" == tree.judge(rdma=True).trouble(RAIL0)


def chosen(tree: Tree, **conf: Any) -> list[str]:  # noqa: ANN401 - words of a conf
    selection = choose(net_conf(masterNets=None, **conf), tree.host(), list, dict)
    return [choice.nic.name for choice in selection.chosen]


def refusal(tree: Tree, **conf: Any) -> str:  # noqa: ANN401 - words of a conf
    with pytest.raises(CniError) as raised:
        chosen(tree, **conf)
    assert NO_NICS == raised.value.code
    return raised.value.message


@pytest.mark.parametrize("unhealthy", ["skip", "fail"])
def test_nic_that_goes_into_the_pod_may_be_down_but_not_sick(tree: Tree, unhealthy: str) -> None:
    conf: dict[str, Any] = {
        "plugin": {"type": "host-device"},
        "masters": ["rail1"],
        "attachPolicy": {"unhealthy": unhealthy},
    }
    assert ["rail1"] == chosen(tree, **conf)
    tree.say("rail1", healthy=False, reason="flapping")
    assert f"flapping (says {tree.root}/run/multinic-cni/health/rail1.json)" in refusal(
        tree, **conf
    )
    tree.say("rail1", healthy=False, until=1)
    assert ["rail1"] == chosen(tree, **conf)


def test_port_is_told_with_its_owners_kind(tree: Tree) -> None:
    port = nic("rail0", index=3, enslaved_to="br0")
    host = tree.host(port, nic("br0", index=9, kind="bridge"))
    with pytest.raises(CniError) as raised:
        choose(net_conf(masterNets=None, masters=["rail0"]), host, list, dict)
    assert "NIC rail0: it is a port of bridge br0, which takes its frames: macvlan can have" in (
        raised.value.message
    )


def test_rdma_netns_mode_is_looked_at(tree: Tree) -> None:
    tree.rdma("rail0", "mlx5_0", "4: ACTIVE")
    tree.netns_mode("N")
    wanted: dict[str, Any] = {"masters": ["rail0"], "attachPolicy": {"rdma": True}}
    assert "its RDMA mlx5_0 would stay in the node's netns" in refusal(tree, **wanted)
    tree.netns_mode("Y")
    assert ["rail0"] == chosen(tree, **wanted)


# Where a device is whose NIC is not here.


@pytest.fixture
def this_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "boot_id", lambda: BOOT)
    monkeypatch.setattr(host.Host, "is_this_node", True)


def without_nic(tree: Tree, device: str = ADDRESS) -> str:
    given = {"plugin": {"type": "host-device"}, "deviceID": device}
    message = refusal(tree, dataDir=str(tree.root / "data"), **given)
    expected = f"the device {device} (pciBusID or deviceID) has no NIC on this node: "
    assert expected == message[: len(expected)]
    return message[len(expected) :]


def bind(tree: Tree, driver: str) -> None:
    folder = tree.root / "sys/bus/pci/devices" / ADDRESS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "driver").symlink_to(f"../../drivers/{driver}")


@pytest.mark.usefixtures("this_boot")
def test_device_that_is_not_there(tree: Tree) -> None:
    assert "there is no such device" == without_nic(tree)
    assert without_nic(tree, "mlx5_core.sf.4") == (
        "it is not there, or its NIC is in another netns"
    )


@pytest.mark.usefixtures("this_boot")
def test_device_without_a_driver(tree: Tree) -> None:
    (tree.root / "sys/bus/pci/devices" / ADDRESS).mkdir(parents=True)
    assert "no driver is bound to it" == without_nic(tree)


@pytest.mark.usefixtures("this_boot")
@pytest.mark.parametrize(
    ("driver", "why"),
    [
        ("vfio-pci", "its driver is vfio-pci, which makes none"),
        (
            "mlx5_core",
            "its driver is mlx5_core; somebody else has moved its NIC into another netns",
        ),
    ],
)
def test_device_with_a_driver(tree: Tree, driver: str, why: str) -> None:
    bind(tree, driver)
    assert why == without_nic(tree)


def write(tree: Tree, whole: Record) -> None:
    key = key_of(whole.container_id, whole.ifname)
    held = claim(str(tree.root / "data"), whole.network, key, time.monotonic() + 5)
    held.write(whole)
    held.close()


@pytest.mark.usefixtures("this_boot")
@pytest.mark.parametrize(
    "told",
    [
        {"pci": ADDRESS},
        {"confs": ({"type": "host-device", "cniVersion": "1.0.0", "pciBusID": ADDRESS.upper()},)},
        {"confs": ({"type": "sriov", "cniVersion": "1.0.0", "deviceID": ADDRESS},)},
        {
            "confs": (
                {
                    "type": "host-device",
                    "cniVersion": "1.0.0",
                    "runtimeConfig": {"deviceID": ADDRESS},
                },
            )
        },
    ],
)
def test_device_of_a_pod(tree: Tree, told: dict[str, Any]) -> None:
    bind(tree, "mlx5_core")
    whole = record()
    mine = whole.nics[1].but(**told)
    write(tree, whole.but(boot_id=BOOT, nics=(whole.nics[0], mine)))
    assert "pod default/pod-a of network rails has it" == without_nic(tree)
    assert "somebody else" in without_nic_after(tree, whole.but(boot_id="earlier", nics=(mine,)))


def test_pods_of_this_node_are_no_matter_of_another_nodes_tree(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "boot_id", lambda: BOOT)
    bind(tree, "mlx5_core")
    whole = record()
    write(tree, whole.but(boot_id=BOOT, nics=(whole.nics[0].but(pci=ADDRESS),)))
    assert "somebody else" in without_nic(tree)


def without_nic_after(tree: Tree, whole: Record) -> str:
    write(tree, whole)
    return without_nic(tree)
