"""What each strategy chooses on each machine of tests/machines, worked out by hand.

A machine's own file there says where its NICs and devices are; each table below is of one machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.choosing import choose
from multinic_cni.errors import NO_NICS, CniError
from multinic_selectors.loads import Load
from tests.unit.confs import net_conf
from tests.unit.machines import NAMES, machine

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_selectors.selection import Selection

    # attachPolicy; the pod's devices (domain 0000, function 0); what is attached already, by NIC:
    # (attachments, Mbit/s); the chosen NICs, each with its part of the target after a colon.
    Row = tuple[dict[str, Any], str, dict[str, tuple[int, int]], str]

NONE = "none"


def topology(nics: int) -> dict[str, Any]:
    return {"strategy": "topology", "nics": nics}


def by_class(nics: int | None = None, **kind: Any) -> dict[str, Any]:  # noqa: ANN401 - of any type
    return {"strategy": "devClass", "class": "a", "classes": {"a": [kind]}, "nics": nics}


def perf(target: str | None = None, nics: int | None = None) -> dict[str, Any]:
    return {"strategy": "perfOpt", "target": target, "nics": nics}


def cost(target: str, nics: int | None = None) -> dict[str, Any]:
    return {"strategy": "costOpt", "target": target, "nics": nics}


def p5(island: int, *cards: int) -> str:
    """Return the names of an island's NICs: the first one's bus number is 0x47."""
    return " ".join(f"enp{0x47 + 0x11 * island + card}s0" for card in cards)


# The machine, what the net conf says besides attachPolicy, and the table.
TABLES: dict[str, tuple[str, dict[str, Any], list[Row]]] = {
    # Islands: GPUs 07 0f with enp12s0 enp18s0 and 47 4e with enp75s0 enp84s0 on NUMA node 0;
    # 87 90 with enp141s0 enp148s0 and b7 bd with enp186s0 enp204s0 on 1.
    "rails of a DGX A100": (
        "dgx-a100",
        {"masters": ["rail*"]},
        [
            (
                {},
                "",
                {},
                "enp12s0 enp18s0 enp75s0 enp84s0 enp141s0 enp148s0 enp186s0 enp204s0",
            ),
            ({"nics": 2}, "b7", {"enp12s0": (9, 0)}, "enp12s0 enp18s0"),
            (topology(1), "07:00", {}, "enp12s0"),
            (topology(1), "0f:00", {}, "enp12s0"),
            (topology(1), "b7:00", {}, "enp186s0"),
            (topology(1), "b7:00", {"enp186s0": (1, 0)}, "enp204s0"),
            (topology(1), "b7:00", {"enp186s0": (2, 0), "enp204s0": (1, 0)}, "enp204s0"),
            (topology(2), "07:00", {}, "enp12s0 enp18s0"),
            (topology(2), "07:00 0f:00", {}, "enp12s0 enp18s0"),
            (topology(2), "07:00 87:00", {}, "enp12s0 enp141s0"),
            (topology(3), "4e:00", {}, "enp12s0 enp75s0 enp84s0"),
            (topology(3), "4e:00", {"enp12s0": (1, 0)}, "enp18s0 enp75s0 enp84s0"),
            (topology(3), "90:00", {}, "enp141s0 enp148s0 enp186s0"),
            (topology(4), "07:00 47:00 87:00 b7:00", {}, "enp12s0 enp75s0 enp141s0 enp186s0"),
            (topology(4), "07:00 0f:00 47:00 4e:00", {}, "enp12s0 enp18s0 enp75s0 enp84s0"),
            # One for each GPU at its switch, and one more for a GPU: none is better than the first.
            (topology(3), "47:00 b7:00", {}, "enp75s0 enp84s0 enp186s0"),
            (topology(3), "47:00 b7:00", {"enp84s0": (1, 0)}, "enp75s0 enp186s0 enp204s0"),
            (
                topology(8),
                "07:00",
                {},
                "enp12s0 enp18s0 enp75s0 enp84s0 enp141s0 enp148s0 enp186s0 enp204s0",
            ),
            (topology(2), "", {"enp12s0": (1, 0)}, "enp18s0 enp75s0"),
            (by_class(2, vendor="15b3", minSpeed="200G"), "", {}, "enp12s0 enp18s0"),
            (by_class(products=["101d"]), "", {}, NONE),
            (perf("300Gbps"), "", {}, "enp12s0:150000 enp18s0:150000"),
            (perf("300G"), "", {"enp12s0": (1, 200_000)}, "enp18s0:150000 enp75s0:150000"),
            (perf("150G"), "", {"enp12s0": (0, 1)}, "enp18s0:150000"),
            (perf(nics=1), "", {"enp12s0": (1, 0)}, "enp18s0:0"),
            (perf("1T", 2), "", {}, "enp12s0:200000 enp18s0:200000"),
            (cost("1M"), "", {}, "enp12s0:1"),
            (cost("400G"), "", {}, "enp12s0:200000 enp18s0:200000"),
            (cost("400001M", 2), "", {}, NONE),
        ],
    ),
    # Besides the rails two NICs of 100 Gbit/s: enp97s0f0 on NUMA node 0, enp225s0f0 on 1; and
    # enp226s0, by which the default route leaves.
    "all of a DGX A100": (
        "dgx-a100",
        {},
        [
            ({"nics": 5}, "", {}, "enp12s0 enp18s0 enp75s0 enp84s0 enp97s0f0"),
            (topology(4), "4e:00", {"enp18s0": (1, 0)}, "enp12s0 enp75s0 enp84s0 enp97s0f0"),
            (
                by_class(5, minSpeed="100G"),
                "",
                {},
                "enp12s0 enp18s0 enp75s0 enp84s0 enp97s0f0",
            ),
            (by_class(driver="igb"), "", {}, NONE),
            (cost("100G"), "", {}, "enp97s0f0:100000"),
            (cost("60G"), "", {"enp97s0f0": (1, 50_000)}, "enp225s0f0:60000"),
            (cost("150G"), "", {}, "enp12s0:150000"),
            (cost("300G"), "", {}, "enp12s0:200000 enp97s0f0:100000"),
            (cost("240G"), "", {}, "enp12s0:160000 enp97s0f0:80000"),
            (perf("100G"), "", {}, "enp12s0:100000"),
            (cost("1801G"), "", {}, NONE),
        ],
    ),
    # Each of 8 islands has a GPU and 4 NICs; the first NIC is the default route's. None tells its
    # speed.
    "an AWS p5": (
        "aws-p5",
        {},
        [
            ({"nics": 5}, "", {}, f"{p5(0, 1, 2, 3)} {p5(1, 0, 1)}"),
            (topology(4), "64:00", {}, p5(1, 0, 1, 2, 3)),
            (topology(2), "ca:00", {}, p5(7, 0, 1)),
            (topology(2), "ca:00", {"enp190s0": (3, 0)}, p5(7, 1, 2)),
            (topology(4), "53:00", {}, f"{p5(0, 1, 2, 3)} {p5(1, 0)}"),
            (topology(4), "97:00", {p5(4, 0): (1, 0)}, p5(4, 0, 1, 2, 3)),
            (
                topology(8),
                "53:00 64:00 75:00 86:00",
                {},
                f"{p5(0, 1, 2)} {p5(1, 0, 1)} {p5(2, 0, 1)} {p5(3, 0, 1)}",
            ),
            (
                topology(31),
                "53:00",
                {},
                " ".join([p5(0, 1, 2, 3), *(p5(n, 0, 1, 2, 3) for n in range(1, 8))]),
            ),
            (by_class(1, vendor="1d0f", products=["ec20"], driver="ena"), "", {}, p5(0, 1)),
            (by_class(minSpeed="1M"), "", {}, NONE),
            (perf("100G", 2), "", {}, "enp72s0:0 enp73s0:0"),
            (cost("1M"), "", {}, NONE),
        ],
    ),
    # GPUs 0001 0002 are with ib0 ib1, 0003 0004 with ib2 ib3, 000b 000c with ib4 ib5, 000d 000e
    # with ib6 ib7.
    "an Azure ND": (
        "azure-nd",
        {"plugin": {"type": "ipoib"}},
        [
            ({}, "", {}, "ib0 ib1 ib2 ib3 ib4 ib5 ib6 ib7"),
            (topology(1), "0003:00:00", {}, "ib2"),
            (topology(2), "0004:00:00", {}, "ib2 ib3"),
            (topology(2), "0001:00:00 000e:00:00", {"ib6": (1, 0)}, "ib0 ib7"),
            (topology(4), "000b:00:00 000c:00:00 000d:00:00 000e:00:00", {}, "ib4 ib5 ib6 ib7"),
            (by_class(1, products=["101c"]), "", {}, "ib0"),
            (perf("400G"), "", {}, "ib0:200000 ib1:200000"),
            (perf("400G"), "", {"ib1": (2, 1)}, "ib0:200000 ib2:200000"),
            (cost("250G"), "", {}, "ib0:125000 ib1:125000"),
        ],
    ),
    # ens3 is the default route's; all are on one bus. 00:01 is the display.
    "a guest of 8 NICs": (
        "vpc-guest",
        {},
        [
            ({}, "", {}, "ens4 ens5 ens6 ens7 ens8 ens9 ens10"),
            (topology(2), "00:01", {}, "ens4 ens5"),
            (topology(2), "00:01", {"ens4": (1, 0)}, "ens5 ens6"),
            (topology(2), "", {"ens4": (1, 0)}, "ens5 ens6"),
            (by_class(2, vendor="1af4"), "", {}, "ens4 ens5"),
            (by_class(vendor="1af4", products=["1041"]), "", {}, NONE),
            (perf("1G", 2), "", {"ens4": (1, 0)}, "ens5:0 ens6:0"),
            (cost("1G"), "", {}, NONE),
        ],
    ),
    "a guest of 2 NICs": (
        "vpc-guest-small",
        {},
        [
            ({}, "", {}, "ens4"),
            (topology(1), "", {}, "ens4"),
            (by_class(products=["1041"]), "", {}, "ens4"),
            (perf(), "", {}, "ens4:0"),
            (cost("1M"), "", {}, NONE),
        ],
    ),
    # bond0.100, on bond0, is the default route's; bond0.400 is a port of a bridge; eno1 has no
    # carrier.
    "a bond with VLANs": (
        "bond-vlans",
        {},
        [
            ({}, "", {}, "bond0.200 bond0.300"),
            (topology(1), "3b:00:00", {"bond0.200": (1, 0)}, "bond0.300"),
            (by_class(minSpeed="50G"), "", {}, "bond0.200 bond0.300"),
            (by_class(driver="mlx5_core"), "", {}, NONE),
            (perf("60G"), "", {}, "bond0.200:30000 bond0.300:30000"),
            (cost("50G"), "", {}, "bond0.200:50000"),
            (cost("50G"), "", {"bond0.200": (1, 1000)}, "bond0.300:50000"),
        ],
    ),
    "a laptop": (
        "laptop",
        {},
        [
            ({}, "", {}, NONE),
            (topology(1), "00:02", {}, NONE),
            (by_class(vendor="8086"), "", {}, NONE),
            (perf(), "", {}, NONE),
            (cost("1M"), "", {}, NONE),
        ],
    ),
    "NICs of a laptop, named": (
        "laptop",
        {"masters": ["enp0s31f6", "wlp1s0"]},
        [
            ({}, "", {}, "wlp1s0"),
            (topology(1) | {"unhealthy": "use"}, "00:02", {}, "enp0s31f6"),
            (topology(1) | {"unhealthy": "use"}, "00:02", {"enp0s31f6": (1, 0)}, "wlp1s0"),
            (by_class(driver="iwlwifi"), "", {}, "wlp1s0"),
            (perf("1G"), "", {}, "wlp1s0:0"),
        ],
    ),
    # The GPU is with ens5 and ens5d1 of 40 Gbit/s; all others have 100.
    "a host with virtual functions": (
        "sriov-host",
        {},
        [
            (
                {},
                "",
                {},
                "en3b00f1s88 ens1f0np0 ens1f0v0 ens1f0v1 ens1f0v2 ens1f1np1 ens5 ens5d1",
            ),
            (topology(1), "86:00", {}, "ens5"),
            (topology(2), "86:00", {}, "ens5 ens5d1"),
            (topology(3), "86:00", {"en3b00f1s88": (1, 0)}, "ens1f0np0 ens5 ens5d1"),
            (by_class(products=["101e"]), "", {}, "ens1f0v0 ens1f0v1 ens1f0v2"),
            (perf("100G"), "", {}, "en3b00f1s88:100000"),
            (cost("40G"), "", {}, "ens5:40000"),
            (cost("80G"), "", {"ens5": (1, 1)}, "en3b00f1s88:80000"),
            (cost("140G"), "", {}, "en3b00f1s88:100000 ens5:40000"),
        ],
    ),
}

CASES = [
    pytest.param(name, words, row, id=f"{title}, {number}")
    for title, (name, words, rows) in TABLES.items()
    for number, row in enumerate(rows)
]


@pytest.mark.parametrize(("name", "words", "row"), CASES)
def test_choice(tmp_path: Path, name: str, words: dict[str, Any], row: Row) -> None:
    policy, devices, taken, expected = row
    said = {key: value for key, value in policy.items() if value is not None}
    conf = net_conf(**{"masterNets": None, "attachPolicy": said, **words})
    loads = {nic: Load(*load) for nic, load in taken.items()}
    host = machine(name, tmp_path)

    def chosen() -> Selection:
        return choose(conf, host, lambda: [*map(address, devices.split())], lambda: loads)

    if expected == NONE:
        with pytest.raises(CniError) as raised:
            chosen()
        assert NO_NICS == raised.value.code
        return
    shown = ":" in expected
    assert expected.split() == [
        f"{each.nic.name}:{each.megabits}" if shown else each.nic.name for each in chosen().chosen
    ]


def address(device: str) -> str:
    return f"{device if device.count(':') == 2 else f'0000:{device}'}.0"


def test_every_machine_has_every_strategy() -> None:
    tried = {
        (name, policy.get("strategy", "none"))
        for name, _, rows in TABLES.values()
        for policy, *_ in rows
    }
    strategies = {"none", "devClass", "topology", "perfOpt", "costOpt"}
    assert tried == {(name, strategy) for name in NAMES for strategy in strategies}
