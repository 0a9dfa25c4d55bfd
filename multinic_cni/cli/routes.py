"""`multinic-cni routes`: the node's routes to the other nodes' pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from multinic_cni.admin.between_nodes import (
    Applied,
    Compared,
    Needs,
    Others,
    compare,
    needs_of,
    remove_all,
)
from multinic_cni.admin.between_nodes import apply as apply_needs
from multinic_cni.admin.between_nodes import remove as remove_networks
from multinic_cni.cli.net_confs import net_confs
from multinic_cni.cli.options import DEFAULT_DATA_DIR, AsJson, DataDir
from multinic_cni.cli.printing import (
    failing_on_one_line,
    print_json,
    print_line,
    print_table,
    print_warning,
)
from multinic_cni.conf.netconf import NetConf
from multinic_cni.conf.routing_rules import DEALT
from multinic_cni.conf.share_words import ways_in
from multinic_cni.errors import CniError
from multinic_cni.host import Host
from multinic_cni.node_tables import wanted_way, worded_route, worded_rule

FOLDERS = ("/etc/cni/net.d", "/etc/cni/multinic/net.d")
COLUMNS = ("NETWORK", "TABLE", "WHAT", "NODE", "STATE")
IN_PLACE, MISSING, NOT_WANTED = "in place", "missing", "not wanted"

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Net confs, conflists or folders of them; without any,"
        f" {' and '.join(FOLDERS)}. Of a folder those count that ask for nodeRoutes, or whose"
        " plugin is ipvlan in mode l3 or l3s with a share for each node.",
        exists=True,
        metavar="[FILE]...",
        show_default=False,
    ),
]
ToRemove = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Net confs, conflists or folders of them; needed unless --all is given. Of a folder"
        " those count that `apply` would take.",
        exists=True,
        metavar="[FILE]...",
        show_default=False,
    ),
]
routes = typer.Typer(
    help="Look after the node's routes to the other nodes' pods.", no_args_is_help=True
)


@routes.command()
def apply(files: Files = None, *, as_json: AsJson = False) -> None:
    """Put the routes in place, once or again: what is there already stays untouched.

    Per network and family a table of its own gets a route to each other node's block by that
    node's NIC, on each NIC; then a rule leads to it. Of this plugin's own routes there, those that
    are not wanted any more go; nobody else's are touched. NICs that are missing or down are warned
    of. Exit 1 if a route could not be set, or a net conf is wrong; the others are set.

    Example: multinic-cni routes apply /etc/cni/multinic/net.d
    """
    with failing_on_one_line("set the routes between nodes"):
        needs = _needs(files)
        applied, errors = apply_needs(needs)
    errors = [*needs.errors, *(each for one in applied for each in one.errors), *errors]
    if as_json:
        print_json([_applied_document(each) for each in applied])
    for each in () if as_json else applied:
        changes = f"{each.added} added, {each.removed} removed"
        print_line(f"{_title(each)}: {len(each.wanted.routes)} routes: {changes}")
    _end(needs, errors)


@routes.command()
def show(files: Files = None, *, as_json: AsJson = False) -> None:
    """Show which routes are wanted and which are in place. Nothing is changed.

    Exit 1 if they differ: something is missing, or is this plugin's and not wanted. What it has
    for networks that were not asked about is shown as such, and is no difference.

    Example: multinic-cni routes show
    """
    with failing_on_one_line("show the routes between nodes"):
        host = Host()
        needs = _needs(files, host)
        found, others = compare(needs)
        names = {nic.index: nic.name for nic in host.nics}

    def name(index: int) -> str:
        return names.get(index, str(index))

    rows = [row for each in found for row in _rows(each, name)]
    rows += list(_other_rows(others, name))
    if as_json:
        keys = [column.lower() for column in COLUMNS]
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    elif rows:
        print_table(COLUMNS, rows)
    else:
        print_line("no network needs routes here")
    _end(needs, needs.errors)
    if any(each.lack.count for each in found):
        raise typer.Exit(1)


@routes.command()
def remove(
    files: ToRemove = None,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="All of this plugin's, whatever network they are of.")
    ] = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Take the rules away, then the routes: of some networks, or --all.

    Networks are known by their subnets; no NIC need be there. Pods that live lose their way to
    other nodes. `--data-dir` is whose lock is taken for --all.

    Example: multinic-cni routes remove --all
    """
    if bool(files) == every:
        message = "name the net confs whose routes shall go, or give --all"
        raise typer.BadParameter(message)
    with failing_on_one_line("remove the routes between nodes"):
        if every:
            count, errors = remove_all(data_dir)
        else:
            confs, mistakes = net_confs(files or (), takes_part)
            count, errors = remove_networks(confs)
            errors = [*mistakes, *errors]
    if as_json:
        print_json({"removed": count})
    else:
        print_line(f"removed: {count} rules and routes")
    _say(errors)


