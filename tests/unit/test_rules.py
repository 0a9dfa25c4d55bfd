from __future__ import annotations

from typing import Any

import pytest

from multinic_cni.conf import table
from multinic_cni.conf.checker import check
from multinic_cni.conf.rules import rule_problems
from multinic_cni.errors import BAD_CONF, UNSUPPORTED_FIELD
from tests.unit.confs import document

OWN: dict[str, Any] = {"type": "multi-nic-ipam"}
BLOCKS: dict[str, Any] = {**OWN, "interfaceBlock": 2, "hostBlock": 6}


def ranges(**by_master: dict[str, str]) -> dict[str, Any]:
    """Return an ipam block with one range for each of the two masterNets, and these changes."""
    each: dict[str, list[dict[str, str]]] = {"10.1.0.0/24": [{}], "10.2.0.0/24": [{}]}
    each.update({master.replace("_", "/"): [words] for master, words in by_master.items()})
    return {**OWN, "ranges": each}


def problems(changes: dict[str, Any]) -> list[tuple[str, str, int]]:
    conf = document(**changes)
    assert [] == check(conf, table.NET_CONF)  # a rule sees only what the schema lets pass
    return [(each.path, each.message, each.code) for each in rule_problems(conf)]


def assert_one_problem(changes: dict[str, Any], path: str, message: str) -> None:
    """Assert that these changes break one rule, at that path, with words of that message."""
    ((found_path, found_message, code),) = problems(changes)
    assert (path, BAD_CONF) == (found_path, code)
    assert message in found_message


BROKEN: dict[str, tuple[dict[str, Any], str, str, int]] = {
    "builtin": (
        {"attach": "builtin"},
        "attach",
        "builtin is not in this release yet",
        UNSUPPORTED_FIELD,
    ),
    "itself": (
        {"plugin": {"type": "multi-nic"}},
        "plugin.type",
        "must be another plugin, not this one",
        BAD_CONF,
    ),
    "itself in a chain": (
        {"plugin": [{"type": "macvlan"}, {"type": "multinic-cni"}]},
        "plugin[1].type",
        "must be another plugin, not this one",
        BAD_CONF,
    ),
    "host-device's device": (
        {"plugin": {"type": "host-device", "device": "eth1"}},
        "plugin.device",
        "must not be given",
        BAD_CONF,
    ),
    "two ipams": (
        {
            "plugin": {"type": "macvlan", "ipam": {"type": "dhcp"}},
            "ipam": {"type": "host-local"},
        },
        "plugin.ipam",
        "stands here and at the top",
        BAD_CONF,
    ),
    "minNics": (
        {"attachPolicy": {"nics": 2, "minNics": 3}},
        "attachPolicy.minNics",
        "3 is more than attachPolicy.nics, 2",
        BAD_CONF,
    ),
    "rail": (
        {"interfaceNames": "rail", "masterNets": None},
        "interfaceNames",
        "rail numbers by the place in rails, masterNets or masters",
        BAD_CONF,
    ),
    "overlap": (
        {"masterNets": ["10.1.0.0/16", "10.2.0.0/16", "10.1.4.0/24"]},
        "masterNets[2]",
        "10.1.4.0/24 overlaps 10.1.0.0/16",
        BAD_CONF,
    ),
    "no addresses": ({"ipam": OWN}, "ipam", "multi-nic-ipam needs subnet, or ranges", BAD_CONF),
    "subnet and ranges": (
        {"subnet": "192.168.0.0/16", "ipam": ranges()},
        "ipam.ranges",
        "stands beside subnet",
        BAD_CONF,
    ),
    "two subnets of one family": (
        {"subnet": ["192.168.0.0/16", "172.16.0.0/16"], "ipam": BLOCKS},
        "subnet",
        "must have one network per family",
        BAD_CONF,
    ),
    "too many bits": (
        {"subnet": "192.168.0.0/25", "ipam": BLOCKS},
        "subnet",
        "has 7 bits to share, but interfaceBlock 2 and hostBlock 6 take 8",
        BAD_CONF,
    ),
    "subnet without order": (
        {"subnet": "192.168.0.0/16", "ipam": BLOCKS, "masterNets": None},
        "subnet",
        "needs rails, masterNets or masters",
        BAD_CONF,
    ),
    "too few interfaces": (
        {"subnet": "192.168.0.0/16", "ipam": {**OWN, "hostBlock": 6}},
        "ipam.interfaceBlock",
        "0 bits number 1 interfaces, but masterNets and masters have 2 entries: 1 are needed",
        BAD_CONF,
    ),
    "two hosts with one index": (
        {"subnet": "192.168.0.0/16", "ipam": BLOCKS, "hosts": {"a": 3, "b": 3}},
        "hosts.b",
        "3 is a's too",
        BAD_CONF,
    ),
    "subnet that nothing uses": (
        {"subnet": "192.168.0.0/16", "ipam": None},
        "subnet",
        "is used by ipam.type multi-nic-ipam alone",
        BAD_CONF,
    ),
    "host index": (
        {"subnet": "192.168.0.0/16", "ipam": BLOCKS, "hosts": {"a": 63, "b": 64}},
        "hosts.b",
        "64 does not fit in hostBlock 6: at most 63",
        BAD_CONF,
    ),
    "net without range": (
        {"ipam": {**OWN, "ranges": {"10.1.0.0/24": [{}]}}},
        "ipam.ranges['10.2.0.0/24']",
        "is missing",
        BAD_CONF,
    ),
    "unreachable gateway": (
        {
            "subnet": "192.168.0.0/16",
            "ipam": {**BLOCKS, "routes": [{"dst": "10.9.0.0/16", "gw": "10.1.0.1"}]},
        },
        "ipam.routes[0].gw",
        "10.1.0.1 is in no interface's network",
        BAD_CONF,
    ),
    "range of broadcast": (
        {"ipam": ranges(**{"10.1.0.0/24": {"rangeStart": "10.1.0.255"}})},
        "ipam.ranges['10.1.0.0/24'][0]",
        "10.1.0.255",
        BAD_CONF,
    ),
    "overlapping ranges": (
        {"ipam": ranges(**{"10.2.0.0/24": {"subnet": "10.1.0.128/25"}})},
        "ipam.ranges['10.2.0.0/24'][0].subnet",
        "10.1.0.128/25 overlaps 10.1.0.0/24",
        BAD_CONF,
    ),
    "type of one master's ipam": (
        {
            "ipam": {
                "type": "multi-config",
                "ipam_type": "whereabouts",
                "args": {"rail0": {"range": "10.1.0.0/24"}, "rail1": {"type": "dhcp"}},
            }
        },
        "ipam.args.rail1.type",
        "stands in ipam.ipam_type",
        BAD_CONF,
    ),
    "range of no master": (
        {"ipam": ranges(rail7={"subnet": "10.7.0.0/24"})},
        "ipam.ranges.rail7",
        "is neither a network nor an entry of masters",
        BAD_CONF,
    ),
    "range outside": (
        {"ipam": ranges(**{"10.1.0.0/24": {"rangeEnd": "10.2.0.9"}})},
        "ipam.ranges['10.1.0.0/24'][0]",
        "rangeEnd 10.2.0.9 lies outside 10.1.0.0/24",
        BAD_CONF,
    ),
    "range without network": (
        {"masters": ["rail7"], "ipam": ranges(rail7={})},
        "ipam.ranges.rail7[0].subnet",
        "is missing, and 'rail7' is no network",
        BAD_CONF,
    ),
}


