r"""The store of reservations: one file per address, in host-local's layout.

    <dataDir>/lock                          held for store operations only, never deleted
    <dataDir>/pools/<block>/<address>       "containerID\r\nifname" of the owner
    <dataDir>/pools/<block>/last_reserved_ip.0
    <dataDir>/turns/<page>                  when each address was freed: hints, see turns.py
    <dataDir>/quarantine/<address>          until when, and why, it is given to nobody
    <dataDir>/imported/<address>            the host-local folder whose file holds it as well

Files are found by their names alone, so that a call costs the same at any number of reservations.
"""

from __future__ import annotations

import os
from errno import EISDIR, ELOOP, ENOENT, ENOTDIR, ENXIO

from multinic_ipam.blocks import Blocks, addresses_in
from multinic_ipam.choosing import Choosing, cursor_name
from multinic_ipam.folders import Folder
from multinic_ipam.locks import lock, never
from multinic_ipam.networks import Network, format_address, parse_address
from multinic_ipam.notes import Notes
from multinic_ipam.quarantine import Quarantine
from multinic_ipam.refusals import NoAddressError, PoolExhaustedError, StoreError, TakenError
from multinic_ipam.reservation import Owner, Reservation
from multinic_ipam.turns import FREED_LONG_AGO, RESERVED, Turns, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from multinic_ipam.pools import Pool

LOCK = "lock"
POOLS = "pools"
PREPARED = ".reservation"
NO_FILE = frozenset({EISDIR, ELOOP, ENOTDIR, ENXIO})


