"""Delegates that know their NIC by its PCI function."""

from __future__ import annotations

import pytest

from multinic_cni.delegates import can_use_function, chain_confs, uses_nic, wants_function
from tests.unit.confs import net_conf


@pytest.mark.parametrize("kind", ["sriov", "sriov-cni", "ib-sriov", "ib-sriov-cni"])
def test_virtual_function_is_named_by_its_address(kind: str) -> None:
    conf = net_conf(plugin={"type": kind, "vlan": 7})
    (head,) = chain_confs(conf, "ens1f0v2", None, function="0000:3b:00.4")
    assert {
        "type": kind,
        "vlan": 7,
        "deviceID": "0000:3b:00.4",
        "name": "rails",
        "cniVersion": "1.0.0",
    } == head
    assert wants_function(conf)


def test_virtual_function_of_the_template_stays() -> None:
    conf = net_conf(plugin={"type": "sriov", "deviceID": "0000:3b:00.2"})
    (head,) = chain_confs(conf, "ens1f0v0", None, function="0000:3b:00.4")
    assert "0000:3b:00.2" == head["deviceID"]
    assert "master" not in head
    assert not wants_function(conf)


def test_gc_names_no_virtual_function() -> None:
    (head,) = chain_confs(net_conf(plugin={"type": "sriov"}), None, None)
    assert not {"deviceID", "master"} & head.keys()


def test_rdma_learns_the_function_wherever_it_stands() -> None:
    """By the MAC alone it does not find a NIC that is in the pod already."""
    conf = net_conf(plugin=[{"type": "host-device"}, {"type": "tuning"}, {"type": "rdma"}])
    head, tuning, rdma = chain_confs(conf, "rail0", None, function="0000:5e:00.0")
    assert ("rail0", "0000:5e:00.0") == (head["device"], rdma["deviceID"])
    assert not {"deviceID"} & (head.keys() | tuning.keys())
    _, _, without = chain_confs(conf, "rail0", None)
    assert "deviceID" not in without


@pytest.mark.parametrize(
    ("plugins", "wants", "can_use", "uses"),
    [
        (["macvlan"], False, False, True),
        (["host-device", "rdma"], False, True, True),
        (["sriov", "rdma"], True, True, True),
        (["bridge"], False, False, False),
    ],
)
def test_what_chains_do_with_functions(
    plugins: list[str], *, wants: bool, can_use: bool, uses: bool
) -> None:
    conf = net_conf(plugin=[{"type": each} for each in plugins])
    assert (wants, can_use, uses) == (
        wants_function(conf),
        can_use_function(conf),
        uses_nic(conf),
    )
