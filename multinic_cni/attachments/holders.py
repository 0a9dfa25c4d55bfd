"""Which pod has a NIC or device that is not on the node: asked only to word an error."""

from __future__ import annotations

from multinic_cni.attachments.records import all_records
from multinic_cni.delegate_types import TAKE_THE_NIC
from multinic_selectors.globs import matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from multinic_cni.attachments.record import NicRecord, Record

DEVICE_KEYS = ("pciBusID", "deviceID")
MOST_TOLD = 8


def holder_of(data_dir: str, boot_id: str, device: str) -> str:
    """Say which attachment of this boot has a PCI function or auxiliary device; empty if none."""
    for record in _records(data_dir, boot_id):
        if any(device.lower() in _devices_of(nic) for nic in record.nics):
            return f"{_words(record)} has it"
    return ""


def holders_of(
    data_dir: str, boot_id: str, entries: Sequence[str], present: Collection[str]
) -> list[str]:
    """Say which attachments of this boot have NICs that entries of a conf name, as far as told.

    An entry is a name, a glob or a PCI address; `present` are the NICs that the node has.
    """
    told = [
        f"{_words(record)} has {nic.nic}"
        for record in _records(data_dir, boot_id)
        for nic in record.nics
        if nic.nic not in present and _is_taken(nic) and _fits(nic, entries)
    ]
    more = len(told) - MOST_TOLD
    return [*told[:MOST_TOLD], f"{more} more are in pods"] if more > 0 else told


def _records(data_dir: str, boot_id: str) -> Iterator[Record]:
    for seen in all_records(data_dir):
        if seen.record is not None and seen.record.boot_id == boot_id:
            yield seen.record


def _words(record: Record) -> str:
    return f"pod {record.pod or record.container_id} of network {record.network}"


def _is_taken(nic: NicRecord) -> bool:
    return bool(nic.confs) and nic.confs[0]["type"] in TAKE_THE_NIC


def _fits(nic: NicRecord, entries: Sequence[str]) -> bool:
    return any(matches(nic.nic, each) or each.lower() in _devices_of(nic) for each in entries)


def _devices_of(nic: NicRecord) -> set[str]:
    """Return the devices that a NIC's part of a record names, in lower case."""
    named: list[object] = [nic.pci]
    named += [each.pci_id for each in nic.result.interfaces] if nic.result else []
    for conf in nic.confs[:1]:
        named += [conf.get(key) for key in DEVICE_KEYS]
        runtime = conf.get("runtimeConfig")
        named.append(runtime.get("deviceID") if isinstance(runtime, dict) else None)
    return {each.lower() for each in named if isinstance(each, str) and each}
