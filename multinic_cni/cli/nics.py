"""`multinic-cni nics`: the NICs of a node, and everything that is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from multinic_cni.admin.nic_facts import Facts, NicFacts, facts_of
from multinic_cni.admin.node import Node, node_at
from multinic_cni.cli.documents import nic_document
from multinic_cni.cli.options import DEFAULT_DATA_DIR, AsJson, DataDir, SysRoot
from multinic_cni.cli.printing import (
    failing_on_one_line,
    print_filled_table,
    print_json,
    print_line,
)
from multinic_cni.cli.wording import rdma_text, relations_of, speed_text, state_of, text_of
from multinic_ipam.networks import format_address, is_link_local
from multinic_selectors.bandwidth import format_bandwidth
from multinic_selectors.loads import Load

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
    kernel; where a prober calls healthy what the kernel does not, both. PODS are its attachments,
    TAKEN is the bandwidth that their targets took. With --json every link of the node is there,
    with every fact.

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
        return node.loads_in(node.path(data_dir))
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
