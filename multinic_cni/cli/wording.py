"""How places, devices and NICs are called in tables, trees and drawings: a few short words each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from multinic_cni.admin.machine import GPU, NUMA, PORT, ROOT, SWITCH, Device, Place
from multinic_cni.admin.nic_facts import NicFacts
from multinic_selectors.bandwidth import format_bandwidth
from multinic_selectors.nics import ETHERNET, INFINIBAND
from multinic_selectors.rdma import RdmaPort

TITLES = {
    NUMA: "NUMA node {}",
    ROOT: "root complex {}",
    SWITCH: "switch {}",
    PORT: "port {}",
}
MEDIA = {ETHERNET: "ethernet", INFINIBAND: "infiniband"}
SCALABLE = ".sf."  # in the name of an auxiliary device


def title_of(place: Place) -> str:
    """Return what a place is called; NCCL's topology file has names in words."""
    return place.name if " " in place.name else TITLES[place.kind].format(place.name)


def lines_of_device(device: Device) -> list[str]:
    """Return what is said of a GPU or a NIC; the first line names it."""
    pci = device.pci
    title = f"{device.kind} {pci.address}"
    what = " ".join(filter(None, (f"{pci.vendor}:{pci.product}", pci.driver)))
    if device.kind == GPU:
        return [title, *filter(None, (device.model, what))]
    vfs = [f"{len(pci.virtual)} VFs, {_free(device)} of them without a NIC here"]
    nics = [line for nic in device.nics for line in lines_of_nic(nic)]
    nothing = ", ".join(filter(None, (rdma_text(device.rdma), "no network interface here")))
    return [title, *(nics or [nothing]), *(vfs if pci.virtual else []), what]


def lines_of_nic(facts: NicFacts) -> list[str]:
    """Return a NIC's name, then how it is."""
    names = [facts.nic.name, *([] if facts.rail is None else [f"(rail {facts.rail})"])]
    how = [speed_text(facts.speed), rdma_text(facts.rdma), *_others(facts), state_of(facts)]
    return [" ".join(names), ", ".join(filter(None, how))]


def _others(facts: NicFacts) -> list[str]:
    """Leave out what a drawing tells otherwise: virtual functions."""
    return [each for each in relations_of(facts) if not each.startswith("PF of")]


def _free(device: Device) -> int:
    return sum(not names for names in device.pci.virtual.values())


def text_of(number: int | None) -> str:
    return "" if number is None else str(number)


def speed_text(megabits: int | None) -> str:
    return "" if megabits is None else format_bandwidth(megabits)


def state_of(facts: NicFacts) -> str:
    """Word whether a NIC can carry traffic, in a table's brevity."""
    short = (facts.trouble or facts.denied).removeprefix("it is ").removeprefix("it has ")
    return f"{short} (prober: healthy)" if facts.denied else short or "up"


def rdma_text(ports: Sequence[RdmaPort]) -> str:
    return " ".join(f"{port.device}/{port.number} {port.state or '?'}" for port in ports)


def relations_of(facts: NicFacts) -> list[str]:
    """Say what a NIC is to other links and functions."""
    nic, pci = facts.nic, facts.pci
    found = [nic.kind] if nic.kind and not nic.stands_on and not facts.ports else []
    if nic.medium != ETHERNET and not nic.loopback:
        found.append(MEDIA.get(nic.medium, f"medium {nic.medium}"))
    if facts.ports:
        found.append(f"{nic.kind or 'master'} of {', '.join(facts.ports)}")
    if nic.stands_on:
        found.append(f"{nic.kind} on {nic.stands_on}")
    if nic.enslaved_to:
        found.append(f"port of {nic.enslaved_to}")
    if pci and pci.physical:
        found.append(f"VF of {pci.physical}")
    if SCALABLE in facts.auxiliary:
        found.append(f"SF {facts.auxiliary}")
    if pci and pci.virtual:
        found.append(f"PF of {len(pci.virtual)} VFs")
    children = Counter(upper.kind for upper in nic.uppers)
    found += [f"{count} {kind} on it" for kind, count in children.items()]
    return [*found, *(["uplink"] if nic.uplink else [])]
