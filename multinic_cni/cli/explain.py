"""`multinic-cni explain`: what a node would do with a net conf, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from multinic_cni.admin.forecast import Forecast, Question, forecast
from multinic_cni.admin.node import node_at
from multinic_cni.cli.options import AsJson, SysRoot
from multinic_cni.cli.printing import (
    failing_on_one_line,
    print_error,
    print_filled_table,
    print_json,
    print_line,
)
from multinic_cni.cli.validate import confs_in
from multinic_cni.conf.netconf import NetConf
from multinic_cni.conf.rules import OWN_TYPES
from multinic_cni.errors import CniError
from multinic_cni.sharing import NicShare, NicShares
from multinic_ipam.networks import format_address
from multinic_ipam.pools import Pool
from multinic_ipam.reservation import Reservation
from multinic_selectors.bandwidth import format_bandwidth
from multinic_selectors.candidates import Choice
from multinic_selectors.loads import NONE
from multinic_selectors.selection import Selection

CHOSEN = ("NIC", "PLACE", "INTERFACE", "ADDRESSES", "TARGET", "PODS", "TAKEN")
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
    would get next, and the confs that its delegates would be executed with. TARGET is the pod's
    part of the NIC's bandwidth, PODS and TAKEN are what others have of it. Nothing is reserved or
    changed, and no network is asked whether somebody has the addresses. Exit 1 if an ADD would
    fail.

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
        typer.echo(f"{file}: {error}", err=True)
        raise typer.Exit(1) from None
    if not confs:
        typer.echo(f"{file}: no plugin has one of the types {', '.join(OWN_TYPES)}", err=True)
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


def document_of(where: str, found: Forecast) -> dict[str, Any]:
    """Return it all as JSON has it."""
    document: dict[str, Any] = {"where": where}
    if found.conf is not None:
        document["network"] = found.conf.name
    if found.devices:
        document["devices"] = list(found.devices)
    if found.selection is not None:
        document["nics"] = [_nic_document(found, place) for place in range(len(found.chosen))]
        document["refused"] = [
            {"nic": name, "reason": reason} for name, reason in _refused(found.selection)
        ]
    if found.notes:
        document["notes"] = found.notes
    if found.error is not None:
        document["error"] = {
            "code": found.error.code,
            "msg": found.error.message,
            "details": found.error.details,
        }
    return document


def _nic_document(found: Forecast, number: int) -> dict[str, Any]:
    """Return a chosen NIC, with as much as is known where an error came before the rest."""
    choice = found.chosen[number]
    load = found.loads.get(choice.nic.name, NONE)
    families = found.shares[number].families if found.shares else ()
    own = found.addresses[number] if found.addresses else ()
    return {
        "nic": choice.nic.name,
        "place": choice.place,
        "interface": found.names[number] if found.names else None,
        "addresses": list(map(_address, own)),
        "megabits": choice.megabits,
        "attachments": load.attachments,
        "megabitsTaken": load.megabits,
        "shares": [_share_document(share) for family in families for share in family],
        "delegates": list(found.confs[number]) if found.confs else [],
    }


def _address(address: tuple[Reservation, Pool]) -> str:
    reservation, pool = address
    return f"{reservation.address}/{pool.prefix_length}"


def _share_document(share: NicShare) -> dict[str, Any]:
    pool, index = share.pool, share.host_index
    version = pool.block.version
    return {
        "network": str(share.network),
        "first": format_address(version, pool.start),
        "last": format_address(version, pool.end),
        "prefixLength": pool.prefix_length,
        "gateway": _gateway(share),
        "room": pool.room,
        "hostIndex": None if index is None else index.number,
        "source": _source(share),
        "hint": index.hint if index else "",
    }


def _refused(selection: Selection) -> list[tuple[str, str]]:
    return [*selection.unhealthy, *selection.refused]


def _gateway(share: NicShare) -> str:
    pool = share.pool
    return "" if pool.gateway is None else format_address(pool.block.version, pool.gateway)


def _source(share: NicShare) -> str:
    if share.by_name:
        return "staticAllocations"
    return share.host_index.source if share.host_index else "the same on every node"


def _print(where: str, found: Forecast) -> None:
    print_line(f"{where}: {found.conf.name if found.conf else 'no net conf'}")
    if found.devices:
        print_line(f"near {', '.join(found.devices)}")
    if found.conf is not None and found.selection is not None:
        _print_nics(found, found.conf)
        for name, reason in _refused(found.selection):
            print_line(f"not taken: {name}: {reason}")
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
        document = _nic_document(found, number)
        yield [
            choice.nic.name,
            _place(choice, conf),
            document["interface"] or "",
            ", ".join(document["addresses"]),
            *_bandwidths(document),
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
                _gateway(share),
                str(room) if room < LARGE else f"about 2^{(room + 1).bit_length() - 1}",
                "" if index is None else str(index.number),
                _source(share),
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
