"""What a node of two rails wants of routes to other nodes, by a conf and by its own file.

192.168.0.0/16 with two bits for the interface and six for the host: NIC 0 has 192.168.0.0/18, NIC 1
192.168.64.0/18, and host j the /24 that is j after the first. 172.16.0.0/15 with one bit and eight:
NIC 0 has 172.16.0.0/16, and host j of it 172.16.j.0/24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.conf.node import NodeFile, Peer
from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.host_index import ThisNode
from multinic_cni.peers import wanted_routes
from multinic_selectors.candidates import Choice
from tests.unit.confs import net_conf
from tests.unit.nics import nic
from tests.unit.rails import BLOCKS, OWN

if TYPE_CHECKING:
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.peers import Wanted

SUBNET = "192.168.0.0/16"
DERIVING = "172.16.0.0/15"
RAIL0 = nic("rail0", "10.1.0.5/24", index=3)
RAIL1 = nic("rail1", "10.2.0.5/24", index=4)
BOTH = [Choice(RAIL0, 0), Choice(RAIL1, 1)]
THREE = {"node-a": 0, "node-b": 1, "node-c": 2}


def peer(index: int | None = None, **addresses: str) -> Peer:
    """Return a peer with addresses on the first and second rail."""
    nets = {"first": "10.1.0.0/24", "second": "10.2.0.0/24"}
    return Peer(host_index=index, addresses={nets[key]: (at,) for key, at in addresses.items()})


NODE_B = peer(first="10.1.0.6", second="10.2.0.7")
NODE_C = peer(9, first="10.1.0.8", second="10.2.0.8")


def conf_of(hosts: dict[str, int] | None = None, **changes: object) -> NetConf:
    return net_conf(**{"subnet": SUBNET, "ipam": BLOCKS, "hosts": hosts or THREE, **changes})


def wanted(
    conf: NetConf,
    choices: list[Choice] | None = None,
    peers: dict[str, Peer] | None = None,
    index: int | None = None,
) -> Wanted:
    node = ThisNode(conf.hosts, lambda: NodeFile(host_index=index), lambda: "node-a")
    return wanted_routes(conf, choices or BOTH, node, peers or {})


def routes(found: Wanted, version: int = 4) -> list[str]:
    (family,) = [each for each in found.families if each.version == version]
    return [f"{each} ({each.node})" for each in family.routes]


def refusal(*arguments: Any, **words: Any) -> str:  # noqa: ANN401 - those of `wanted`
    with pytest.raises(CniError) as raised:
        wanted(*arguments, **words)
    assert BAD_CONF == raised.value.code
    return raised.value.message


def deriving(hosts: dict[str, int] | None = None, **words: object) -> NetConf:
    """Return a conf of two NICs and 256 hosts, whose numbers follow from their addresses."""
    ipam = {**OWN, "interfaceBlock": 1, "hostBlock": 8, **words}
    return net_conf(subnet=DERIVING, ipam=ipam, hosts=hosts)
