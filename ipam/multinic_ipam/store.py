r"""The store of reservations: one file per address, in host-local's layout.

    <dataDir>/lock                          held for store operations only, never deleted
    <dataDir>/pools/<block>/<address>       "containerID\r\nifname" of the owner
    <dataDir>/pools/<block>/last_reserved_ip.0

Files are found by their names alone, so that a call costs the same at any number of reservations.
"""

from __future__ import annotations

import os

from multinic_ipam.folders import Folder
from multinic_ipam.locks import lock, never
from multinic_ipam.networks import Network, NetworkError, format_address, parse_address
from multinic_ipam.reservation import Owner, Reservation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from multinic_ipam.pools import Pool

LOCK = "lock"
POOLS = "pools"
PREPARED = ".reservation"
CURSOR = "last_reserved_ip."
PATIENCE = 64  # addresses looked at one by one, before the folder is read


class StoreError(Exception):
    """The store cannot do what is asked; the message says what to do."""


class PoolExhaustedError(StoreError):
    """No address of a pool is free."""


class Store:
    """The reservations below one data directory; a context manager that holds the lock.

    Every change is made while the lock is held:

        with Store(directory, deadline) as store:
            reservation = store.choose(pool, ())
            …                                       # the caller writes its record
            store.reserve([reservation], [pool], owner)
    """

    def __init__(
        self, directory: str, deadline: float, called_off: Callable[[], bool] = never
    ) -> None:
        self._path = directory
        self._deadline = deadline
        self._called_off = called_off

    def __enter__(self) -> Self:
        """Take the lock; raises LockTimeoutError, OSError."""
        self._root = Folder.at(self._path)
        try:
            self._lock = self._root.lock_file(LOCK)
        except OSError:
            self._root.close()
            raise
        try:
            lock(self._lock, self._deadline, self._called_off)
            self._pools = self._root.child(POOLS, create=True)
        except BaseException:
            os.close(self._lock)
            self._root.close()
            raise
        self._open: dict[str, Folder] = {}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for folder in (*self._open.values(), self._pools, self._root):
            folder.close()
        os.close(self._lock)

    def choose(self, pool: Pool, chosen: Sequence[Reservation]) -> Reservation:
        """Return a free address of the pool that is not among those chosen already.

        Nothing is written. Raises PoolExhaustedError, and StoreError where the pool's block
        overlaps another pool's without being equal to it.
        """
        block = str(pool.block)
        version = pool.block.version
        taken = {parse_address(other.address)[1] for other in chosen if other.block == block}
        chosen_here = sum(1 for number in taken if pool.start <= number <= pool.end)
        folder = self._existing_folder(pool.block)
        if folder is None:
            self._refuse_overlap(pool.block)
        cursor = None if folder is None else self._last_reserved(folder, pool)
        for misses, number in enumerate(pool.free_after(cursor, taken), 1):
            address = format_address(version, number)
            if folder is None or not folder.exists(address):
                return Reservation(block, address)
            if misses == PATIENCE:
                # The pool is crowded here: one look at the folder instead of one at each address.
                taken |= {parse_address(name)[1] for name in self._addresses(folder)}
        used = self.used(pool) + chosen_here
        message = f"pool {pool} is exhausted: {used} of its {pool.size} addresses are reserved"
        if used < pool.size:
            message += ", the others are never given (gateways, the node's own, excludeCIDRs)"
        raise PoolExhaustedError(message)

    def reserve(
        self, reservations: Sequence[Reservation], pools: Sequence[Pool], owner: Owner
    ) -> None:
        """Create the address files of one owner, all or none.

        `pools` are those that the reservations were chosen from, in the same order. The cursors go
        first: a full disk is then met before anything is reserved. One file is written and linked
        under every name, so that each appears whole. Raises OSError; FileExistsError if a foreign
        program has taken an address since it was chosen.
        """
        made: list[Reservation] = []
        cursors = {
            (str(pool.block), _cursor(pool)): (pool, reservation.address)
            for reservation, pool in zip(reservations, pools, strict=True)
        }
        for (_, name), (pool, address) in cursors.items():
            self._made_folder(pool.block).write(name, address.encode())
        try:
            self._pools.create(PREPARED, owner.content)
            for reservation in reservations:
                folder = self._made_folder(Network.parse(reservation.block))
                self._pools.publish(PREPARED, folder, reservation.address)
                made.append(reservation)
        except OSError:
            self.release(made, owner)
            self._tidy()
            raise
        self._tidy()

    def release(self, reservations: Sequence[Reservation], owner: Owner) -> list[Reservation]:
        """Remove the owner's address files; return those that belong to somebody else.

        Missing ones are released already. A damaged file is the owner's, since his record names it
        and files of others appear whole.
        """
        foreign = []
        for reservation in reservations:
            folder = self._existing_folder(Network.parse(reservation.block))
            if folder is None:
                continue
            try:
                content = folder.read(reservation.address)
            except FileNotFoundError:
                continue
            holder = Owner.read(content)
            if holder is None or holder.content == owner.content:
                folder.remove(reservation.address)
            else:
                foreign.append(reservation)
        return foreign

    def not_held(self, reservations: Sequence[Reservation], owner: Owner) -> list[Reservation]:
        """Return those of the reservations whose address file is not there or not the owner's."""
        return [each for each in reservations if not self._holds(each, owner)]

    def prove_writable(self) -> None:
        """Write and remove a file; raises OSError."""
        self._pools.create(PREPARED, b"")
        self._pools.remove(PREPARED)

    def reservations(self) -> Iterator[tuple[Reservation, Owner | None]]:
        """Walk all address files with their owners, None for a damaged one; slow."""
        for block in self._blocks():
            folder = self._made_folder(block)
            for address in self._addresses(folder):
                yield Reservation(str(block), address), _owner(folder, address)

    def used(self, pool: Pool) -> int:
        """Count the pool's addresses that are reserved; slow."""
        folder = self._existing_folder(pool.block)
        if folder is None:
            return 0
        numbers = [parse_address(address)[1] for address in self._addresses(folder)]
        return sum(1 for number in numbers if pool.start <= number <= pool.end)

    def _tidy(self) -> None:
        try:
            self._pools.remove(PREPARED)
        except OSError:
            return  # the next call removes it; all names that it was to get, it has

    def _holds(self, reservation: Reservation, owner: Owner) -> bool:
        folder = self._existing_folder(Network.parse(reservation.block))
        try:
            return folder is not None and folder.read(reservation.address) == owner.content
        except FileNotFoundError:
            return False

    def _existing_folder(self, block: Network) -> Folder | None:
        name = _folder_name(block)
        if name not in self._open:
            try:
                self._open[name] = self._pools.child(name, create=False)
            except FileNotFoundError:
                return None
        return self._open[name]

    def _made_folder(self, block: Network) -> Folder:
        folder = self._existing_folder(block)
        if folder is None:
            self._retire_abandoned(block)
            folder = self._open[_folder_name(block)] = self._pools.child(
                _folder_name(block), create=True
            )
        return folder

    def _refuse_overlap(self, block: Network) -> None:
        for other in self._overlapping(block):
            with self._pools.child(_folder_name(other), create=False) as folder:
                if any(True for _ in self._addresses(folder)):
                    message = (
                        f"pool {block} overlaps pool {other}, which has addresses in use: give the"
                        " networks disjoint blocks, or the same"
                    )
                    raise StoreError(message)

    def _retire_abandoned(self, block: Network) -> None:
        """Remove the empty folders of blocks that a new one overlaps: confs have been edited."""
        self._refuse_overlap(block)
        for other in self._overlapping(block):
            if _folder_name(other) in self._open:
                raise StoreError(f"pools {block} and {other} of one network overlap")
            with self._pools.child(_folder_name(other), create=False) as folder:
                for name in folder.names():
                    folder.remove(name)
            self._pools.remove_child(_folder_name(other))

    def _overlapping(self, block: Network) -> list[Network]:
        return [other for other in self._blocks() if other.overlaps(block) and other != block]

    def _blocks(self) -> Iterator[Network]:
        for name in self._pools.names():
            address, _, length = name.rpartition("-")
            try:
                yield Network.parse(f"{address}/{length}")
            except NetworkError:
                continue  # not one of ours: left alone

    def _addresses(self, folder: Folder) -> Iterator[str]:
        for name in folder.names():
            try:
                parse_address(name)
            except NetworkError:
                continue  # a cursor or a stranger's file
            yield name

    def _last_reserved(self, folder: Folder, pool: Pool) -> int | None:
        try:
            return parse_address(folder.read(_cursor(pool)).decode().strip())[1]
        except (OSError, NetworkError, UnicodeDecodeError):
            return None  # the cursor is only a preference: without one the pool starts anew


def _owner(folder: Folder, address: str) -> Owner | None:
    try:
        return Owner.read(folder.read(address))
    except OSError:
        return None  # a folder or a link in an address's place: damaged, too


def _folder_name(block: Network) -> str:
    return f"{format_address(block.version, block.first)}-{block.length}"


def _cursor(pool: Pool) -> str:
    """Name the cursor's file: .0 for a whole block, as host-local does, else by the start."""
    version = pool.block.version
    whole = pool.start == pool.block.first + 1 or pool.start == pool.block.first
    return CURSOR + ("0" if whole else format_address(version, pool.start))
