"""The store as the verbs use it: its errors become CNI errors with a code."""

from __future__ import annotations

from multinic_cni.cancellation import cancelled
from multinic_cni.errors import BAD_CONF, NO_ADDRESS, TRY_AGAIN, CniError, io_failure
from multinic_cni.log import log
from multinic_ipam.locks import LockTimeoutError
from multinic_ipam.reservation import Owner
from multinic_ipam.store import PoolExhaustedError, Store, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from multinic_cni.addressing import Alternatives
    from multinic_cni.attachments.record import Record
    from multinic_ipam.pools import Pool
    from multinic_ipam.reservation import Reservation

    T = TypeVar("T")
    Addresses = list[tuple[Reservation, Pool]]


def reserve(
    data_dir: str,
    deadline: float,
    nics: Sequence[tuple[str, Alternatives]],
    commit: Callable[[list[Addresses]], Record],
) -> Record:
    """Reserve addresses for all NICs, or none, and return the record that says so.

    `nics` are (name, pools by family). `commit` gets each NIC's addresses, writes the record and
    returns it: a killed call must leave no address that no record names. Raises CniError.
    """

    def choose_and_commit(store: Store) -> Record:
        chosen = choose_all(store, nics)
        record = commit(chosen)
        flat = [each for addresses in chosen for each in addresses]
        owner = Owner(record.container_id, record.ifname)
        store.reserve([reservation for reservation, _ in flat], [pool for _, pool in flat], owner)
        return record

    return with_store(data_dir, deadline, choose_and_commit)


def choose_all(store: Store, nics: Sequence[tuple[str, Alternatives]]) -> list[Addresses]:
    """Choose free addresses for all NICs without reserving them; raises PoolExhaustedError."""
    chosen: list[Addresses] = []
    for nic, alternatives in nics:
        taken = [reservation for addresses in chosen for reservation, _ in addresses]
        try:
            chosen.append([_choose_from(store, pools, taken) for pools in alternatives])
        except PoolExhaustedError as error:
            raise PoolExhaustedError(f"NIC {nic}: {error}") from None
    return chosen


def _choose_from(
    store: Store, pools: Sequence[Pool], taken: Sequence[Reservation]
) -> tuple[Reservation, Pool]:
    """Choose from the first pool with a free address; the error tells of all of them."""
    full = []
    for pool in pools:
        try:
            return store.choose(pool, taken), pool
        except PoolExhaustedError as error:
            full.append(str(error))
    raise PoolExhaustedError("; ".join(full))


def release(data_dir: str, deadline: float, record: Record) -> None:
    """Release what the record holds; addresses that are somebody else's by now stay theirs."""
    if not record.reservations:
        return
    owner = Owner(record.container_id, record.ifname)
    foreign = with_store(
        data_dir, deadline, lambda store: store.release(record.reservations, owner)
    )
    for reservation in foreign:
        log.warning(
            "address belongs to another attachment, left alone", address=reservation.address
        )


def release_all_of(data_dir: str, deadline: float, owner: Owner) -> None:
    """Release every address of an owner whose record cannot be read. Walks the whole store."""

    def find_and_release(store: Store) -> None:
        held = [
            reservation
            for reservation, holder in store.reservations()
            if holder is not None and holder.content == owner.content
        ]
        store.release(held, owner)

    with_store(data_dir, deadline, find_and_release)


def with_store(data_dir: str, deadline: float, work: Callable[[Store], T]) -> T:
    """Do something under the store's lock; CniError 5, 7, 11 or 101."""
    try:
        with Store(data_dir, deadline, cancelled) as store:
            return work(store)
    except LockTimeoutError:
        message = "the address store is locked by other calls; the deadline (timeout) passed"
        raise CniError(TRY_AGAIN, message, f"lock: {data_dir}/lock") from None
    except PoolExhaustedError as error:
        details = "remove pods, give the pool more addresses, or use another NIC"
        raise CniError(NO_ADDRESS, str(error), details) from None
    except StoreError as error:
        raise CniError(BAD_CONF, str(error)) from None
    except OSError as error:
        raise io_failure("use the address store", error) from error
