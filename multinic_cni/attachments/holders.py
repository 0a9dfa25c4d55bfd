"""Which pod has a device that is not on the node: asked only to word an error."""

from __future__ import annotations

from multinic_cni.attachments.records import all_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.attachments.record import NicRecord

DEVICE_KEYS = ("pciBusID", "deviceID")


def holder_of(data_dir: str, boot_id: str, device: str) -> str:
    """Say which attachment of this boot has a PCI function or auxiliary device; empty if none."""
    for seen in all_records(data_dir):
        record = seen.record
        if record is None or record.boot_id != boot_id:
            continue
        if any(device.lower() in _devices_of(nic) for nic in record.nics):
            pod = record.pod or record.container_id
            return f"pod {pod} of network {record.network} has it"
    return ""


def _devices_of(nic: NicRecord) -> set[str]:
    """Return the devices that a NIC's part of a record names, in lower case."""
    named: list[object] = [nic.pci]
    named += [each.pci_id for each in nic.result.interfaces] if nic.result else []
    for conf in nic.confs[:1]:
        named += [conf.get(key) for key in DEVICE_KEYS]
        runtime = conf.get("runtimeConfig")
        named.append(runtime.get("deviceID") if isinstance(runtime, dict) else None)
    return {each.lower() for each in named if isinstance(each, str) and each}
