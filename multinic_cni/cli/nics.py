"""`multinic-cni nics`: the NICs of a node, and everything that is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from multinic_cni.admin.nic_facts import Facts, NicFacts, PciFacts, facts_of
from multinic_cni.admin.node import Node, node_at
from multinic_cni.cli.options import DEFAULT_DATA_DIR, AsJson, DataDir, SysRoot
from multinic_cni.cli.printing import (
    failing_on_one_line,
    print_filled_table,
    print_json,
    print_line,
)
from multinic_ipam.networks import Network, format_address, is_link_local
from multinic_selectors.bandwidth import format_bandwidth
from multinic_selectors.loads import Load
from multinic_selectors.nics import ETHERNET, INFINIBAND
from multinic_selectors.rdma import RdmaPort

COLUMNS = (
    "NIC",
    "ALTNAMES",
    "RAIL",
    "PCI",
    "DEVICE",
    "DRIVER",
    "NUMA",
    "SPEED",
    "MTU",
    "STATE",
    "RDMA",
    "ADDRESSES",
    "WHAT IT IS",
    "PODS",
    "TAKEN",
)
MEDIA = {ETHERNET: "ethernet", INFINIBAND: "infiniband"}


def nics(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also the links that no conf takes unless it names them.")
    ] = False,
    sysroot: SysRoot = "",
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """List the NICs of this node: what they are, how they are, and what pods have taken of them.

    RAIL is the NIC's number by rails in node.json. STATE is what a prober says of it, or else the
    kernel. PODS are its attachments, TAKEN is the bandwidth that their targets took. With --json
    every link of the node is there, with every fact.

    Example: multinic-cni nics
    """
    with failing_on_one_line("list the NICs"):
        node = node_at(sysroot)
        loads, notes = loads_or_note(node, data_dir)
        facts = facts_of(node.host, loads)
    notes = [*facts.notes, *notes]
    if as_json:
        print_json({"nics": [nic_document(each) for each in facts.nics], "notes": notes})
    else:
        _print(facts, notes, everything=everything)


def loads_or_note(node: Node, data_dir: str) -> tuple[Mapping[str, Load], list[str]]:
    """Return what pods have taken, or why nobody here can know."""
    try:
        return node.loads_in(node.path(data_dir)), []
    except OSError as error:
        return {}, [f"attachments are not counted: {error.strerror} {error.filename or data_dir}"]


def _print(facts: Facts, notes: Sequence[str], *, everything: bool) -> None:
    shown = [each for each in facts.nics if everything or each.is_ordinary]
    if shown:
        print_filled_table(COLUMNS, list(map(_row, shown)))
    else:
        print_line("no NIC that a pod could get")
    names = {each.nic.name for each in shown}
    others = (each.nic for each in facts.nics if each.nic.name not in names)
    hidden = Counter(nic.kind for nic in others if not nic.loopback)
    if hidden:
        kinds = ", ".join(f"{count} {kind}" for kind, count in hidden.most_common())
        print_line(f"and links that are no NICs unless a conf names them (--all): {kinds}")
    for note in notes:
        print_line(f"note: {note}")


def _row(facts: NicFacts) -> list[str]:
    nic, pci, load = facts.nic, facts.pci, facts.load
    numa = pci.location.numa if pci and pci.location else None
    return [
        nic.name,
        " ".join(nic.altnames),
        text_of(facts.rail),
        pci.address if pci else "",
        f"{pci.vendor}:{pci.product}" if pci and pci.vendor else "",
        facts.driver,
        text_of(numa),
        speed_text(facts.speed),
        str(nic.mtu),
        state_of(facts),
        rdma_text(facts.rdma),
        " ".join(
            f"{format_address(version, number)}/{length}"
            for version, number, length in nic.addresses
            if not is_link_local(version, number)
        ),
        "; ".join(relations_of(facts)),
        str(load.attachments) if load.attachments else "",
        format_bandwidth(load.megabits) if load.megabits else "",
    ]


def text_of(number: int | None) -> str:
    return "" if number is None else str(number)


def speed_text(megabits: int | None) -> str:
    return "" if megabits is None else format_bandwidth(megabits)


def state_of(facts: NicFacts) -> str:
    """Word whether a NIC can carry traffic, in a table's brevity."""
    return facts.trouble.removeprefix("it is ").removeprefix("it has ") or "up"


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
    if pci and pci.virtual:
        found.append(f"PF of {len(pci.virtual)} VFs")
    children = Counter(upper.kind for upper in nic.uppers)
    found += [f"{count} {kind} on it" for kind, count in children.items()]
    return [*found, *(["uplink"] if nic.uplink else [])]


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
