"""Whether a pod can have the RDMA device of a NIC, by the node's RDMA netns mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.judging import NodeJudge
from multinic_selectors.nics import Nic
from tests.unit.conflicting import (
    AWS_IPVLAN,
    HOST_DEVICE,
    IPVLAN,
    MACVLAN,
    OTHERS,
    RDMA,
    TUNING,
    VLAN,
    conflict,
    nic,
)
from tests.unit.confs import net_conf
from tests.unit.machines import machine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.unit.conflicting import Conf

EXCLUSIVE = "`rdma system set netns exclusive`"
SHARED = "`rdma system set netns shared`"


@pytest.mark.parametrize(
    ("chain", "who"),
    [
        ([HOST_DEVICE, RDMA], "the delegate rdma"),
        ([{"type": "sriov"}, TUNING, RDMA], "the delegate rdma"),
        ([{"type": "ib-sriov", "rdmaIsolation": True}], "rdmaIsolation"),
    ],
)
@pytest.mark.parametrize("rdma", [True, False])
def test_pod_cannot_have_an_rdma_device_alone(
    chain: Sequence[Conf],
    who: str,
    rdma: bool,
) -> None:
    expected = (
        f"{who} gives the pod an RDMA device of its own, but all netns of this node share the"
        f" devices: {EXCLUSIVE}"
    )
    assert expected == conflict(nic(), *chain, rdma=rdma, exclusive=False)
    assert "" == conflict(nic(), *chain, rdma=rdma, exclusive=True)
    assert "" == conflict(nic(), *chain, rdma=rdma, exclusive=None)


STAYS = (
    "attachPolicy.rdma is set, but its RDMA mlx5_0 would stay in the node's netns, since each netns"
    " has devices of its own here"
)


@pytest.mark.parametrize(
    "template",
    [HOST_DEVICE, {"type": "sriov"}, {"type": "ib-sriov", "rdmaIsolation": False}],
)
def test_rdma_device_stays_behind(template: Conf) -> None:
    expected = f"{STAYS}: chain the rdma plugin, or {SHARED}"
    assert expected == conflict(nic(), template, rdma=True, exclusive=True)
    assert "" == conflict(nic(), template, rdma=True, exclusive=False)
    assert "" == conflict(nic(), template, rdma=True, exclusive=None)
    assert "" == conflict(nic(), template, rdma=False, exclusive=True)


@pytest.mark.parametrize("words", [{}, {"rdmaIsolation": True}])
@pytest.mark.parametrize("template", [MACVLAN, IPVLAN, AWS_IPVLAN, VLAN])
def test_links_share_the_rdma_device(template: Conf, words: Conf) -> None:
    """Only those that move the NIC know the word rdmaIsolation."""
    family = template["type"].removeprefix("aws-")
    template = {**template, **words}
    expected = f"{STAYS}, and {family} moves none: {SHARED}"
    assert expected == conflict(nic(), template, rdma=True, exclusive=True)
    assert "" == conflict(nic(), template, rdma=True, exclusive=False)
    assert "" == conflict(nic(), template, rdma=False, exclusive=True)


@pytest.mark.parametrize("template", OTHERS)
def test_rdma_of_types_that_nobody_knows(template: Conf) -> None:
    assert "" == conflict(nic(), template, rdma=True, exclusive=True)


def test_rdma_would_take_another_device_than_a_scalable_functions() -> None:
    scalable = Nic(index=3, name="en3b00f1s88", mtu=1500)
    found = conflict(scalable, HOST_DEVICE, RDMA, exclusive=True)
    assert "it is the scalable function mlx5_core.sf.2, and the delegate rdma would" in found
    named = {**RDMA, "deviceID": "mlx5_core.sf.2"}
    assert "" == conflict(scalable, HOST_DEVICE, named, exclusive=True)
    assert "" == conflict(scalable, HOST_DEVICE, exclusive=True)


def test_scalable_function_of_a_machine(tmp_path: Path) -> None:
    host = machine("sriov-host", tmp_path)
    (tmp_path / "sriov-host/sys/module/ib_core/parameters/netns_mode").write_text("N\n")
    words = {"plugin": [HOST_DEVICE, RDMA], "masterNets": None}
    for name, expected in (("en3b00f1s88", True), ("ens1f1np1", False)):
        judge = NodeJudge(net_conf(**words, masters=[name]), host)
        (nic,) = (each for each in host.nics if each.name == name)
        assert expected is ("scalable function" in judge.conflict(nic))
