"""A store in a folder: pools, owners, and its files as an admin sees them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from multinic_ipam.networks import Network, parse_address
from multinic_ipam.places import inside, range_of
from multinic_ipam.refusals import PoolExhaustedError
from multinic_ipam.reservation import Owner, Reservation
from multinic_ipam.shares import SamePart
from multinic_ipam.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from multinic_ipam.pools import Pool

A, B = Owner("c0ffee", "net1"), Owner("decade", "net1")
BLOCK = "10.1.0.0/29"
SIX = [f"10.1.0.{host}" for host in range(1, 7)]  # all that it has for hosts


def pool(block: str = BLOCK, *, start: str = "", end: str = "", gateway: str = "") -> Pool:
    network = Network.parse(block)
    run = range_of(network, start or None, end or None)
    router = inside(network, gateway, "gateway") if gateway else None
    return SamePart(network, run, router).share(0).pool()


def opened(folder: Path) -> Store:
    return Store(str(folder), time.monotonic() + 5)


def take(store: Store, owner: Owner, *pools: Pool) -> list[str]:
    """Choose and reserve one address of each pool."""
    chosen: list[Reservation] = []
    for each in pools:
        chosen.append(store.choose(each, chosen))
    store.reserve(chosen, pools, owner)
    return [each.address for each in chosen]


def fill(store: Store, of: Pool) -> list[str]:
    """Take address by address until the pool is exhausted."""
    given: list[str] = []
    while True:
        try:
            given += take(store, A, of)
        except PoolExhaustedError:
            return given


def number(address: str) -> int:
    return parse_address(address)[1]


def files(folder: Path, block: str = "10.1.0.0-29") -> dict[str, str]:
    """Return the address files of a block with their contents, as an admin sees them."""
    found = (folder / "pools" / block).glob("*")
    return {each.name: each.read_bytes().decode() for each in found if "last" not in each.name}


def plant(folder: Path, address: str, content: str = "c0ffee\r\nnet1") -> Path:
    file = folder / "pools" / "10.1.0.0-29" / address
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode())
    return file


def held(*addresses: str, block: str = BLOCK) -> list[Reservation]:
    return [Reservation(block, each) for each in addresses]


def texts(reservations: Sequence[Reservation]) -> list[str]:
    return [each.address for each in reservations]
