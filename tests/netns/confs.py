"""Net confs that several files of tests use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tests.pytest_netns import on_rail, rail_net

if TYPE_CHECKING:
    from tests.pytest_netns import Namespace

HOST_INDEX = 3
MASTER_NETS = [rail_net(rail) for rail in (1, 2, 3, 4)]

# 4 rails of 2^14 addresses, 64 hosts of 2^8 on each. The node is host 3: rail k's first pod gets
# 192.168.0.0 + (k-1) * 64.0 + 3.1.
SHARED_SUBNET: dict[str, Any] = {
    "masterNets": MASTER_NETS,
    "subnet": "192.168.0.0/16",
    "hosts": {os.uname().nodename: HOST_INDEX},
    "ipam": {"type": "multi-nic-ipam", "interfaceBlock": 2, "hostBlock": 6},
}


def ranges(*rails: int, first: int = 100, last: int = 109) -> dict[str, Any]:
    """Return masterNets and an ipam block: a range in the network of each of these rails."""
    return {
        "masterNets": [rail_net(rail) for rail in rails],
        "ipam": {
            "type": "multi-nic-ipam",
            "ranges": {
                rail_net(rail): [
                    {"rangeStart": on_rail(rail, first), "rangeEnd": on_rail(rail, last)}
                ]
                for rail in rails
            },
        },
    }


def masters_of(pod: Namespace, node: Namespace) -> list[str]:
    """Return the node's NIC below each of the pod's interfaces, in the order of the names."""
    names = {link["ifindex"]: name for name, link in node.links().items()}
    return [names[link["link_index"]] for _, link in sorted(pod.links().items())]
