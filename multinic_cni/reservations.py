"""The store as the verbs use it: its errors become CNI errors with a code."""

from __future__ import annotations

from multinic_cni.cancellation import cancelled
from multinic_cni.errors import BAD_CONF, NO_ADDRESS, TRY_AGAIN, CniError, io_failure
from multinic_cni.log import log
from multinic_cni.values import Value
from multinic_ipam.locks import LockTimeoutError
from multinic_ipam.refusals import (
    BlockInUseError,
    NoAddressError,
    PoolExhaustedError,
    StoreError,
    TakenError,
)
from multinic_ipam.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from multinic_cni.addressing import Alternatives
    from multinic_ipam.pools import Pool
    from multinic_ipam.reservation import Owner, Reservation

    T = TypeVar("T")
    Address = tuple[Reservation, Pool]
    Addresses = list[list[Address]]  # of each NIC
    Commit = Callable[[Store, Addresses], None]

QUARANTINE_SECONDS = 600


class CrowdedError(CniError):
    """What others have reserved is in the way; a sweep may help, if their pods live no more."""


class ExhaustedError(CrowdedError):
    """A pool has no free address."""


class Want(Value):
    """What one NIC needs: an address of one of the alternative pools of each family.

    `asked` has the pod's own wishes, from family to address; `preferred` those that are taken
    before others if they are free, (family, address).
    """

    nic: str
    alternatives: Alternatives
    asked: Mapping[int, int] = {}  # never changed: a Value is frozen
    preferred: Sequence[tuple[int, int]] = ()
    cooldown: int = 0


class Account:
    """What one attachment does with the store while it is added."""

    def __init__(self, data_dir: str, deadline: float, owner: Owner) -> None:
        self._data_dir = data_dir
        self._deadline = deadline
        self._owner = owner

    def reserve(self, wanted: Callable[[Store], Sequence[Want]], commit: Commit) -> Addresses:
        """Reserve addresses for all NICs, or none; return those of each NIC.

        `wanted` says, under the lock, what each NIC needs, or refuses it. `commit` gets the
        addresses and writes the record: a killed call must leave no address that no record names.
        Raises CniError.
        """

        def choose_and_commit(store: Store) -> Addresses:
            chosen = choose_all(store, wanted(store))
            commit(store, chosen)
            self._create_files(store, [each for own in chosen for each in own])
            return chosen

        return with_store(self._data_dir, self._deadline, choose_and_commit)

    def replace(
        self, wants: Sequence[Want], held: Addresses, hits: Mapping[str, str], commit: Commit
    ) -> Addresses:
        """Put addresses that somebody else has in quarantine, and reserve others in their place.

        `hits` says for an address's text who has it. All addresses of each NIC are returned, the
        kept ones too. The rest is as for `reserve`.
        """

        def choose_and_commit(store: Store) -> Addresses:
            self._put_in_quarantine(store, held, hits)
            kept = [[each for each in own if each[0].address not in hits] for own in held]
            chosen = _complete(store, wants, kept)
            commit(store, chosen)
            known = {each.address for own in kept for each, _ in own}
            fresh = [each for own in chosen for each in own if each[0].address not in known]
            self._create_files(store, fresh)
            return chosen

        return with_store(self._data_dir, self._deadline, choose_and_commit)

    def quarantine(self, held: Addresses, hits: Mapping[str, str]) -> None:
        """Give addresses that somebody else has to nobody for a while; raises CniError."""
        with_store(
            self._data_dir,
            self._deadline,
            lambda store: self._put_in_quarantine(store, held, hits),
        )

    def _create_files(self, store: Store, addresses: Sequence[Address]) -> None:
        pools = [pool for _, pool in addresses]
        store.reserve([reservation for reservation, _ in addresses], pools, self._owner)

    def _put_in_quarantine(self, store: Store, held: Addresses, hits: Mapping[str, str]) -> None:
        for reservation in [each for own in held for each, _ in own if each.address in hits]:
            store.quarantine(reservation, QUARANTINE_SECONDS, hits[reservation.address])
            store.release([reservation], self._owner)


