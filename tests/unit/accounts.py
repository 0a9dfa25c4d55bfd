"""One attachment's account with a store, and what it leaves on disk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from multinic_cni.errors import CniError
from multinic_cni.reservations import Account, Want
from multinic_ipam.networks import Network, parse_address
from multinic_ipam.pools import Pool
from multinic_ipam.reservation import Owner
from tests.unit.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from multinic_cni.attachments.record import Record
    from multinic_cni.reservations import Addresses
    from multinic_ipam.store import Store

OWNER = Owner("c0ffee", "net1")


def pool(block: str, excluded: Sequence[str] = ()) -> Pool:
    network = Network.parse(block)
    runs = [(number, number) for _, number in map(parse_address, excluded)]
    return Pool(network, prefix_length=network.length, excluded=runs)


def asking(want: Want, *addresses: str) -> Want:
    return want.but(asked=dict(parse_address(each) for each in addresses))


def soon() -> float:
    return time.monotonic() + 5


def account(data: Path, owner: Owner = OWNER) -> Account:
    return Account(str(data), soon(), owner)


def reserve(data: Path, *wants: Want, owner: Owner = OWNER) -> list[list[str]]:
    """Return each NIC's addresses."""
    return texts(account(data, owner).reserve(lambda _store: wants, unrecorded))


def unrecorded(_store: Store, _addresses: Addresses) -> None:
    """Stand for a record that nobody looks at."""


def texts(addresses: Addresses) -> list[list[str]]:
    return [[reservation.address for reservation, _ in own] for own in addresses]


def recorded(addresses: Addresses) -> Record:
    """Return the record that ADD would write: NIC by NIC what was chosen for it."""
    return record(complete=False).but(
        nics=tuple(
            record().nics[0].but(reservations=tuple(each for each, _ in own)) for own in addresses
        )
    )


def refusal(work: Callable[[], object]) -> CniError:
    with pytest.raises(CniError) as raised:
        work()
    return raised.value


def files(data: Path) -> set[str]:
    return {
        each.name
        for each in (data / "pools").rglob("*")
        if each.is_file() and "last" not in each.name
    }


RAIL0 = Want(nic="rail0", alternatives=[[pool("10.1.0.0/29")], [pool("fd00::/64")]])
RAIL1 = Want(nic="rail1", alternatives=[[pool("10.1.0.0/29")]])
SMALL = Want(nic="rail2", alternatives=[[pool("10.9.0.0/31"), pool("10.8.0.0/31")]])
