"""A valid net conf for tests, and the typed conf of it with some keys changed."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from multinic_cni.conf.netconf import read_net_conf

if TYPE_CHECKING:
    from multinic_cni.conf.netconf import NetConf

Document = dict[str, Any]

RAILS: Document = {
    "cniVersion": "1.0.0",
    "name": "rails",
    "type": "multinic-cni",
    "plugin": {"type": "macvlan", "mode": "bridge"},
    "masterNets": ["10.1.0.0/24", "10.2.0.0/24"],
}


def document(**changes: object) -> Document:
    """Return a conf of two rails without addresses; a change to None removes the key."""
    changed = {**copy.deepcopy(RAILS), **changes}
    return {key: value for key, value in changed.items() if value is not None}


def net_conf(called_as: str = "multinic-cni", /, **changes: object) -> NetConf:
    return read_net_conf(document(**changes), called_as)
