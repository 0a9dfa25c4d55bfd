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


class StoreError(Exception):
    """The store cannot do what is asked; the message says what to do."""


class PoolExhaustedError(StoreError):
    """No address of a pool is free."""


class Owner:
    """Who holds an address: the attachment's containerID and CNI_IFNAME."""

    __slots__ = ("container_id", "ifname")

    def __init__(self, container_id: str, ifname: str) -> None:
        self.container_id = container_id
        self.ifname = ifname

    @property
    def content(self) -> bytes:
        return f"{self.container_id}\r\n{self.ifname}".encode()

    @classmethod
    def read(cls, content: bytes) -> Owner | None:
        """Return the owner that an address file names, None if the file is damaged."""
        try:
            container_id, _, ifname = content.decode().strip().partition("\r\n")
        except UnicodeDecodeError:
            return None
        return cls(container_id, ifname) if container_id else None


class Reservation:
    """An address of a block, both as text: "10.1.0.7" of "10.1.0.0/24"."""

    __slots__ = ("address", "block")

    def __init__(self, block: str, address: str) -> None:
        self.block = block
        self.address = address

    def __repr__(self) -> str:
        return f"Reservation({self.block!r}, {self.address!r})"


class Store:
    """The reservations below one data directory; a context manager that holds the lock.

    Every change is made while the lock is held:

        with Store(directory, deadline) as store:
            reservation = store.choose(pool, ())
            …                                       # the caller writes its record
            store.reserve([reservation], owner)
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
        self._lock = self._root.lock_file(LOCK)
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

        Nothing is written but the pool's folder. Raises PoolExhaustedError, and StoreError where
        the pool's block overlaps another pool's without being equal to it.
        """
        block = str(pool.block)
        folder = self._pool_folder(pool.block)
        version = pool.block.version
        taken = {parse_address(other.address)[1] for other in chosen if other.block == block}
        for number in pool.free_after(self._last_reserved(folder, pool), taken):
            address = format_address(version, number)
            if not folder.exists(address):
                return Reservation(block, address)
        used = sum(1 for _ in self._addresses(folder))
        message = f"pool {pool} is exhausted: {used} of its {pool.size} addresses are reserved"
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
            self._pool_folder(pool.block).write(name, address.encode())
        try:
            self._pools.prepare(PREPARED, owner.content)
            for reservation in reservations:
                folder = self._pool_folder(Network.parse(reservation.block))
                self._pools.publish(PREPARED, folder, reservation.address)
                made.append(reservation)
        except OSError:
            self.release(made, owner)
            raise
        finally:
            self._pools.remove(PREPARED)

    def release(self, reservations: Sequence[Reservation], owner: Owner) -> list[Reservation]:
        """Remove the owner's address files; return those that belong to somebody else.

        Missing ones are released already. A damaged file is the owner's, since his record names it
        and files of others appear whole.
        """
        foreign = []
        for reservation in reservations:
            try:
                folder = self._pool_folder(Network.parse(reservation.block), create=False)
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

    def choose_from(
        self, pools: Sequence[Pool], chosen: Sequence[Reservation]
    ) -> tuple[Reservation, Pool]:
        """Choose from the first pool with a free address; the error tells of all of them."""
        full = []
        for pool in pools:
            try:
                return self.choose(pool, chosen), pool
            except PoolExhaustedError as error:
                full.append(str(error))
        raise PoolExhaustedError("; ".join(full))

    def prove_usable(self, wanted: Sequence[Sequence[Pool]]) -> None:
        """Write and remove a file, and choose an address from each list of pools without taking it.

        Raises OSError, PoolExhaustedError, StoreError.
        """
        self._pools.prepare(PREPARED, b"")
        self._pools.remove(PREPARED)
        for pools in wanted:
            self.choose_from(pools, ())

    def reservations(self) -> Iterator[tuple[Reservation, Owner | None]]:
        """Walk all address files with their owners, None for a damaged one; slow."""
        for block in self._blocks():
            folder = self._pool_folder(block)
            for address in self._addresses(folder):
                yield Reservation(str(block), address), Owner.read(folder.read(address))

    def used(self, pool: Pool) -> int:
        """Count the pool's addresses that are reserved. Not for the hot path."""
        try:
            folder = self._pool_folder(pool.block, create=False)
        except FileNotFoundError:
            return 0
        numbers = [parse_address(address)[1] for address in self._addresses(folder)]
        return sum(1 for number in numbers if pool.start <= number <= pool.end)

    def _holds(self, reservation: Reservation, owner: Owner) -> bool:
        try:
            folder = self._pool_folder(Network.parse(reservation.block), create=False)
            return folder.read(reservation.address) == owner.content
        except FileNotFoundError:
            return False

    def _pool_folder(self, block: Network, *, create: bool = True) -> Folder:
        name = _folder_name(block)
        if name not in self._open:
            if create and not self._pools.exists(name):
                self._refuse_overlap(block)
            self._open[name] = self._pools.child(name, create=create)
        return self._open[name]

    def _refuse_overlap(self, block: Network) -> None:
        """Compare a new block with those that have a folder; an abandoned empty one goes."""
        for other in self._blocks():
            if not other.overlaps(block):
                continue
            with self._pools.child(_folder_name(other), create=False) as folder:
                if any(True for _ in self._addresses(folder)):
                    message = (
                        f"pool {block} overlaps pool {other}, which has addresses in use: give the"
                        " networks disjoint blocks, or the same"
                    )
                    raise StoreError(message)
                for name in folder.names():
                    folder.remove(name)
            self._pools.remove_child(_folder_name(other))

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
        except (FileNotFoundError, NetworkError, UnicodeDecodeError):
            return None  # the cursor is only a preference: without one the pool starts anew


def _folder_name(block: Network) -> str:
    return f"{format_address(block.version, block.first)}-{block.length}"


def _cursor(pool: Pool) -> str:
    """Name the cursor's file: .0 for a whole block, as host-local does, else by the start."""
    version = pool.block.version
    whole = pool.start == pool.block.first + 1 or pool.start == pool.block.first
    return CURSOR + ("0" if whole else format_address(version, pool.start))
