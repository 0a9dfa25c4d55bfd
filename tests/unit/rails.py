"""Two rails with addresses from our own store, by subnet or by ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.confs import net_conf
from tests.unit.nics import nic

if TYPE_CHECKING:
    from multinic_cni.conf.netconf import NetConf

RAIL0, RAIL1 = nic("rail0", "10.1.0.5/24"), nic("rail1", "10.2.0.5/24")
OWN: dict[str, Any] = {"type": "multi-nic-ipam"}
BLOCKS: dict[str, Any] = {**OWN, "interfaceBlock": 2, "hostBlock": 6}


def subnet_conf(subnet: object = "192.168.0.0/16", **ipam: object) -> NetConf:
    return net_conf(subnet=subnet, ipam={**BLOCKS, **ipam}, hosts={"node-a": 1})


def range_conf(**by_net: list[dict[str, str]]) -> NetConf:
    ranges: dict[str, list[dict[str, str]]] = {"10.1.0.0/24": [{}], "10.2.0.0/24": [{}]}
    ranges.update({"10.1.0.0/24": by_net["first"]} if "first" in by_net else {})
    return net_conf(ipam={**OWN, "ranges": ranges})
