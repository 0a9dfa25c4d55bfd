"""All that lies in a store, strangers and leftovers too: for people's tools, not for calls.

Everything here reads whole folders. The store's lock is held.
"""

from __future__ import annotations

import os
from itertools import combinations

from multinic_ipam.blocks import block_named
from multinic_ipam.choosing import CURSOR
from multinic_ipam.folders import Folder, is_unfinished
from multinic_ipam.networks import Network, NetworkError, format_address, parse_address
from multinic_ipam.quarantine import Quarantine
from multinic_ipam.reservation import Reservation
from multinic_ipam.store import LOCK, POOLS, PREPARED, owner_in
from multinic_ipam.turns import FREED_LONG_AGO, RESERVED, SECOND, U64, Turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from multinic_ipam.reservation import Owner


class AddressFile:
    """An address's file: whom it names (None if it is damaged) and when it was written."""

    __slots__ = ("owner", "reservation", "since")

    def __init__(self, reservation: Reservation, owner: Owner | None, since: float) -> None:
        self.reservation = reservation
        self.owner = owner
        self.since = since


class Survey:
    """What the folders of all blocks hold.

    `strangers` are files that are none of the store's, (path below the data directory, what is
    wrong with it). `overlaps` are pairs of blocks that both have addresses.
    """

    __slots__ = ("files", "overlaps", "strangers")

    def __init__(self) -> None:
        self.files: list[AddressFile] = []
        self.strangers: list[tuple[str, str]] = []
        self.overlaps: list[tuple[Network, Network]] = []


def survey(root: Folder, only: Container[str] | None = None) -> Survey:
    """Look at all address files, or at those of some addresses."""
    found = Survey()
    used = []
    with root.child(POOLS, create=False) as pools:
        for name in pools.names():
            block = block_named(name)
            if block is not None and _is_folder(pools, name):
                before = len(found.files)
                with pools.child(name, create=False) as folder:
                    _look_into(folder, block, only, found)
                used += [block] if len(found.files) > before else []
            elif name != PREPARED and not is_unfinished(name):
                found.strangers.append((f"{POOLS}/{name}", "is no block's folder"))
    found.overlaps = [(one, other) for one, other in combinations(used, 2) if one.overlaps(other)]
    return found


def leftovers(root: Folder) -> list[str]:
    """Return the paths, below the data directory, of files that killed calls did not finish."""
    found = []
    for path, _, names, _ in os.fwalk(".", dir_fd=root.descriptor):
        below = "" if path == "." else path.removeprefix("./") + "/"
        found += [below + name for name in names if is_unfinished(name) or name == PREPARED]
    return sorted(found)


def quarantined(root: Folder) -> list[tuple[str, int, str]]:
    """Return (address, until, why) of each note, those that have expired too."""
    quarantine = Quarantine(root)
    try:
        return list(quarantine.notes())
    finally:
        quarantine.close()


def freed_at(root: Folder, address: str) -> float | None:
    """Return when an address was freed last, in seconds since 1970; None if nobody knows."""
    version, number = parse_address(address)
    turns = Turns(root)
    try:
        (word,) = U64.unpack(turns.window(version, number, number).words)
    finally:
        turns.close()
    return word / SECOND if FREED_LONG_AGO < word < RESERVED else None


def _look_into(folder: Folder, block: Network, only: Container[str] | None, found: Survey) -> None:
    for name in folder.names():
        if name == LOCK or name.startswith(CURSOR) or is_unfinished(name):
            continue  # the lock is host-local's, which may work on the folder as well
        trouble = _trouble(name, block)
        if trouble:
            block_name = os.path.basename(folder.path)
            found.strangers.append((f"{POOLS}/{block_name}/{name}", trouble))
        elif only is None or name in only:
            try:
                status = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
            except FileNotFoundError:
                continue  # host-local has freed it since
            reservation = Reservation(str(block), name)
            found.files.append(AddressFile(reservation, owner_in(folder, name), status.st_mtime))


def _trouble(name: str, block: Network) -> str:
    """Say why a name is none of an address of the block; empty if it is one."""
    try:
        version, number = parse_address(name)
    except NetworkError:
        return "is no address"
    if not block.holds(version, number):
        return f"lies outside {block}"
    usual = format_address(version, number)
    return "" if name == usual else f"would be called {usual}"


def _is_folder(pools: Folder, name: str) -> bool:
    try:
        pools.child(name, create=False).close()
    except NotADirectoryError:
        return False
    return True
