"""Rules of what chooses the NICs: strategies, classes and rails."""

from __future__ import annotations

from typing import Any

import pytest

from multinic_cni.errors import BAD_CONF
from tests.unit.test_rules import problems

BROKEN: dict[str, tuple[dict[str, Any], str, str, int]] = {
    "target of a strategy that looks at none": (
        {"attachPolicy": {"strategy": "topology", "target": "100G"}},
        "attachPolicy.target",
        "strategy topology does not look at bandwidth: use perfOpt or costOpt",
        BAD_CONF,
    ),
    "target without a strategy": (
        {"attachPolicy": {"target": "100G"}},
        "attachPolicy.target",
        "strategy none does not look at bandwidth",
        BAD_CONF,
    ),
    "class that says nothing": (
        {"attachPolicy": {"classes": {"fast": [{"vendor": "15b3"}, {"driver": None}]}}},
        "attachPolicy.classes.fast[1]",
        "says nothing, so that it would fit every NIC",
        BAD_CONF,
    ),
    "rails twice": (
        {"masterNets": None, "rails": ["rail0"], "railPciAddresses": [["0000:3b:00.0"]]},
        "railPciAddresses",
        "stands beside rails: keep one of them",
        BAD_CONF,
    ),
    "rails and masterNets": (
        {"rails": ["rail0"]},
        "rails",
        "stands beside masterNets: rails name the NICs themselves",
        BAD_CONF,
    ),
    "number of rails, masterNets and masters": (
        {"rails": 8, "masters": ["rail*"]},
        "rails",
        "stands beside masterNets and masters",
        BAD_CONF,
    ),
    "PCI addresses and masters": (
        {"masterNets": None, "masters": ["a"], "railPciAddresses": [["0000:3b:00.0"]]},
        "railPciAddresses",
        "stands beside masters",
        BAD_CONF,
    ),
    "one NIC as two rails": (
        {"masterNets": None, "rails": ["a", ["0000:3b:00.0", "b"], ["c", "0000:3B:00.0"]]},
        "rails[2]",
        "0000:3B:00.0 is an alternative of rail 1 already",
        BAD_CONF,
    ),
    "one address as two rails": (
        {"masterNets": None, "railPciAddresses": [["0000:af:00.0"], ["0000:AF:00.0"]]},
        "railPciAddresses[1]",
        "0000:AF:00.0 is an alternative of rail 0 already",
        BAD_CONF,
    ),
}


@pytest.mark.parametrize(("changes", "path", "message", "code"), BROKEN.values(), ids=BROKEN)
def test_broken_rule(changes: dict[str, Any], path: str, message: str, code: int) -> None:
    ((found_path, found_message, found_code),) = problems(changes)
    assert (path, code) == (found_path, found_code)
    assert message in found_message


KEPT: dict[str, dict[str, Any]] = {
    **{
        f"strategy {word}": {"attachPolicy": {"strategy": word}}
        for word in ("none", "devClass", "topology", "perfOpt", "costOpt")
    },
    "target of perfOpt": {"attachPolicy": {"strategy": "perfOpt", "target": "100G"}},
    "target of costOpt": {"attachPolicy": {"strategy": "costOpt", "target": "1.6 Tbit/s"}},
    "class of the node": {"attachPolicy": {"class": "fast"}},
    "classes": {
        "attachPolicy": {"class": "a", "classes": {"a": [{"driver": "igb"}, {"minSpeed": "1G"}]}}
    },
    "rails": {"masterNets": None, "rails": ["rail0", ["driver:a", "0000:3b:00.0"], "10.0.0.0/24"]},
    "names differ by case": {"masterNets": None, "rails": ["eth0", "Eth0", "driver:a", "driver:A"]},
    "alternative named twice": {"masterNets": None, "rails": [["a", "b", "a"], "c"]},
    "rails of node.json": {"masterNets": [], "rails": 8, "interfaceNames": "rail"},
    "rails of NVIDIA": {"masterNets": None, "railPciAddresses": [["0000:3b:00.0"]]},
}


@pytest.mark.parametrize("changes", KEPT.values(), ids=KEPT)
def test_kept_rule(changes: dict[str, Any]) -> None:
    assert [] == problems(changes)
