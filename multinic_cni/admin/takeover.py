r"""Take over the addresses of a folder of host-local, whose pods go on: `ipam import`.

<folder>/<address>              "containerID\r\nifname"; in old ones the containerID alone
<folder>/last_reserved_ip.<n>   where host-local goes on in its n-th list of ranges
<folder>/lock                   held by host-local while it reads or writes here
"""

from __future__ import annotations

import os
import time
from itertools import islice

from multinic_cni.admin.stock import LOCK_SECONDS
from multinic_cni.errors import BAD_CONF, TRY_AGAIN, CniError
from multinic_cni.reservations import with_store
from multinic_cni.upkeep.imports import source_of
from multinic_cni.upkeep.reboot import reclaim_after_boot
from multinic_cni.values import Value
from multinic_ipam.choosing import CURSOR
from multinic_ipam.folders import Folder
from multinic_ipam.locks import LockTimeoutError, lock
from multinic_ipam.networks import NetworkError, format_address, parse_address
from multinic_ipam.pools import Pool
from multinic_ipam.reservation import Reservation
from multinic_ipam.store import owner_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from multinic_ipam.networks import Network
    from multinic_ipam.reservation import Owner
    from multinic_ipam.store import Store

    Walk = Callable[[list[str]], Iterable[str]]

LOCK = "lock"
BATCH = 500  # addresses for which the store is locked at once: calls come in between


class Refused(Value):
    """A file that was not taken over."""

    name: str
    reason: str


class Takeover:
    """What has become of a folder's files."""

    def __init__(self) -> None:
        self.imported: list[str] = []
        self.present = 0  # they were ours already
        self.outside = 0  # of the subnet
        self.refused: list[Refused] = []
        self.cursor = ""


def take_over(
    data_dir: str, folder: str, subnet: Network, *, dry_run: bool = False, walk: Walk = iter
) -> Takeover:
    """Make all addresses of the subnet that the folder has ours as well.

    They keep their owners, and count as stale once host-local's own file has gone. `walk` is given
    the files' names, to show how far it is. What is interrupted goes on when it is called again.
    Raises CniError, OSError.
    """
    with Folder.existing(os.path.abspath(folder)) as source:
        if f"{os.path.realpath(folder)}/".startswith(f"{os.path.realpath(data_dir)}/"):
            raise CniError(BAD_CONF, f"{folder} lies in our own data directory {data_dir}")
        if not dry_run:
            # Else the first call after a boot would take what comes now for an earlier boot's.
            reclaim_after_boot(data_dir, time.monotonic() + LOCK_SECONDS)
        held = _locked(source)
        try:
            names = [
                each for each in source.names() if each != LOCK and not each.startswith(CURSOR)
            ]
            mover = _Mover(source, subnet, dry_run=dry_run)
            walking = iter(walk(names))
            while batch := list(islice(walking, BATCH)):
                mover.move(data_dir, batch)
            mover.move_cursor(data_dir)
        finally:
            os.close(held)
    return mover.taken


def _locked(source: Folder) -> int:
    """Lock the folder against host-local."""
    names = source.names()
    if LOCK not in names and not any(name.startswith(CURSOR) for name in names):
        message = f"{source.path} is no folder of host-local: it has no {LOCK} and no {CURSOR}0"
        raise CniError(BAD_CONF, message)
    descriptor = source.lock_file(LOCK)
    try:
        lock(descriptor, time.monotonic() + LOCK_SECONDS)
    except LockTimeoutError:
        os.close(descriptor)
        message = f"host-local's lock {source.path}/{LOCK} is held by another process"
        raise CniError(TRY_AGAIN, message) from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


class _Mover:
    """Moves one folder's addresses; `taken` says what has become of them so far."""

    def __init__(self, source: Folder, subnet: Network, *, dry_run: bool) -> None:
        self.taken = Takeover()
        self._source = source
        self._subnet = subnet
        self._dry_run = dry_run

    def move(self, data_dir: str, names: Sequence[str]) -> None:
        def move_all(store: Store | None) -> None:
            for name in names:
                refusal = self._move_one(store, name)
                if refusal:
                    self.taken.refused.append(Refused(name=name, reason=refusal))

        self._with_store(data_dir, move_all)

    def move_cursor(self, data_dir: str) -> None:
        address = self._last_reserved()

        def move(store: Store | None) -> None:
            if address and store and not self._dry_run:
                store.begin_after(Pool(self._subnet, prefix_length=self._subnet.length), address)

        self._with_store(data_dir, move)
        self.taken.cursor = address

    def _with_store(self, data_dir: str, work: Callable[[Store | None], None]) -> None:
        """Work under the store's lock; a dry run makes no store where there is none."""
        if self._dry_run and not os.path.isdir(data_dir):
            work(None)
        else:
            with_store(data_dir, time.monotonic() + LOCK_SECONDS, work)

    def _move_one(self, store: Store | None, name: str) -> str:
        """Return why a file is refused; empty if it is not."""
        try:
            version, number = parse_address(name)
        except NetworkError:
            return "is no address"
        if not self._subnet.holds(version, number):
            self.taken.outside += 1
            return ""
        usual = format_address(version, number)
        owner = owner_in(self._source, name)
        if name != usual or owner is None:
            return "does not say whose it is" if owner is None else f"would be called {usual} here"
        reservation = Reservation(str(self._subnet), name)
        is_here = store is not None and store.is_reserved(reservation)
        holder = store.owner_of(reservation) if store and is_here else owner
        if holder is None or holder.content != owner.content:
            whose = f"{holder.container_id} {holder.ifname}" if holder else "somebody unknown"
            return f"belongs to {whose} here, to {owner.container_id} {owner.ifname} there"
        if store and not self._dry_run:
            self._note_and_reserve(store, reservation, owner, is_here=is_here)
        self.taken.present += is_here
        self.taken.imported += [] if is_here else [name]
        return ""

    def _note_and_reserve(
        self, store: Store, reservation: Reservation, owner: Owner, *, is_here: bool
    ) -> None:
        # The note first: a reservation without one is an orphan, which `gc` frees.
        if source_of(store.imported, reservation.address) != self._source.path:
            store.imported.write(reservation.address, self._source.path)
        try:
            if not is_here:
                store.restore([reservation], owner)
        except BaseException:
            store.imported.remove(reservation.address)
            raise

    def _last_reserved(self) -> str:
        """Return the newest of host-local's cursors in the subnet; empty where there is none."""
        found = []
        for name in self._source.names():
            if not name.startswith(CURSOR):
                continue
            try:
                address = self._source.read(name).decode().strip()
                place = parse_address(address)
            except (NetworkError, UnicodeDecodeError):
                continue
            written = os.stat(name, dir_fd=self._source.descriptor).st_mtime
            found += [(written, address)] if self._subnet.holds(*place) else []
        return max(found, default=(0.0, ""))[1]
