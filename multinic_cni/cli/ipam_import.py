"""`multinic-cni ipam import`: take over the addresses of host-local."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from multinic_cni.admin.takeover import Takeover, take_over
from multinic_cni.cli.options import DEFAULT_DATA_DIR, AsJson, DataDir, network
from multinic_cni.cli.printing import failing_on_one_line, print_json, print_line
from multinic_ipam.networks import Network


def import_folder(
    folder: Annotated[
        str, typer.Argument(help="host-local's folder, e.g. /var/lib/cni/networks/rails.")
    ],
    *,
    subnet: Annotated[
        str,
        typer.Option(
            metavar="CIDR",
            help="The block that the addresses go to: of a POOL that `explain` shows.",
            parser=network,
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing.")] = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Reserve what pods have from host-local, so that none of it is given to another pod.

    The folder stays as it is, and must stay: its pods go on, and their DEL still goes to
    host-local. Once that has removed its file, ours is stale, and `multinic-cni gc` frees it. May
    be repeated. Exit 1 if an address could not be taken over.

    Example: multinic-cni ipam import /var/lib/cni/networks/rails --subnet 192.168.1.0/24
    """
    with failing_on_one_line("import the folder"):
        taken = take_over(
            data_dir, folder, Network.parse(subnet), dry_run=dry_run, walk=_with_progress
        )
    if as_json:
        print_json(
            {
                "dryRun": dry_run,
                "subnet": subnet,
                "imported": taken.imported,
                "present": taken.present,
                "outside": taken.outside,
                "refused": [{"name": each.name, "reason": each.reason} for each in taken.refused],
                "cursor": taken.cursor or None,
            }
        )
    else:
        _print(taken, subnet, dry_run=dry_run)
    nothing_fits = taken.outside and not taken.imported and not taken.present
    if taken.refused or nothing_fits:
        raise typer.Exit(1)


def _with_progress(names: list[str]) -> Iterator[str]:
    console = Console(file=sys.stderr)
    return iter(
        track(
            names, "taking over", console=console, transient=True, disable=not console.is_terminal
        )
    )


def _print(taken: Takeover, subnet: str, *, dry_run: bool) -> None:
    for each in taken.refused:
        print_line(f"{each.name} {each.reason}: not taken over")
    done = "would be imported" if dry_run else "imported"
    print_line(
        f"{subnet}: {len(taken.imported)} {done}, {taken.present} there already,"
        f" {len(taken.refused)} refused; {taken.outside} outside the subnet"
    )
