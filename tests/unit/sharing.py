"""What a node shares of its NICs' networks by a conf, and how it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_cni.conf.node import NodeFile
from multinic_cni.errors import CniError
from multinic_cni.host_index import ThisNode
from multinic_cni.sharing import Sharing
from multinic_ipam.networks import parse_address
from multinic_selectors.candidates import Choice

if TYPE_CHECKING:
    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.sharing import NicShares
    from multinic_ipam.pools import Pool
    from multinic_selectors.nics import Nic


def shares(
    conf: NetConf,
    nic: Nic,
    place: int | None = 0,
    *,
    index: int | None = None,
    name: str = "node-a",
    addresses: tuple[str, ...] = (),
) -> NicShares:
    """Return a NIC's shares on a node with this name, and index in its file, and addresses."""
    node = ThisNode(conf.hosts, lambda: NodeFile(host_index=index), lambda: name)
    own = [parse_address(each) for each in addresses]
    return Sharing(conf, node, own).of(Choice(nic, place))


def only_pool(found: NicShares) -> Pool:
    ((pool,),) = found.pools
    return pool


def written(found: NicShares) -> list[list[str]]:
    """Write the pools of each family with the length that addresses carry."""
    return [[f"{pool} /{pool.prefix_length}" for pool in family] for family in found.pools]


def refusal(
    conf: NetConf,
    nic: Nic,
    place: int | None = 0,
    *,
    index: int | None = None,
    name: str = "node-a",
) -> CniError:
    with pytest.raises(CniError) as raised:
        shares(conf, nic, place, index=index, name=name)
    return raised.value
