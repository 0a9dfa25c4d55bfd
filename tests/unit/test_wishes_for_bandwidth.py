"""What a pod may ask of the strategies: less than the net conf's target, and a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.choosing import choose
from multinic_cni.errors import BAD_CONF, NO_NICS, UNSUPPORTED_FIELD, CniError
from multinic_cni.plan import wish_of
from tests.unit.confs import net_conf
from tests.unit.machines import machine

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.host import Host

COST: dict[str, Any] = {"strategy": "costOpt"}


def conf_of(policy: dict[str, Any], asked: dict[str, Any], **words: object) -> NetConf:
    return net_conf(masterNets=None, attachPolicy=policy, args={"cni": asked}, **words)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return a host with virtual functions: two NICs have 40 Gbit/s, the others 100."""
    return machine("sriov-host", tmp_path)


def choice(host: Host, conf: NetConf) -> dict[str, int]:
    """Return what each NIC that the pod gets has to carry."""
    selection = choose(conf, host, list, dict)
    return {each.nic.name: each.megabits for each in selection.chosen}


@pytest.mark.parametrize(
    ("policy", "asked", "target"),
    [
        ({"target": "100G"}, {}, 100_000),
        ({"target": "100G"}, {"target": ""}, 100_000),
        ({"target": "100G"}, {"target": "100000M"}, 100_000),
        ({"target": "100G"}, {"target": "40Gbit/s"}, 40_000),
        ({}, {"target": "1.6T"}, 1_600_000),
    ],
)
def test_target(policy: dict[str, Any], asked: dict[str, Any], target: int) -> None:
    assert target == wish_of(conf_of(COST | policy, asked)).target


@pytest.mark.parametrize(
    ("policy", "asked", "code", "message"),
    [
        (
            COST | {"target": "100G"},
            {"target": "101G"},
            BAD_CONF,
            "args.cni.target: 101G is more than this network allows, 100 Gbit/s",
        ),
        (COST, {"target": "10GB"}, BAD_CONF, "args.cni.target: '10GB' is no bandwidth"),
        (COST, {"target": 100}, BAD_CONF, "args.cni.target: '100' is no bandwidth"),
        (
            {"strategy": "topology"},
            {"target": "1G"},
            UNSUPPORTED_FIELD,
            "args.cni.target: strategy topology of this network does not look at bandwidth",
        ),
        ({}, {"class": ["fast"]}, BAD_CONF, "args.cni.class: must be the name of a class"),
    ],
)
def test_wish_that_is_refused(
    policy: dict[str, Any], asked: dict[str, Any], code: int, message: str
) -> None:
    with pytest.raises(CniError) as raised:
        wish_of(conf_of(policy, asked))
    assert code == raised.value.code
    assert message in raised.value.message


def test_cost_opt_needs_a_target_of_somebodys(host: Host) -> None:
    with pytest.raises(CniError) as raised:
        choice(host, conf_of(COST, {}))
    assert BAD_CONF == raised.value.code
    assert "costOpt needs a target, and neither attachPolicy nor the pod gives one" in str(
        raised.value
    )
    assert {"ens5": 7} == choice(host, conf_of(COST, {"target": "7M"}))


def test_least_number_of_nics(host: Host) -> None:
    """Two of 40 Gbit/s rather than one; a pod that asks for one gets one."""
    policy = COST | {"target": "10G", "minNics": 2}
    assert {"ens5": 5000, "ens5d1": 5000} == choice(host, conf_of(policy, {}))
    assert {"ens5": 10000} == choice(host, conf_of(policy, {"nics": 1}))


DEVICES = ["0000:3b:00.3", "0000:3b:00.4"]


@pytest.mark.parametrize("strategy", ["perfOpt", "costOpt"])
def test_given_devices_are_taken_whole(host: Host, strategy: str) -> None:
    """Though one of them would do."""
    policy = {"strategy": strategy, "target": "10G"}
    conf = conf_of(policy, {}, plugin={"type": "host-device"}, deviceIDs=DEVICES)
    assert {"ens1f0v1": 5000, "ens1f0v2": 5000} == choice(host, conf)


def test_given_devices_that_are_not_enough(host: Host) -> None:
    policy = COST | {"target": "201G"}
    conf = conf_of(policy, {}, plugin={"type": "host-device"}, deviceIDs=DEVICES)
    with pytest.raises(CniError) as raised:
        choice(host, conf)
    assert NO_NICS == raised.value.code
    assert "target 201 Gbit/s cannot be reached: 200 Gbit/s are free" in raised.value.message
    assert "ens1f0v2: 100 Gbit/s of 100 Gbit/s are free" in raised.value.message
