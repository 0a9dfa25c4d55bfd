"""Release what an attachment has, and nothing of another one's."""

from __future__ import annotations

from multinic_cni.attachments.claim import key_of
from multinic_cni.attachments.records import addresses_named_elsewhere
from multinic_cni.log import log
from multinic_cni.reservations import with_store
from multinic_ipam.reservation import Owner
from multinic_ipam.turns import FREED_LONG_AGO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.attachments.record import Record
    from multinic_ipam.store import Store


def release(data_dir: str, deadline: float, record: Record) -> None:
    """Release what the record holds; addresses that are somebody else's by now stay theirs."""
    on_vlans = any(nic.master for nic in record.nics)
    if not record.reservations and not on_vlans:
        return

    def release_all(store: Store) -> None:
        release_own(store, data_dir, record)
        if on_vlans:
            from multinic_cni.vlans import leave  # noqa: PLC0415 - for those that have some

            leave(store.root, data_dir, record)

    with_store(data_dir, deadline, release_all)


def release_own(store: Store, data_dir: str, record: Record) -> int:
    """Release as `release`, under the store's lock; return how many the record still held."""
    owner = Owner(record.container_id, record.ifname)
    key = key_of(record.container_id, record.ifname)
    others = addresses_named_elsewhere(data_dir, record.network, key)
    own = [each for each in record.reservations if each.address not in others]
    lost = len(store.not_held(own, owner))
    # Where the ADD did not end well no pod has used the addresses: they need not rest, and a pod
    # that fails again and again must not use the pool up.
    freed = None if all(nic.result for nic in record.nics) else FREED_LONG_AGO
    for reservation in store.release(own, owner, freed):
        log.warning(
            "address belongs to another attachment, left alone", address=reservation.address
        )
    return len(own) - lost


def release_all_of(data_dir: str, network: str, owner: Owner, deadline: float) -> None:
    """Release all of an owner whose record cannot be read. Walks the whole store."""

    def find_and_release(store: Store) -> None:
        key = key_of(owner.container_id, owner.ifname)
        others = addresses_named_elsewhere(data_dir, network, key)
        held = [
            reservation
            for reservation, holder in store.reservations()
            if holder is not None
            and holder.content == owner.content
            and reservation.address not in others
        ]
        store.release(held, owner)
        from multinic_cni.vlans import leave_all  # noqa: PLC0415 - where a record is damaged

        leave_all(store.root, data_dir, network, key)

    with_store(data_dir, deadline, find_and_release)
