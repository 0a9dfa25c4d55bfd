"""`multinic-cni explain` on the machines of tests/machines, with a pod's wishes and devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.errors import BAD_CONF, BAD_ENVIRONMENT, NO_ADDRESS, UNSUPPORTED_FIELD
from tests.unit.confs import document
from tests.unit.explaining import NEAR_DEVICES, RAILS, attach_pods, dgx_in, names, run
from tests.unit.stores import A, fill, opened, pool, take
from tests.unit.trees import tree_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def dgx(tmp_path: Path) -> Path:
    return dgx_in(tmp_path)


@pytest.mark.parametrize("device", ["0000:87:00.0", "00000000:87:00.0", "GPU-of-the-fifth"])
def test_nics_at_the_switch_of_a_gpu(dgx: Path, device: str) -> None:
    """Behind the switch at 81:00.0 are the GPUs 87 and 90, and rails 4 and 5."""
    status, found = run(dgx, document(**NEAR_DEVICES), "--devices", device)
    assert (0, ["enp141s0", "enp148s0"]) == (status, names(found))
    assert ["0000:87:00.0"] == found["devices"]
    masters = [each["delegates"][0]["master"] for each in found["nics"]]
    assert ["enp141s0", "enp148s0"] == masters
    reasons = {each["nic"]: each["reason"] for each in found["refused"]}
    rails = ("12", "18", "75", "84", "186", "204")
    others = ("enp97s0f0", "enp225s0f0", "enp226s0", "lo")
    assert {*(f"enp{rail}s0" for rail in rails), *others} == set(reasons)
    assert "neither its name nor its addresses are in masters" == reasons["enp97s0f0"]


def test_one_nic_for_each_of_two_gpus(dgx: Path) -> None:
    status, found = run(dgx, document(**NEAR_DEVICES), "--devices", "0000:07:00.0, 0000:b7:00.0")
    assert (0, ["enp12s0", "enp186s0"]) == (status, names(found))


def test_pod_asks_for_fewer(dgx: Path) -> None:
    status, found = run(dgx, document(**NEAR_DEVICES), "--nics", "1", "--devices", "0000:90:00.0")
    assert (0, ["enp141s0"]) == (status, names(found))


def test_those_with_fewest_pods_where_no_device_is_near(dgx: Path) -> None:
    attach_pods(dgx, "enp12s0")
    attach_pods(dgx, "enp75s0", count=2)
    attach_pods(dgx, "enp18s0", boot_id="an-earlier-boot")
    policy = {"strategy": "topology", "nics": 3}
    status, found = run(dgx, document(**NEAR_DEVICES | {"attachPolicy": policy}))
    assert (0, ["enp18s0", "enp84s0", "enp141s0"]) == (status, names(found))
    assert ["no devices are given (--devices), so that no NIC is near to any"] == found["notes"]
    status, found = run(dgx, document(**NEAR_DEVICES | {"attachPolicy": None}))
    assert [1, 0, 2, 0, 0, 0, 0, 0] == [each["attachments"] for each in found["nics"]]


def test_bandwidth_that_others_left(dgx: Path) -> None:
    """Of 200 Gbit/s each, pods have taken 150 of the first and 50 of the second NIC."""
    attach_pods(dgx, "enp12s0", megabits=150_000)
    attach_pods(dgx, "enp18s0", megabits=50_000)
    policy = {"strategy": "costOpt", "target": "400Gbps"}
    conf = document(masterNets=None, masters=["rail0", "rail1", "rail2"], attachPolicy=policy)
    status, found = run(dgx, conf, "--target", "180Gbps")
    assert (0, ["enp75s0"]) == (status, names(found))
    assert [180_000] == [each["megabits"] for each in found["nics"]]
    status, found = run(dgx, conf, "--target", "350Gbps")
    assert (0, ["enp18s0", "enp75s0"]) == (status, names(found))
    assert [50_000, 0] == [each["megabitsTaken"] for each in found["nics"]]
    assert 350_000 == sum(each["megabits"] for each in found["nics"])


def test_class_of_the_conf_and_an_unknown_one(dgx: Path) -> None:
    classes = {"slow": [{"driver": "igb"}]}
    masters = ["enp*", "enp226s0"]  # the uplink is to be named exactly
    conf = document(masterNets=None, masters=masters, attachPolicy={"classes": classes})
    status, found = run(dgx, conf, "--class", "slow")
    assert (0, ["enp226s0"]) == (status, names(found))
    status, found = run(dgx, conf, "--class", "fast")
    assert (1, BAD_CONF) == (status, found["error"]["code"])
    assert "unknown class 'fast'; known here: slow" == found["error"]["msg"]


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("MIG-5b9d", "--devices MIG-5b9d: the GPU of MIG-5b9d is not known: only NVIDIA's library"),
        ("0000:99:00.0", "--devices 0000:99:00.0: no PCI function of this node goes by it"),
        ("GPU-of-none", "--devices GPU-of-none: no PCI function of this node goes by it"),
        ("../../etc", "--devices ../../etc: no PCI function of this node goes by it"),
    ],
)
def test_device_that_is_not_there(dgx: Path, device: str, message: str) -> None:
    status, found = run(dgx, document(**NEAR_DEVICES), "--devices", device)
    assert (1, BAD_CONF) == (status, found["error"]["code"])
    assert found["error"]["msg"].startswith(message)


def test_wishes_that_the_conf_does_not_serve(dgx: Path) -> None:
    conf = document(masterNets=None, masters=RAILS)
    status, found = run(dgx, conf, "--devices", "0000:07:00.0")
    assert 0 == status
    assert ["the strategy none does not look at the pod's devices"] == found["notes"]
    status, found = run(dgx, conf, "--target", "10G")
    assert (1, UNSUPPORTED_FIELD) == (status, found["error"]["code"])
    assert found["error"]["msg"].startswith("args.cni.target: strategy none of this network")


def test_addresses_after_those_in_the_store(dgx: Path) -> None:
    ipam = {"type": "multi-nic-ipam", "slice": {"offset": 16, "length": 8}}
    conf = document(masterNets=["10.100.0.0/24", "10.100.1.0/24"], ipam=ipam)
    own = pool("10.100.0.0/24", start="10.100.0.16", end="10.100.0.23")
    with opened(dgx / "var/lib/cni/multinic") as store:
        for _ in range(3):
            take(store, A, own)
    before = tree_of(dgx)
    status, found = run(dgx, conf)
    assert (0, before) == (status, tree_of(dgx))
    assert [["10.100.0.19/24"], ["10.100.1.16/24"]] == [e["addresses"] for e in found["nics"]]
    own_ipam = {"type": "static", "addresses": [{"address": "10.100.0.19/24"}]}
    assert own_ipam == found["nics"][0]["delegates"][0]["ipam"]


def test_pod_of_the_conf_asks_for_an_address(dgx: Path) -> None:
    ipam = {"type": "multi-nic-ipam", "slice": {"offset": 16, "length": 8}}
    args = {"cni": {"ips": ["10.100.1.20"], "nics": 1}}
    conf = document(masterNets=["10.100.0.0/24", "10.100.1.0/24"], ipam=ipam, args=args)
    status, found = run(dgx, conf, "--nics", "2")  # beside the conf's own wishes
    assert 0 == status
    assert [["10.100.0.16/24"], ["10.100.1.20/24"]] == [e["addresses"] for e in found["nics"]]


def test_full_pool(dgx: Path) -> None:
    ipam = {"type": "multi-nic-ipam", "slice": {"offset": 16, "length": 2}}
    conf = document(masterNets=["10.100.0.0/24"], ipam=ipam)
    own = pool("10.100.0.0/24", start="10.100.0.16", end="10.100.0.17")
    with opened(dgx / "var/lib/cni/multinic") as store:
        fill(store, own)
    before = tree_of(dgx)
    status, found = run(dgx, conf)
    assert (1, NO_ADDRESS, before) == (status, found["error"]["code"], tree_of(dgx))
    assert ["enp12s0"] == names(found)
    assert found["error"]["msg"].startswith("NIC enp12s0: pool 10.100.0.16-10.100.0.17 of")


def test_ifname_numbers_the_interfaces(dgx: Path) -> None:
    conf = document(masterNets=None, masters=["rail0", "rail5"], interfaceNames="rail")
    _, found = run(dgx, conf, "--ifname", "fast")
    assert ["fast", "fast-1"] == [each["interface"] for each in found["nics"]]
    status, found = run(dgx, conf, "--ifname", "much-too-long-for-it")
    assert (1, BAD_ENVIRONMENT) == (status, found["error"]["code"])


def test_log_file_of_the_conf_is_not_written(dgx: Path) -> None:
    log = dgx.parent / "multinic.log"
    run(dgx, document(masterNets=None, masters=RAILS, logFile=str(log), logLevel="debug", odd=1))
    assert not log.exists()
    status, found = run(dgx, document(logFile="no/absolute/path"))
    assert (1, BAD_CONF) == (status, found["error"]["code"])
    assert "logFile" in found["error"]["msg"]


@pytest.mark.parametrize("args", [[], 7, {"cni": []}, {"cni": "x"}])
def test_wishes_beside_args_that_are_none(dgx: Path, args: object) -> None:
    status, found = run(dgx, document(args=args), "--nics", "1")
    assert 1 == status
    assert found["error"]["msg"].startswith("invalid net conf: args")