def _needs(files: Sequence[Path] | None, host: Host | None = None) -> Needs:
    paths = files or [Path(folder) for folder in FOLDERS if Path(folder).is_dir()]
    confs, errors = net_confs(paths, takes_part)
    needs = needs_of(confs, host or Host())
    return needs.but(errors=[*errors, *needs.errors])


def takes_part(conf: NetConf) -> bool:
    """Tell whether a conf in a folder wants routes between nodes."""
    if conf.routing is not None and conf.routing.node_routes:
        return True
    head = conf.chain[0]
    if head["type"] != "ipvlan" or head.get("mode") not in {"l3", "l3s"}:
        return False
    if conf.ipam.get("type") != "multi-nic-ipam":
        return False
    ranges = (conf.ipam.get("ranges") or {}).values()
    blocks = [conf.ipam, *(each for listed in ranges for each in listed)]
    return any(way in DEALT for each in blocks for way in ways_in(each))


def _title(each: Applied) -> str:
    return f"{each.wanted.network}: IPv{each.wanted.version}, table {each.table}"


def _applied_document(each: Applied) -> dict[str, Any]:
    return {
        "network": each.wanted.network,
        "family": each.wanted.version,
        "table": each.table,
        "routes": len(each.wanted.routes),
        "added": each.added,
        "removed": each.removed,
        "errors": [error.message for error in each.errors],
    }


def _rows(each: Compared, name: Callable[[int], str]) -> Iterator[list[str]]:
    network, table, lack = each.wanted.network, str(each.standing.table), each.lack
    for rule in each.standing.rules:
        state = NOT_WANTED if rule in lack.surplus_rules else IN_PLACE
        yield [network, str(rule.table), worded_rule(rule), "", state]
    for rule in lack.missing_rules:
        yield [network, table, worded_rule(rule), "", MISSING]
    missing = [wanted_way(route) for route in lack.missing]
    for route in each.wanted.routes:
        state = MISSING if wanted_way(route) in missing else IN_PLACE
        yield [network, table, str(route), route.node, state]
    for unwanted in (*lack.replaced, *lack.surplus):
        yield [network, table, worded_route(unwanted, name), "", NOT_WANTED]


def _other_rows(others: Others, name: Callable[[int], str]) -> Iterator[list[str]]:
    state = "of another network"
    for rule in others.rules:
        yield ["", str(rule.table), worded_rule(rule), "", state]
    for route in others.routes:
        yield ["", str(route.table), worded_route(route, name), "", state]


def _end(needs: Needs, errors: Sequence[CniError]) -> None:
    for note in needs.left_out:
        print_warning(f"multinic-cni: warning: {note}")
    _say(errors)


def _say(errors: Sequence[CniError]) -> None:
    """Print errors, each on a line of stderr, and fail if there is one."""
    for error in errors:
        print_warning("; ".join(filter(None, (f"multinic-cni: {error.message}", error.details))))
    if errors:
        raise typer.Exit(1)
