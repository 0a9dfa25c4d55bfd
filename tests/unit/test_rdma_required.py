"""attachPolicy.rdma "required": a NIC without an active RDMA port is no candidate at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.choosing import choose, choose_for_nobody
from multinic_cni.errors import NO_NICS, CniError
from tests.unit.confs import document, net_conf
from tests.unit.explaining import names, printed, run
from tests.unit.machines import described, machine

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.host import Host

# rail2's port is down, rail3 has no RDMA device, rail4 is a VF that nobody has set up.
MACHINE = """\
root 0000:3a
  nic 3b:00.0 driver=mlx5_core name=rail0 addr=10.1.0.7/24 rdma=mlx5_0
  nic 3b:00.1 driver=mlx5_core name=rail1 addr=10.2.0.7/24 rdma=mlx5_1
  nic 3c:00.0 driver=mlx5_core name=rail2 rdma=mlx5_2 "rdma-state=1: DOWN"
    vf 3c:00.2 driver=mlx5_core name=rail4 state=down rdma=mlx5_4 "rdma-state=1: DOWN"
  nic 3c:00.1 driver=ena name=rail3
"""
NO_DEVICE = "it has no RDMA device (attachPolicy.rdma)"
DOWN = "no RDMA port of it is ACTIVE: mlx5_2/1 is DOWN"
VF_DOWN = "no RDMA port of it is ACTIVE: mlx5_4/1 is DOWN"
REQUIRED = {"rdma": "required"}
ALL: dict[str, Any] = {"masterNets": None, "masters": ["rail*"]}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return described(MACHINE, tmp_path / "node")


def chosen(host: Host, **keys: object) -> list[str]:
    conf = net_conf(**ALL | {"attachPolicy": REQUIRED} | keys)
    return [choice.nic.name for choice in choose(conf, host, list, dict).chosen]


def refusal(host: Host, **keys: object) -> str:
    with pytest.raises(CniError) as raised:
        chosen(host, **keys)
    assert NO_NICS == raised.value.code
    return raised.value.message


@pytest.mark.parametrize("unhealthy", ["skip", "fail", "use"])
def test_nics_with_an_active_port_are_taken_whatever_unhealthy_says(
    host: Host, unhealthy: str
) -> None:
    assert ["rail0", "rail1"] == chosen(host, attachPolicy=REQUIRED | {"unhealthy": unhealthy})


@pytest.mark.parametrize("unhealthy", ["skip", "fail", "use"])
def test_too_few_are_an_error_that_names_each(host: Host, unhealthy: str) -> None:
    policy = REQUIRED | {"unhealthy": unhealthy, "minNics": 3}
    message = refusal(host, attachPolicy=policy)
    assert message.startswith("3 NICs needed, 2 usable on this node (rail0, rail1: usable; ")
    for reason in (f"rail2: {DOWN}", f"rail3: {NO_DEVICE}", f"rail4: {VF_DOWN}"):
        assert reason in message


def test_true_leaves_it_to_unhealthy(host: Host) -> None:
    policy = {"rdma": True, "unhealthy": "use"}
    assert ["rail0", "rail1", "rail2", "rail3", "rail4"] == chosen(host, attachPolicy=policy)


def test_prober_makes_no_rdma_port(host: Host, tmp_path: Path) -> None:
    """It may know better than the kernel whether a cable is good."""
    folder = tmp_path / "node/run/multinic-cni/health"
    folder.mkdir(parents=True)
    (folder / "rail3.json").write_text(json.dumps({"healthy": True, "expires": 1e10}))
    assert f"rail3: {NO_DEVICE}" in refusal(host, masters=["rail3"])


@pytest.mark.parametrize("kind", ["host-device", "sriov"])
def test_nic_that_goes_into_the_pod_may_be_down_until_then(host: Host, kind: str) -> None:
    """Its port is down as long as it is; what is up must have an active one."""
    taken = {"plugin": {"type": kind}, "masters": ["rail2", "rail3", "rail4"]}
    assert ["rail4"] == chosen(host, **taken)


@pytest.mark.parametrize(("device", "reason"), [("3c:00.0", DOWN), ("3c:00.1", NO_DEVICE)])
def test_device_of_the_runtime_that_lacks_it(host: Host, device: str, reason: str) -> None:
    given = ["0000:3b:00.0", f"0000:{device}"]
    message = refusal(host, masters=None, deviceIDs=given)
    assert message.startswith("2 NICs needed, 1 usable on this node (rail0: usable; ")
    assert reason in message


def test_status_says_what_an_add_would(host: Host) -> None:
    conf = net_conf(**ALL, attachPolicy=REQUIRED)
    found = choose_for_nobody(conf, host)
    assert ["rail0", "rail1"] == [choice.nic.name for choice in found.chosen]
    with pytest.raises(CniError) as raised:
        choose_for_nobody(conf.but(masters=("rail3",)), host)
    assert (NO_NICS, True) == (raised.value.code, NO_DEVICE in raised.value.message)


@pytest.mark.parametrize(
    ("name", "masters", "expected"),
    [
        ("dgx-a100", ["rail*", "enp226s0"], [f"mlx5_{n}" for n in (0, 1, 2, 3, 6, 7, 8, 9)]),
        ("azure-nd", ["ib*", "eth0"], [f"mlx5_{number}" for number in range(8)]),
        ("bond-vlans", ["bond0", "eno1"], ["mlx5_bond_0"]),
        ("sriov-host", ["ens1f0*", "ens5"], ["mlx5_0", "mlx5_2", "mlx5_3", "mlx5_4"]),
        ("aws-p5", ["enp*"], []),  # an EFA's RDMA device belongs to no NIC
        ("laptop", ["enp*", "wl*"], []),
    ],
)
def test_machines(tmp_path: Path, name: str, masters: list[str], expected: list[str]) -> None:
    """Whatever the link layer is: what can stand on InfiniBand is another question."""
    host = machine(name, tmp_path)
    mine = {"type": "my-own"}
    if expected:
        nics = chosen(host, masters=masters, plugin=mine)
        assert expected == [port.device for nic in nics for port in host.sysfs.rdma_ports(nic)]
    else:
        assert NO_DEVICE in refusal(host, masters=masters, plugin=mine)


# What people see.


def test_explain_names_ports_and_reasons(host: Host, tmp_path: Path) -> None:
    assert host.nics
    node = tmp_path / "node"
    conf = document(**ALL, attachPolicy=REQUIRED)
    status, found = run(node, conf)
    assert (0, ["rail0", "rail1"]) == (status, names(found))
    assert [[{"device": f"mlx5_{number}", "port": 1, "state": "ACTIVE"}] for number in (0, 1)] == [
        each["rdma"] for each in found["nics"]
    ]
    reasons = {each["nic"]: each["reason"] for each in found["refused"]}
    del reasons["lo"]
    assert {"rail2": DOWN, "rail3": NO_DEVICE, "rail4": VF_DOWN} == reasons
    lines = printed(node, conf)
    heads = next(line for line in lines if line.startswith("NIC"))
    assert "RDMA" in heads.split()
    assert "mlx5_1/1 ACTIVE" in next(line for line in lines if line.startswith("rail1"))


def test_explain_has_no_column_for_what_nobody_has(host: Host, tmp_path: Path) -> None:
    assert host.nics
    lines = printed(tmp_path / "node", document(**ALL | {"masters": ["rail3"]}))
    assert "RDMA" not in next(line for line in lines if line.startswith("NIC"))
