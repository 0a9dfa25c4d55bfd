"""Changes of a conf that share a subnet, or ranges, among nodes."""

from __future__ import annotations

from typing import Any

from tests.unit.rails import OWN

SUBNET = "192.168.0.0/16"
FIRST = "ipam.ranges['10.1.0.0/24'][0]"
SECOND = "ipam.ranges['10.2.0.0/24'][0]"


def shared(hosts: dict[str, int] | None = None, **words: object) -> dict[str, Any]:
    """Return the changes for a subnet with two interfaces that is shared so."""
    ipam = {**OWN, "interfaceBlock": 1, **words}
    return {"subnet": SUBNET, "ipam": ipam, **({} if hosts is None else {"hosts": hosts})}


def ranges(
    first: dict[str, Any],
    second: dict[str, Any] | None = None,
    hosts: dict[str, int] | None = None,
    **top: object,
) -> dict[str, Any]:
    by_net = {"10.1.0.0/24": [first], "10.2.0.0/24": [second or {}]}
    return {"ipam": {**OWN, "ranges": by_net, **top}, **({"hosts": hosts} if hosts else {})}
