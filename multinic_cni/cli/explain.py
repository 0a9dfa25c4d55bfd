"""`multinic-cni explain`: what a node would do with a net conf, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from multinic_cni.admin.forecast import Forecast, Question, forecast
from multinic_cni.admin.node import node_at
from multinic_cni.cli.forecasts import chosen_document, document_of, gateway_of, source_of
from multinic_cni.cli.options import AsJson, SysRoot
from multinic_cni.cli.printing import (
    failing_on_one_line,
    print_error,
    print_filled_table,
    print_json,
    print_line,
    print_warning,
)
from multinic_cni.cli.validate import confs_in
from multinic_cni.cli.wording import rdma_text
from multinic_cni.conf.netconf import NetConf
from multinic_cni.conf.rules import OWN_TYPES
from multinic_cni.errors import CniError
from multinic_cni.sharing import NicShares
from multinic_selectors.bandwidth import format_bandwidth
from multinic_selectors.candidates import Choice

CHOSEN = ("NIC", "PLACE", "INTERFACE", "ADDRESSES", "RDMA", "TARGET", "PODS", "TAKEN", "WHY")
SHARES = ("NIC", "NETWORK", "POOL", "GATEWAY", "ROOM", "HOST INDEX", "FROM")
LARGE = 1 << 32  # nobody reads the number of an IPv6 network's addresses


def explain(
    file: Annotated[Path, typer.Argument(help="A net conf or conflist.", exists=True)],
    *,
    nics: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="As if the pod asked for so many NICs.")
    ] = None,
    class_name: Annotated[
        str, typer.Option("--class", metavar="NAME", help="As if it asked for that class.")
    ] = "",
    target: Annotated[
        str, typer.Option(metavar="BANDWIDTH", help="As if it asked for so much: 100Gbps.")
    ] = "",
    devices: Annotated[
        str,
        typer.Option(
            metavar="ID,…",
            help="As if the kubelet gave it these: PCI addresses, UUIDs of GPUs, or other ids of"
            " device plugins.",
        ),
    ] = "",
    ifname: Annotated[
        str, typer.Option(metavar="NAME", help="What the runtime calls the interface.")
    ] = "net1",
    sysroot: SysRoot = "",
    as_json: AsJson = False,
) -> None:
    """Show what a node would do for a pod by a net conf, and why: NICs, addresses, delegates.

    Every NIC is told, chosen or why not; for the chosen ones the interface, the addresses that it
    would get next, and the confs that its delegates would be executed with. RDMA are the ports that
    send by the NIC, with their states. TARGET is the pod's part of the NIC's bandwidth, PODS and
    TAKEN are what others have of it, WHY is what a strategy that compares NICs has found. Nothing
    is reserved or changed. Exit 1 if an ADD would fail by what is looked at here: not by delegates
    that are missing or fail, nor by what the pod has already, nor by what `routing` sets there, nor
    by somebody on the network who has the addresses.

    Example: multinic-cni explain --nics 2 --devices 0000:07:00.0 /etc/cni/net.d/20-rails.conf
    """
    question = Question(
        nics=nics,
        class_name=class_name,
        target=target,
        devices=[each.strip() for each in devices.split(",") if each.strip()],
        ifname=ifname,
    )
    try:
        confs = list(confs_in(file))
    except (CniError, OSError) as error:
        print_warning(f"{file}: {error}")
        raise typer.Exit(1) from None
    if not confs:
        print_warning(f"{file}: no plugin has one of the types {', '.join(OWN_TYPES)}")
        raise typer.Exit(1)
    with failing_on_one_line("explain the net conf"):
        node = node_at(sysroot)
        found = {
            f"{file}{':' if path else ''}{path}": forecast(conf, question, node)
            for path, conf in confs
        }
    if as_json:
        print_json([document_of(where, each) for where, each in found.items()])
    else:
        for where, each in found.items():
            _print(where, each)
    if any(each.error for each in found.values()):
        raise typer.Exit(1)


def _print(where: str, found: Forecast) -> None:
    print_line(f"{where}: {found.conf.name if found.conf else 'no valid net conf'}")
    if found.devices:
        print_line(f"near {', '.join(found.devices)}")
    if found.conf is not None and found.selection is not None:
        _print_nics(found, found.conf)
    for name, reason in found.refused:
        print_line(f"not taken: {name}: {reason}")
    for name, reason in found.missing:
        print_line(f"missing: {name}: {reason}")
    for name, chain in zip(found.names, found.confs, strict=False):
        for conf in chain:
            print_line(f"delegate of {name}: {json.dumps(conf, ensure_ascii=False)}")
    for note in found.notes:
        print_line(f"note: {note}")
    if found.error is not None:
        print_error(found.error.message, found.error.details)


def _print_nics(found: Forecast, conf: NetConf) -> None:
    """Print the chosen NICs with their addresses, and where these come from."""
    print_filled_table(CHOSEN, list(_chosen_rows(found, conf)))
    if found.shares:
        print_line("")
        print_filled_table(SHARES, list(_share_rows(found.shares)))
    elif not found.error:
        print_line(f"addresses: {_not_ours(conf)}")
    for name, hint in _hints(found.shares):
        print_line(f"hint: {name}: {hint}")


def _chosen_rows(found: Forecast, conf: NetConf) -> Iterator[list[str]]:
    for number, choice in enumerate(found.chosen):
        document = chosen_document(found, number)
        yield [
            choice.nic.name,
            _place(choice, conf),
            document["interface"] or "",
            ", ".join(document["addresses"]),
            rdma_text(found.rdma[number]),
            *_bandwidths(document),
            document["why"] or "",
        ]


def _place(choice: Choice, conf: NetConf) -> str:
    masters = conf.masters_in_order
    if choice.place is None:
        return ""
    named = choice.place < len(masters)
    return f"{choice.place} ({masters[choice.place]})" if named else str(choice.place)


def _bandwidths(document: Mapping[str, Any]) -> Iterator[str]:
    attachments = document["attachments"]
    yield format_bandwidth(document["megabits"]) if document["megabits"] else ""
    yield str(attachments) if attachments else ""
    yield format_bandwidth(document["megabitsTaken"]) if document["megabitsTaken"] else ""


def _share_rows(shares: Sequence[NicShares]) -> Iterator[list[str]]:
    for each in shares:
        for share in (share for family in each.families for share in family):
            pool, index = share.pool, share.host_index
            room = pool.room
            yield [
                each.choice.nic.name,
                str(share.network),
                f"{pool} /{pool.prefix_length}",
                gateway_of(share),
                str(room) if room < LARGE else f"about 2^{(room + 1).bit_length() - 1}",
                "" if index is None else str(index.number),
                source_of(share),
            ]


def _hints(shares: Sequence[NicShares]) -> list[tuple[str, str]]:
    found = [
        (each.choice.nic.name, share.host_index.hint)
        for each in shares
        for family in each.families
        for share in family
        if share.host_index and share.host_index.hint
    ]
    return list(dict.fromkeys(found))  # both families have the same


def _not_ours(conf: NetConf) -> str:
    kind = conf.ipam.get("type")
    return f"from ipam {kind}" if kind else "what the delegate's own ipam gives, if it has one"
