"""PCI devices and their NICs, read in sysfs and only when a conf or a runtime names a device."""

from __future__ import annotations

import os

SYSFS = "/sys"
HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
FIELDS = (4, 2, 2, 1)  # domain, bus, device, function


def is_pci_address(text: str) -> bool:
    """Tell whether a text has the form 0000:41:00.0; others must not reach a path in sysfs."""
    parts = text.replace(".", ":").split(":")
    return (
        len(text) == len("0000:00:00.0")
        and tuple(len(part) for part in parts) == FIELDS
        and all(HEXADECIMAL.issuperset(part) for part in parts)
    )


def nics_of_device(address: str, sysfs: str = SYSFS) -> list[str]:
    """Return the names of a PCI function's network interfaces; none if it has none here.

    A virtio NIC hangs on the virtioN device below its function (/sys/bus/pci/devices/*/virtioN).
    """
    function = f"{sysfs}/bus/pci/devices/{address.lower()}"
    holders = [function, *(f"{function}/{n}" for n in _names(function) if n.startswith("virtio"))]
    return [name for holder in holders for name in _names(f"{holder}/net")]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
