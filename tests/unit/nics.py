"""NICs of an imagined node, written as an admin would see them."""

from __future__ import annotations

from multinic_ipam.networks import split_cidr
from multinic_selectors.nics import Nic


def nic(
    name: str,
    *cidrs: str,
    index: int = 0,
    altnames: tuple[str, ...] = (),
    kind: str = "",
    loopback: bool = False,
    up: bool = True,
    carrier: bool = True,
    enslaved_to: str = "",
    uplink: str = "",
    passing: tuple[str, ...] = (),
) -> Nic:
    """Return a NIC; its passing addresses were added first."""
    taken = [split_cidr(each) for each in passing]
    return Nic(
        index=index,
        name=name,
        altnames=altnames,
        mac="02:00:00:00:00:01",
        mtu=1500,
        kind=kind,
        loopback=loopback,
        up=up,
        carrier=carrier,
        addresses=[*taken, *(split_cidr(each) for each in cidrs)],
        passing=taken,
        enslaved_to=enslaved_to,
        uplink=uplink,
    )
