"""The guest's PCI functions as lspci and ip show them: the oracle of what the plugin knows."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.vm.guest.node import execute, ip, links

if TYPE_CHECKING:
    from collections.abc import Sequence

DISPLAY = "0380"


@dataclass(frozen=True)
class Sriov:
    """The NIC with virtual functions, and the two that it has."""

    nic: str
    address: str
    virtual_nics: tuple[str, ...]
    virtual_addresses: tuple[str, ...]

    @property
    def nics(self) -> tuple[str, ...]:
        return (self.nic, *self.virtual_nics)


@dataclass(frozen=True)
class Function:
    """A line of lspci's: numbers in hexadecimal, but for the NUMA node."""

    vendor: str
    product: str
    device_class: str
    driver: str
    numa: int


def functions() -> dict[str, Function]:
    """Return all functions by address."""
    shown = execute("lspci", "-D", "-vmm", "-n", "-k").strip().split("\n\n")
    records = [dict(line.split(":\t", 1) for line in record.splitlines()) for record in shown]
    return {
        record["Slot"]: Function(
            vendor=record["Vendor"],
            product=record["Device"],
            device_class=record["Class"],
            driver=record.get("Driver", ""),
            numa=int(record.get("NUMANode", "-1")),
        )
        for record in records
    }


def paths_to_functions() -> dict[str, list[str]]:
    """Return for each function those from its root complex down to it, itself included."""
    paths = {}
    for line in execute("lspci", "-D", "-PP", "-n").splitlines():
        domain, _, path = line.split()[0].partition(":")
        functions = [f"{domain}:{each}" for each in path.split("/")]
        paths[functions[-1]] = functions
    return paths


def address_of(nic: str) -> str:
    """Return the function of a NIC by what ip says of its parent, which may be a virtio device."""
    (link,) = json.loads(execute("ip", "-d", "-j", "link", "show", nic))
    if link["parentbus"] == "virtio":
        return Path("/sys/bus/virtio/devices", link["parentdev"]).resolve().parent.name
    assert link["parentbus"] == "pci"
    return str(link["parentdev"])


def gpu(numa: int) -> str:
    """Return the device that stands for the GPU of a NUMA node."""
    (found,) = (
        address
        for address, function in functions().items()
        if (function.device_class, function.numa) == (DISPLAY, numa)
    )
    return found


def virtual_functions(physical: str) -> list[str]:
    """Compute where a function's virtual ones are, by its SR-IOV capability."""
    shown = execute("lspci", "-D", "-vvv", "-n", "-s", physical)
    words = shown[shown.index("(SR-IOV)") :].replace(",", " ").split()
    count, offset, stride = (
        int(words[words.index(label) + skip])
        for label, skip in (("Number", 3), ("offset:", 1), ("stride:", 1))
    )
    domain, bus, device, function = physical.replace(".", ":").split(":")
    first = int(bus, 16) * 256 + int(device, 16) * 8 + int(function) + offset
    numbers = (first + stride * index for index in range(count))
    return [f"{domain}:{number >> 8:02x}:{number >> 3 & 31:02x}.{number & 7}" for number in numbers]


def wait_for_carrier(nics: Sequence[str]) -> None:
    """Set NICs up, and wait until all can carry traffic."""
    for nic in nics:
        ip("link", "set", nic, "up")
    deadline = time.monotonic() + 30
    while missing := [nic for nic in nics if links()[nic]["operstate"] != "UP"]:
        assert time.monotonic() < deadline, f"no carrier: {missing}"
        time.sleep(0.1)
