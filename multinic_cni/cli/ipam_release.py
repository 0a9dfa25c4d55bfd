"""`multinic-cni ipam release`: free single addresses by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from multinic_cni.admin.releasing import release_addresses
from multinic_cni.cli.options import DEFAULT_DATA_DIR, AsJson, DataDir, address
from multinic_cni.cli.printing import failing_on_one_line, print_json, print_line


def release(
    addresses: Annotated[list[str], typer.Argument(metavar="ADDRESS...", parser=address)],
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Free what a living pod may have, too.")
    ] = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Free addresses whose pods have gone, and end their quarantine.

    Refuses those of a living pod, and where nobody can know: exit 1. With --force such an address
    may be given to a second pod while the first has it.

    Example: multinic-cni ipam release 192.168.1.7 192.168.1.8
    """
    with failing_on_one_line("release addresses"):
        released = release_addresses(data_dir, list(dict.fromkeys(addresses)), force=force)
    if as_json:
        print_json(
            [
                {
                    "address": each.address,
                    "was": each.was or None,
                    "released": not each.refusal,
                    "refusal": each.refusal or None,
                }
                for each in released
            ]
        )
    else:
        for each in released:
            print_line(f"{each.address} {each.refusal or f'is free (was {each.was})'}")
    if any(each.refusal for each in released):
        raise typer.Exit(1)