class Store:
    """The reservations below one data directory; a context manager that holds the lock.

    Every change is made while the lock is held:

        with Store(directory, deadline) as store:
            reservation = store.choose(pool, ())
            …                                       # the caller writes its record
            store.reserve([reservation], [pool], owner)

    `root` is the data directory's folder, for what the caller keeps under the same lock.
    """

    def __init__(
        self, directory: str, deadline: float, called_off: Callable[[], bool] = never
    ) -> None:
        self._path = directory
        self._deadline = deadline
        self._called_off = called_off

    def __enter__(self) -> Self:
        """Take the lock; raises LockTimeoutError, OSError."""
        root = Folder.at(self._path)
        try:
            self._lock = root.lock_file(LOCK)
        except OSError:
            root.close()
            raise
        try:
            lock(self._lock, self._deadline, self._called_off)
            self._open(root)
        except BaseException:
            os.close(self._lock)
            root.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()
        os.close(self._lock)

    def _open(self, root: Folder) -> None:
        """Find the parts in the data directory, which is the caller's until then."""
        self.root = root
        self._blocks = Blocks(root.child(POOLS, create=True))
        self._turns = Turns(root)
        self._quarantine = Quarantine(root)
        self._choosing = Choosing(self._blocks, self._turns, self._quarantine)
        self.imported = Notes(root, "imported")

    def _close(self) -> None:
        for part in (self._blocks, self._turns, self._quarantine, self.imported, self.root):
            part.close()

    def choose(self, pool: Pool, chosen: Sequence[Reservation], cooldown: int = 0) -> Reservation:
        """Return a free address of the pool that is not among those chosen already.

        Addresses that were never given come first, from the last reserved one on; then the one that
        was freed first, if that is `cooldown` seconds ago. In a pool of more than 65,536 addresses
        this holds for so many at a time. Nothing is written but hints. Raises PoolExhaustedError,
        and StoreError where the pool's block overlaps another pool's without being equal to it.
        """
        self._refuse_overlap(pool.block)
        taken = _numbers(pool, chosen)
        number = self._choosing.next_free(pool, taken, cooldown)
        if number is None:
            raise PoolExhaustedError(self._choosing.why_none(pool, taken, cooldown))
        return _reservation(pool, number)

    def take(self, pool: Pool, number: int) -> Reservation:
        """Return one given address of the pool if it is free, rested or not; NoAddressError."""
        self._refuse_overlap(pool.block)
        reservation = _reservation(pool, number)
        folder = self._blocks.existing(pool.block)
        if folder is not None and folder.exists(reservation.address):
            owner = owner_in(folder, reservation.address)
            who = f"{owner.container_id} {owner.ifname}" if owner else "somebody unknown"
            raise TakenError(f"{reservation.address} is taken by {who}")
        why = self._quarantine.why(reservation.address)
        if why:
            raise NoAddressError(f"{reservation.address} is in quarantine: {why}")
        return reservation

    def reserve(
        self, reservations: Sequence[Reservation], pools: Sequence[Pool], owner: Owner
    ) -> None:
        """Create the address files of one owner, all or none.

        `pools` are those that the reservations were chosen from, in the same order. The cursors go
        first: a full disk is then met before anything is reserved. One file is written and linked
        under every name, so that each appears whole. Raises OSError; FileExistsError if a foreign
        program has taken an address since it was chosen.
        """
        cursors = {
            (str(pool.block), cursor_name(pool)): (pool, reservation.address)
            for reservation, pool in zip(reservations, pools, strict=True)
        }
        for (_, name), (pool, address) in cursors.items():
            self._blocks.made(pool.block).overwrite(name, address.encode())
        for reservation in reservations:
            self._forget_import(reservation.address)  # of an import that came to nothing
        self.restore(reservations, owner)

    def restore(self, reservations: Sequence[Reservation], owner: Owner) -> None:
        """Create address files, all or none, without moving the cursors.

        Raises as `reserve`, and StoreError for a block that overlaps another one in use.
        """
        made: list[Reservation] = []
        prepared = self._blocks.folder
        try:
            prepared.create(PREPARED, owner.content)
            for reservation in reservations:
                folder = self._blocks.made(Network.parse(reservation.block))
                prepared.publish(PREPARED, folder, reservation.address)
                made.append(reservation)
                self._turns.note(*parse_address(reservation.address), RESERVED)
        except (OSError, StoreError):
            self.release(made, owner, FREED_LONG_AGO)  # no pod has had them
            self._tidy()
            raise
        self._tidy()

    def release(
        self, reservations: Sequence[Reservation], owner: Owner, freed: int | None = None
    ) -> list[Reservation]:
        """Remove the owner's address files; return those that belong to somebody else.

        Missing ones are released already. A damaged file is the owner's, since his record names it
        and files of others appear whole; what is no file is nobody's. `freed` is the word from
        which they rest, by default that of this moment.
        """
        foreign = []
        for reservation in reservations:
            folder = self._blocks.existing(Network.parse(reservation.block))
            if folder is None:
                continue
            try:
                holder = Owner.read(folder.read(reservation.address))
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno not in NO_FILE:
                    raise
                foreign.append(reservation)
                continue
            if holder is None or holder.content == owner.content:
                word = now() if freed is None else freed
                self._turns.note(*parse_address(reservation.address), word)
                self._forget_import(reservation.address)
                folder.remove(reservation.address)
            else:
                foreign.append(reservation)
        return foreign

    def quarantine(self, reservation: Reservation, seconds: int, why: str) -> None:
        """Give an address to nobody for a while."""
        self._quarantine.put(reservation.address, seconds, why)

    def end_quarantine(self, address: str) -> None:
        self._quarantine.end(address)

    def is_reserved(self, reservation: Reservation) -> bool:
        """Tell whether an address has a file, a damaged one too."""
        folder = self._blocks.existing(Network.parse(reservation.block))
        return folder is not None and folder.exists(reservation.address)

    def begin_after(self, pool: Pool, address: str) -> bool:
        """Go on after an address when the next is given; a cursor that is there already stays."""
        folder, name = self._blocks.made(pool.block), cursor_name(pool)
        if folder.exists(name):
            return False
        folder.write(name, address.encode())
        return True

    def not_held(self, reservations: Sequence[Reservation], owner: Owner) -> list[Reservation]:
        """Return those of the reservations whose address file is not there or not the owner's."""
        return [each for each in reservations if not self._holds(each, owner)]

    def prove_writable(self) -> None:
        """Write and remove a file; raises OSError."""
        self._blocks.folder.create(PREPARED, b"\n")  # an empty file needs no room
        self._blocks.folder.remove(PREPARED)

    def addresses(self) -> Iterator[Reservation]:
        """Walk the names of all address files."""
        for block in self._blocks.all():
            folder = self._blocks.existing(block)
            for address in addresses_in(folder) if folder else ():
                yield Reservation(str(block), address)

    def owner_of(self, reservation: Reservation) -> Owner | None:
        """Return who holds an address, None if its file is damaged or has gone."""
        folder = self._blocks.existing(Network.parse(reservation.block))
        return None if folder is None else owner_in(folder, reservation.address)

    def reservations(self) -> Iterator[tuple[Reservation, Owner | None]]:
        """Walk all address files with their owners, None for a damaged one; slow."""
        for reservation in self.addresses():
            yield reservation, self.owner_of(reservation)

    def _forget_import(self, address: str) -> None:
        try:
            self.imported.remove(address)
        except OSError as error:
            if error.errno not in NO_FILE:
                raise
            # What is no file says nothing, and must keep no address from being freed.

    def _tidy(self) -> None:
        try:
            self._blocks.folder.remove(PREPARED)
        except OSError:
            return  # the next call removes it; all names that it was to get, it has

    def _holds(self, reservation: Reservation, owner: Owner) -> bool:
        folder = self._blocks.existing(Network.parse(reservation.block))
        try:
            return folder is not None and folder.read(reservation.address) == owner.content
        except OSError as error:
            if error.errno != ENOENT and error.errno not in NO_FILE:
                raise
            return False

    def _refuse_overlap(self, block: Network) -> None:
        if self._blocks.existing(block) is None:
            self._blocks.refuse_overlap(block)


def _numbers(pool: Pool, chosen: Sequence[Reservation]) -> list[int]:
    """Return the addresses of a pool among those chosen."""
    numbers = [parse_address(each.address) for each in chosen]
    return [number for version, number in numbers if pool.holds(version, number)]


def _reservation(pool: Pool, number: int) -> Reservation:
    return Reservation(str(pool.block), format_address(pool.block.version, number))


def owner_in(folder: Folder, address: str) -> Owner | None:
    """Return whom an address file names, None if it is damaged or has gone."""
    try:
        return Owner.read(folder.read(address))
    except OSError:
        return None  # a folder or a link in an address's place: damaged, too
