"""Who has what: every address file, with the record and the pod that stand behind it."""

from __future__ import annotations

import os
import time

from multinic_cni.attachments.claim import key_of
from multinic_cni.attachments.records import all_records
from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.liveness import Living
from multinic_cni.reservations import with_store
from multinic_cni.upkeep.imports import is_held_at_source, source_of
from multinic_cni.values import Value
from multinic_ipam.reservation import Owner
from multinic_ipam.survey import freed_at, leftovers, quarantined, survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_ipam.networks import Network
    from multinic_ipam.reservation import Reservation
    from multinic_ipam.store import Store
    from multinic_ipam.survey import AddressFile

# What an address file is worth.
LIVE = "live"  # a pod has it
IMPORTED = "imported"  # host-local's pod has it
UNKNOWN = "unknown"  # its record cannot be read
STALE = "stale"  # its pod has gone
ORPHANED = "orphaned"  # nothing stands behind it
DAMAGED = "damaged"  # it does not say whose it is
STATES = (LIVE, IMPORTED, UNKNOWN, STALE, ORPHANED, DAMAGED)
# Of addresses that have no file.
QUARANTINED, FREE = "quarantined", "free"

LOCK_SECONDS = 60.0


class Attachment(Value):
    """A record as it was found; `trouble` says why it could not be read.

    `damaged` is the trouble of one that nobody can read, unlike one of a later release. `lives` is
    true, too, where nobody can know.
    """

    network: str
    key: str
    record: Record | None = None
    trouble: str = ""
    damaged: bool = False
    lives: bool = True

    @property
    def owner(self) -> Owner:
        container_id, _, ifname = self.key.partition(":")
        return Owner(container_id, ifname)

    @property
    def pod(self) -> str:
        """Name the pod for people: "namespace/name" if the runtime has said it."""
        return (self.record and self.record.pod) or self.owner.container_id

    def has(self, reservation: Reservation) -> bool:
        """Tell whether the record names the address, in that block."""
        return self.nic_of(reservation) is not None

    def nic_of(self, reservation: Reservation) -> NicRecord | None:
        for nic in self.record.nics if self.record else ():
            for each in nic.reservations:
                if (each.block, each.address) == (reservation.block, reservation.address):
                    return nic
        return None


class Holding(Value):
    """A reserved address.

    `attachment` is the owner's own that has the address, or may have it. `named_by` are all that
    name it: more than one after a mistake. `keeper` says what forbids to free it; empty if nothing
    does.
    """

    reservation: Reservation
    owner: Owner | None
    since: float
    state: str
    attachment: Attachment | None
    named_by: tuple[Attachment, ...]
    source: str | None
    keeper: str

    @property
    def pod(self) -> str:
        if self.attachment:
            return self.attachment.pod
        return self.owner.container_id if self.owner else ""


class Rest(Value):
    """An address in quarantine, until that time (seconds since 1970)."""

    address: str
    until: int
    why: str

    @property
    def is_over(self) -> bool:
        return self.until <= time.time()


class Stock(Value):
    """The whole store at one moment; see Survey for strangers and overlaps."""

    attachments: Sequence[Attachment]
    holdings: Sequence[Holding]
    quarantine: Sequence[Rest]
    strangers: Sequence[tuple[str, str]]
    overlaps: Sequence[tuple[Network, Network]]
    unfinished: Sequence[str]

    def of(self, address: str) -> list[Holding]:
        """Return an address's files: one, or none, or after a mistake one in each of two blocks."""
        return [each for each in self.holdings if each.reservation.address == address]

    def living_with(self, address: str) -> list[Attachment]:
        """Return the living attachments that name an address."""
        return [each for each in self.attachments if each.lives and address in _addresses(each)]

    def involved_in(self, address: str) -> set[tuple[str, str]]:
        """Return the attachments, (network, key), that may have to do with an address."""
        owners = {
            key_of(each.owner.container_id, each.owner.ifname)
            for each in self.of(address)
            if each.owner
        }
        return {
            (each.network, each.key)
            for each in self.attachments
            if each.key in owners or address in _addresses(each)
        }


def inspect(data_dir: str, only: Container[str] | None = None) -> Stock:
    """Take stock of a data directory that is there; CniError, OSError."""
    try:
        os.stat(data_dir)
    except FileNotFoundError:
        message = f"no data directory {data_dir}: no call on this node has made it (dataDir)"
        raise CniError(BAD_CONF, message) from None
    deadline = time.monotonic() + LOCK_SECONDS
    return with_store(data_dir, deadline, lambda store: take_stock(store, data_dir, only))


