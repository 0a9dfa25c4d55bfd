"""`multinic-cni explain`: what this node would do with a net conf, and why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from multinic_cni import host
from multinic_cni.addressing import uses_store
from multinic_cni.cli.validate import confs_in
from multinic_cni.conf.netconf import NetConf, read_net_conf
from multinic_cni.conf.rules import OWN_TYPES
from multinic_cni.errors import CniError
from multinic_cni.log import log
from multinic_cni.preparation import choose, nic_shares
from multinic_cni.sharing import NicShare, NicShares
from multinic_ipam.networks import format_address
from multinic_selectors.selection import Choice, Selection

COLUMNS = ("NIC", "PLACE", "NETWORK", "POOL", "GATEWAY", "ROOM", "HOST INDEX", "FROM")
LARGE = 1 << 32  # nobody reads the number of an IPv6 network's addresses
WIDTH = 240  # a terminal wraps lines, where rich would cut addresses off


@dataclass(frozen=True)
class Explanation:
    """What becomes of one net conf on this node, as far as it goes."""

    where: str
    conf: NetConf | None = None
    selection: Selection | None = None
    shares: Sequence[NicShares] = ()
    error: CniError | None = None


def explain(
    file: Annotated[Path, typer.Argument(help="A net conf or conflist.", exists=True)],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print it all as JSON.")] = False,
) -> None:
    """Show what this node would do for a pod by a net conf: NICs, pools, host index, and why.

    Nothing is reserved or changed. Exit 1 if the conf, the NICs or the numbers do not fit; whether
    addresses are free is not looked at.

    Example: multinic-cni explain /etc/cni/net.d/20-rails.conf
    """
    try:
        confs = list(confs_in(file))
    except (CniError, OSError) as error:
        typer.echo(f"{file}: {error}", err=True)
        raise typer.Exit(1) from None
    if not confs:
        typer.echo(f"{file}: no plugin has one of the types {', '.join(OWN_TYPES)}", err=True)
        raise typer.Exit(1)
    found = [explanation(f"{file}{':' if path else ''}{path}", conf) for path, conf in confs]
    if as_json:
        typer.echo(json.dumps([document_of(each) for each in found], indent=2))
    else:
        for each in found:
            _print(each)
    if any(each.error for each in found):
        raise typer.Exit(1)


def explanation(where: str, document: object) -> Explanation:
    """Go the way of an ADD until it would change something."""
    called_as = document.get("type") if isinstance(document, dict) else None
    conf = selection = None
    try:
        conf = read_net_conf(document, called_as if isinstance(called_as, str) else "")
        log.configure(file="", level="error")  # the network's log is for its calls
        nics = host.nics()
        selection = choose(conf, nics)
        shares = nic_shares(conf, selection.chosen, nics) if uses_store(conf) else []
    except CniError as error:
        return Explanation(where, conf, selection, error=error)
    return Explanation(where, conf, selection, shares)


def document_of(found: Explanation) -> dict[str, Any]:
    """Return it all as JSON has it."""
    document: dict[str, Any] = {"where": found.where}
    if found.conf is not None:
        document["network"] = found.conf.name
    if found.selection is not None:
        by_nic = {each.choice.nic.name: each for each in found.shares}
        document["nics"] = [
            {
                "nic": choice.nic.name,
                "place": choice.place,
                "shares": [
                    _share_document(share)
                    for family in (by_nic[choice.nic.name].families if by_nic else ())
                    for share in family
                ],
            }
            for choice in found.selection.chosen
        ]
        document["refused"] = [
            {"nic": name, "reason": reason} for name, reason in _refused(found.selection)
        ]
    if found.error is not None:
        document["error"] = {
            "code": found.error.code,
            "msg": found.error.message,
            "details": found.error.details,
        }
    return document


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


def _print(found: Explanation) -> None:
    # Without emoji: rich would find one in fd00:0:0:100::.
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=WIDTH)
    console.print(f"{found.where}: {found.conf.name if found.conf else 'no net conf'}")
    if found.conf is not None and found.selection is not None:
        console.print(_table(found.conf, found.selection.chosen, found.shares))
        if not found.error and not found.shares:
            console.print(f"addresses: {_not_ours(found.conf)}")
        for name, hint in _hints(found.shares):
            console.print(f"hint: {name}: {hint}")
        for name, reason in _refused(found.selection):
            console.print(f"not taken: {name}: {reason}")
    if found.error is not None:
        console.print("error:", style="red", end=" ")
        console.print(found.error.message)
        if found.error.details:
            console.print(found.error.details)


def _table(conf: NetConf, chosen: Sequence[Choice], shares: Sequence[NicShares]) -> Table:
    table = Table(*COLUMNS, box=None, pad_edge=False)
    masters = [*(str(net) for net in conf.master_nets), *conf.masters]
    by_nic = {each.choice.nic.name: each for each in shares}
    for choice in chosen:
        place = "" if choice.place is None else str(choice.place)
        if choice.place is not None and choice.place < len(masters):
            place += f" ({masters[choice.place]})"
        found = by_nic.get(choice.nic.name)
        rows = [share for family in found.families for share in family] if found else []
        for share in rows:
            table.add_row(*map(Text, [choice.nic.name, place, *_cells(share)]))
        if not rows:
            table.add_row(Text(choice.nic.name), Text(place))
    return table


def _cells(share: NicShare) -> list[str]:
    pool, index = share.pool, share.host_index
    return [
        str(share.network),
        f"{pool} /{pool.prefix_length}",
        _gateway(share),
        str(pool.room) if pool.room < LARGE else f"about 2^{(pool.room + 1).bit_length() - 1}",
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
