"""How places, devices and NICs are called in trees and drawings: a few short lines each."""

from __future__ import annotations

from multinic_cni.admin.machine import GPU, NUMA, PORT, ROOT, SWITCH, Device, Place
from multinic_cni.admin.nic_facts import NicFacts
from multinic_cni.cli.nics import rdma_text, relations_of, speed_text, state_of

TITLES = {
    NUMA: "NUMA node {}",
    ROOT: "root complex {}",
    SWITCH: "switch {}",
    PORT: "port {}",
}


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