def when_freed(data_dir: str, address: str) -> float | None:
    """Return when an address was freed last, in seconds since 1970; None if nobody knows."""
    deadline = time.monotonic() + LOCK_SECONDS
    return with_store(data_dir, deadline, lambda store: freed_at(store.root, address))


def take_stock(store: Store, data_dir: str, only: Container[str] | None = None) -> Stock:
    """Look at everything, or at some addresses only and everything behind them.

    The store's lock is held: under it every ADD writes its record and its address files.
    """
    found = survey(store.root, only)
    attachments = list(_attachments(data_dir))
    judge = _Judge(store, attachments)
    return Stock(
        attachments=attachments,
        holdings=[judge.holding(file) for file in found.files],
        quarantine=[
            Rest(address=address, until=until, why=why)
            for address, until, why in quarantined(store.root)
            if only is None or address in only
        ],
        strangers=found.strangers,
        overlaps=found.overlaps,
        unfinished=leftovers(store.root),
    )


def _attachments(data_dir: str) -> Iterator[Attachment]:
    living = Living()
    for seen in all_records(data_dir):
        network, key = seen.network, seen.key
        if seen.record is not None:
            yield _read(network, key, seen.record, living)
        else:
            yield Attachment(network=network, key=key, trouble=seen.trouble, damaged=seen.damaged)


def _read(network: str, key: str, record: Record, living: Living) -> Attachment:
    if (record.network, key_of(record.container_id, record.ifname)) != (network, key):
        trouble = f"record {key} of network {network} is a copy of another attachment's"
        return Attachment(network=network, key=key, trouble=trouble, damaged=True)
    return Attachment(network=network, key=key, record=record, lives=living.has(record))


def _addresses(attachment: Attachment) -> set[str]:
    record = attachment.record
    return {each.address for each in record.reservations} if record else set()


class _Judge:
    """Says what address files are worth."""

    def __init__(self, store: Store, attachments: Sequence[Attachment]) -> None:
        self._imported = store.imported
        self._naming: dict[str, list[Attachment]] = {}
        for each in attachments:
            for address in _addresses(each):
                self._naming.setdefault(address, []).append(each)
        self._unreadable = {each.key: each for each in attachments if each.record is None}

    def holding(self, file: AddressFile) -> Holding:
        reservation, owner = file.reservation, file.owner
        naming = self._naming.get(reservation.address, [])
        attachment = None
        if owner is not None:
            own = [each for each in naming if each.owner.content == owner.content]
            attachment = next((each for each in own if each.has(reservation)), None)
        source = None if attachment else source_of(self._imported, reservation.address)
        state = self._state(file, attachment, source)
        return Holding(
            reservation=reservation,
            owner=owner,
            since=file.since,
            state=state,
            attachment=self._unreadable_of(owner) if state == UNKNOWN else attachment,
            named_by=tuple(naming),
            source=source,
            keeper=self._keeper(state, owner, naming, source),
        )

    def _state(self, file: AddressFile, attachment: Attachment | None, source: str | None) -> str:
        if file.owner is None:
            return DAMAGED
        if attachment:
            return LIVE if attachment.lives else STALE
        if self._unreadable_of(file.owner):
            return UNKNOWN
        if source is None:
            return ORPHANED
        held = is_held_at_source(source, file.reservation.address)
        return IMPORTED if held else STALE

    def _keeper(
        self, state: str, owner: Owner | None, naming: Sequence[Attachment], source: str | None
    ) -> str:
        for each in naming:
            if each.lives:
                return f"pod {each.pod} ({each.owner.ifname}, network {each.network}) lives"
        if state == IMPORTED:
            if source and os.path.isdir(source):
                return f"host-local's file in {source} still says whose it is"
            return f"nobody can know whether its pod lives: {source} cannot be read"
        unreadable = self._unreadable_of(owner)
        return f"nobody can know whether its pod lives: {unreadable.trouble}" if unreadable else ""

    def _unreadable_of(self, owner: Owner | None) -> Attachment | None:
        """Return an attachment that cannot be read and may be the owner's; nobody's, any."""
        if owner is None:
            return next(iter(self._unreadable.values()), None)
        return self._unreadable.get(key_of(owner.container_id, owner.ifname))
