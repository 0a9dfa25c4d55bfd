"""NICs, devices and places as the commands' JSON has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from multinic_cni.admin.machine import GPU, NIC, Device, Machine, Place
from multinic_cni.admin.nic_facts import NicFacts, PciFacts
from multinic_cni.cli.wording import MEDIA
from multinic_ipam.networks import Network, format_address
from multinic_selectors.rdma import RdmaPort


def nic_document(facts: NicFacts) -> dict[str, Any]:
    """Return every fact as JSON has it; null is what nobody knows or what is not there."""
    nic = facts.nic
    return {
        "name": nic.name,
        "altnames": list(nic.altnames),
        "index": nic.index,
        "kind": nic.kind,
        "medium": MEDIA.get(nic.medium, nic.medium),
        "loopback": nic.loopback,
        "mac": nic.mac,
        "permanentMAC": nic.permanent_mac or None,
        "mtu": nic.mtu,
        "up": nic.up,
        "carrier": nic.carrier,
        "operstate": nic.operstate,
        "trouble": facts.trouble or None,
        "deniedTrouble": facts.denied or None,
        "speed": facts.speed,
        "duplex": facts.duplex or None,
        "addresses": [
            {
                "address": format_address(version, number),
                "prefixLength": length,
                "network": str(Network.around(version, number, length)),
                "passing": (version, number, length) in nic.passing,
            }
            for version, number, length in nic.addresses
        ],
        "uplink": nic.uplink or None,
        "portOf": nic.enslaved_to or None,
        "ports": list(facts.ports),
        "standsOn": nic.stands_on or None,
        "children": [
            {"name": upper.name, "kind": upper.kind, "mode": upper.mode or None}
            for upper in nic.uppers
        ],
        "rail": facts.rail,
        "driver": facts.driver or None,
        "auxiliary": facts.auxiliary or None,
        "pci": facts.pci and pci_document(facts.pci),
        "rdma": rdma_documents(facts.rdma),
        "attachments": facts.load.attachments,
        "megabitsTaken": facts.load.megabits,
    }


def rdma_documents(ports: Sequence[RdmaPort]) -> list[dict[str, Any]]:
    return [
        {"device": port.device, "port": port.number, "state": port.state or None} for port in ports
    ]


def pci_document(pci: PciFacts) -> dict[str, Any]:
    """Return a function as JSON has it; its path goes from the root complex to the function."""
    location = pci.location
    above = [location.root, *location.bridges] if location else []
    return {
        "address": pci.address,
        "vendor": pci.vendor or None,
        "device": pci.product or None,
        "class": pci.device_class or None,
        "driver": pci.driver or None,
        "numa": location.numa if location else None,
        "path": [*filter(None, above), pci.address],
        "physicalFunction": pci.physical or None,
        "virtualFunctions": [
            {"address": address, "nics": list(names)} for address, names in pci.virtual.items()
        ],
    }


def machine_document(machine: Machine) -> dict[str, Any]:
    """Return the tree as JSON has it."""
    return {
        "places": [_place_document(place) for place in machine.places],
        "elsewhere": [nic_document(each) for each in machine.elsewhere],
    }


def _place_document(place: Place) -> dict[str, Any]:
    return {
        "kind": place.kind,
        "name": place.name,
        "inside": [
            _device_document(each) if isinstance(each, Device) else _place_document(each)
            for each in place.inside
        ],
    }


def _device_document(device: Device) -> dict[str, Any]:
    where = device.location
    own: dict[str, Any] = {
        "kind": device.kind,
        "numa": where.numa if where else None,
        "root": where.root if where else None,
        "bridges": list(where.bridges) if where else [],
        "pci": pci_document(device.pci),
    }
    if device.kind == GPU:
        own["model"] = device.model or None
    if device.kind == NIC:
        own["nics"] = [_without_pci(each) for each in device.nics]
        own["rdma"] = rdma_documents(device.rdma)
    return own


def _without_pci(facts: NicFacts) -> dict[str, Any]:
    return {key: value for key, value in nic_document(facts).items() if key != "pci"}
