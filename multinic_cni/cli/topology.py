"""`multinic-cni topology`: where the GPUs and NICs of a node are plugged in, as lstopo shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from multinic_cni.admin.machine import Device, Machine, Place, machine_of
from multinic_cni.admin.nic_facts import facts_of
from multinic_cni.admin.node import node_at
from multinic_cni.cli.documents import machine_document
from multinic_cni.cli.drawing import drawing_of
from multinic_cni.cli.options import AsJson, SysRoot
from multinic_cni.cli.printing import failing_on_one_line, print_json, print_line
from multinic_cni.cli.wording import lines_of_device, lines_of_nic, title_of
from multinic_cni.cli.writing import replace_file

ELSEWHERE = "not on PCI"


def topology(
    *,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Also draw it into this file.")
    ] = None,
    sysroot: SysRoot = "",
    as_json: AsJson = False,
) -> None:
    """Show where this node's GPUs and NICs are: NUMA node, root complex, switch.

    What is behind one switch is nearest to each other, then what is below one root complex, then
    what belongs to one NUMA node: in that order the strategy topology chooses NICs for a pod's
    devices. Bridges with one device behind them are left out, and so are virtual functions without
    a NIC here, which their PF counts. Each NIC stands with its speed, RDMA ports and state.

    Example: multinic-cni topology --svg node.svg
    """
    with failing_on_one_line("show the topology"):
        host = node_at(sysroot).host
        facts = facts_of(host, {})
        machine = machine_of(host, facts)
    if svg is not None:
        with failing_on_one_line("write the drawing"):
            replace_file(svg, drawing_of(machine, host.name))
    if as_json:
        print_json(machine_document(machine))
        return
    for line in tree_of(machine):
        print_line(line)
    for note in facts.notes:
        print_line(f"note: {note}")


def tree_of(machine: Machine) -> Iterator[str]:
    """Draw the machine with lines of text."""
    for place in machine.places:
        yield title_of(place)
        yield from _branches(place.inside, "")
    if machine.elsewhere:
        yield ELSEWHERE
        leaves = [" ".join(lines_of_nic(each)) for each in machine.elsewhere]
        yield from (f"{_tick(index, leaves)} NIC {leaf}" for index, leaf in enumerate(leaves))
    if not machine.places and not machine.elsewhere:
        yield "no GPU and no NIC"


def _branches(inside: Sequence[Place | Device], before: str) -> Iterator[str]:
    for index, each in enumerate(inside):
        tick = _tick(index, inside)
        if isinstance(each, Device):
            yield f"{before}{tick} {'  '.join(lines_of_device(each))}"
        else:
            yield f"{before}{tick} {title_of(each)}"
            rest = "   " if tick.startswith("└") else "│  "
            yield from _branches(each.inside, before + rest)


def _tick(index: int, among: Sequence[object]) -> str:
    return "└─" if index == len(among) - 1 else "├─"