def choose_all(store: Store, wants: Sequence[Want]) -> Addresses:
    """Choose free addresses for all NICs without reserving them; raises NoAddressError."""
    return _complete(store, wants, [[] for _ in wants])


def _complete(store: Store, wants: Sequence[Want], kept: Addresses) -> Addresses:
    """Choose for each NIC what it lacks, in the order of its families.

    What is wished for comes first: NICs with the same pool must not take it from each other.
    """
    chosen = [list(own) for own in kept]
    for choose in (_wished, _any_free):
        for want, own in zip(wants, chosen, strict=True):
            for pools in want.alternatives:
                if any(pool.block.version == pools[0].block.version for _, pool in own):
                    continue
                taken = [reservation for each in chosen for reservation, _ in each]
                try:
                    found = choose(store, want, pools, taken)
                except NoAddressError as error:
                    raise type(error)(f"NIC {want.nic}: {error}") from None
                if found:
                    own.append(found)
    return [
        sorted(own, key=_place_in([pools[0].block.version for pools in want.alternatives]))
        for want, own in zip(wants, chosen, strict=True)
    ]


def _place_in(families: Sequence[int]) -> Callable[[Address], int]:
    return lambda address: families.index(address[1].block.version)


def _wished(
    store: Store, want: Want, pools: Sequence[Pool], taken: Sequence[Reservation]
) -> Address | None:
    """Take what the pod asks for, or what it had last if that is free."""
    version = pools[0].block.version
    if version in want.asked:
        number = want.asked[version]
        pool = next(pool for pool in pools if pool.contains(number) and not pool.excludes(number))
        return store.take(pool, number), pool
    held = {each.address for each in taken}
    for number in (number for family, number in want.preferred if family == version):
        for pool in pools:
            if pool.contains(number) and not pool.excludes(number):
                try:
                    reservation = store.take(pool, number)
                except NoAddressError as error:
                    log.info("the pod's last address is not free", reason=str(error))
                    continue
                if reservation.address not in held:
                    return reservation, pool
    return None


def _any_free(
    store: Store, want: Want, pools: Sequence[Pool], taken: Sequence[Reservation]
) -> Address:
    """Choose from the first pool with a free address; the error tells of all of them."""
    full = []
    for pool in pools:
        try:
            return store.choose(pool, taken, want.cooldown), pool
        except PoolExhaustedError as error:
            full.append(str(error))
    raise PoolExhaustedError("; ".join(full))


def with_store(data_dir: str, deadline: float, work: Callable[[Store], T]) -> T:
    """Do something under the store's lock; CniError 5, 7, 11 or 101."""
    return in_store(Store(data_dir, deadline, cancelled), data_dir, work)


def in_store(entered: Store, data_dir: str, work: Callable[[Store], T]) -> T:
    """Do something with a store that is opened for it; errors as with_store's."""
    try:
        with entered as store:
            return work(store)
    except LockTimeoutError:
        message = "the address store is locked by other calls; the deadline (timeout) passed"
        raise CniError(TRY_AGAIN, message, f"lock: {data_dir}/lock") from None
    except PoolExhaustedError as error:
        details = (
            "remove pods, or give the pool more addresses; `multinic-cni ipam list` shows who has"
            " which, `multinic-cni ipam check` what is wrong"
        )
        raise ExhaustedError(NO_ADDRESS, str(error), details) from None
    except TakenError as error:
        details = "ask for another address; `multinic-cni ipam list` shows who has which"
        raise CrowdedError(NO_ADDRESS, str(error), details) from None
    except NoAddressError as error:
        details = "ask for another address; `multinic-cni ipam list` shows who has which"
        raise CniError(NO_ADDRESS, str(error), details) from None
    except BlockInUseError as error:
        raise CrowdedError(BAD_CONF, str(error)) from None
    except StoreError as error:
        raise CniError(BAD_CONF, str(error)) from None
    except OSError as error:
        raise io_failure("use the address store", error) from error