@pytest.mark.parametrize(("changes", "path", "message", "code"), BROKEN.values(), ids=BROKEN)
def test_broken_rule(changes: dict[str, Any], path: str, message: str, code: int) -> None:
    ((found_path, found_message, found_code),) = problems(changes)
    assert (path, code) == (found_path, found_code)
    assert message in found_message


KEPT: dict[str, dict[str, Any]] = {
    "plain": {},
    "attach auto": {"attach": "auto"},
    "no routing": {"routing": {}},
    "device of a later delegate": {
        "plugin": [{"type": "macvlan"}, {"type": "host-device", "device": "eth1"}]
    },
    "device of another delegate": {"plugin": {"type": "mine", "device": "eth1"}},
    "ipam in the template": {"plugin": {"type": "macvlan", "ipam": {"type": "dhcp"}}},
    "empty ipam at the top": {
        "plugin": {"type": "macvlan", "ipam": {"type": "dhcp"}},
        "ipam": {},
    },
    "minNics of nics": {"attachPolicy": {"nics": 2, "minNics": 2}},
    "rail by masters": {"interfaceNames": "rail", "masterNets": None, "masters": ["rail*"]},
    "nets side by side": {"masterNets": ["10.0.0.0/24", "10.0.1.0/24", "fd00::/64"]},
    "the operator's example": {
        "subnet": "192.168.0.0/16",
        "ipam": BLOCKS,
        "masterNets": [f"10.{each}.0.0/24" for each in range(4)],
        "hosts": {"a": 0, "b": 63},
    },
    "all bits taken": {"subnet": "192.168.0.0/24", "ipam": BLOCKS},
    "both families": {"subnet": ["192.168.0.0/16", "fd00::/64"], "ipam": BLOCKS},
    "subnet of another ipam": {"subnet": "192.168.0.0/16", "ipam": {"type": "host-local"}},
    "no bits for one net": {
        "subnet": "192.168.0.0/16",
        "ipam": OWN,
        "masterNets": ["10.1.0.0/24"],
    },
    "ranges": {"ipam": ranges()},
    "ranges of one block": {"ipam": ranges(**{"10.2.0.0/24": {"subnet": "10.1.0.0/24"}})},
    "ranges of a network that no master has": {"ipam": ranges(**{"10.7.0.0/24": {}})},
    "masters without ranges of their own": {"masters": ["rail7"], "ipam": ranges()},
    "ranges of masters": {
        "masters": ["rail7"],
        "ipam": ranges(rail7={"subnet": "10.7.0.0/24", "gateway": "10.7.0.1"}),
    },
}


@pytest.mark.parametrize("changes", KEPT.values(), ids=KEPT)
def test_kept_rule(changes: dict[str, Any]) -> None:
    assert [] == problems(changes)


def test_all_rules_speak_at_once() -> None:
    found = problems(
        {
            "attach": "builtin",
            "plugin": {"type": "multi-nic"},
            "attachPolicy": {"nics": 1, "minNics": 2},
            "ipam": OWN,
        }
    )
    assert ["attach", "plugin.type", "attachPolicy.minNics", "ipam"] == [p for p, _, _ in found]


def test_nulls_break_no_rule() -> None:
    nulls = dict.fromkeys(
        ["attachPolicy", "routing", "masters", "masterNets", "ipam", "subnet", "hosts"]
    )
    assert [] == rule_problems({**document(), **nulls})
