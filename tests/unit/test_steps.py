from __future__ import annotations

from typing import Any

import pytest

from multinic_cni.jsontext import decode, encode
from multinic_cni.routing.steps import (
    DamagedStepsError,
    NamedHop,
    NeighborStep,
    RouteStep,
    RuleStep,
    Step,
    SysctlStep,
    read_steps,
    to_documents,
)
from multinic_ipam.networks import Network

STEPS: list[Step] = [
    RouteStep(
        nic="rail1",
        network=Network.parse("fd00::/8"),
        table=1000,
        hops=(
            NamedHop(ifname="net1", gateway=0xFD01 << 112 | 1, onlink=True),
            NamedHop(ifname="net1-1"),
        ),
        kind=1,
        protocol=3,
        scope=253,
        metric=7,
        mtu=9000,
        source=0xFD01 << 112 | 5,
        goes=True,
    ),
    RouteStep(nic="rail1", network=Network.parse("10.0.0.0/8"), table=254, kind=7),
    RuleStep(
        nic="rail1",
        version=4,
        priority=1001,
        table=1000,
        source=Network.parse("10.1.0.5/32"),
    ),
    RuleStep(nic="rail1", version=6, priority=1000, table=1000, oif="net1"),
    SysctlStep(nic="", path="net/ipv4/ip_forward", value="1", former="0"),
    NeighborStep(nic="rail1", ifname="net1", version=4, number=7, mac="02:00:00:00:00:77"),
]


def test_steps_come_back_from_a_record_as_they_were() -> None:
    documents = decode(encode(list(to_documents(STEPS))).encode(), "a record")
    assert isinstance(documents, list)
    assert STEPS == read_steps(documents)


ROUTE, RULE = to_documents([STEPS[0], STEPS[2]])
DAMAGES: dict[str, dict[str, Any]] = {
    "no step": {},
    "unknown": {"type": "exec"},
    "path that leaves the settings": {
        "type": "sysctl",
        "nic": "",
        "path": "net/../kernel/core_pattern",
        "value": "|/bin/sh",
        "former": "",
    },
    "path of other settings": {
        "type": "sysctl",
        "nic": "",
        "path": "kernel/core_pattern",
        "value": "|/bin/sh",
        "former": "",
    },
    **{
        f"{key} that no IPv6 route has": ROUTE | {key: value}
        for key, value in {
            "src": "10.1.0.5",
            "hops": [{"dev": "net1", "gw": "10.1.0.254"}],
            "kind": 256,
            "protocol": 256,
            "scope": 256,
        }.items()
    },
    "source of the other family": RULE | {"from": "fd00::5/128"},
    "rule of no family": RULE | {"version": 5},
    "name that no interface has": RULE | {"oif": "n" * 16},
    "no address": {
        "type": "neighbor",
        "nic": "",
        "dev": "net1",
        "address": "host",
        "mac": "02:00:00:00:00:77",
    },
}


@pytest.mark.parametrize("case", DAMAGES)
def test_damaged_step_is_refused(case: str) -> None:
    with pytest.raises(DamagedStepsError):
        read_steps([*to_documents(STEPS), DAMAGES[case]])
