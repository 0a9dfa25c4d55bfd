"""`multinic-cni gc`: clear what pods have left that live no more."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from multinic_cni.admin.collection import PLUGIN_PATH, Cleared, Collection, collect, preview
from multinic_cni.cli.options import DEFAULT_DATA_DIR, AsJson, DataDir
from multinic_cni.cli.printing import failing_on_one_line, print_json, print_line


def gc(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would go.")] = False,
    plugin_path: Annotated[
        str,
        typer.Option(metavar="DIRS", help="Where delegates are that have moved since their ADD."),
    ] = ":".join(PLUGIN_PATH),
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Clear what pods have left that have gone without a DEL; no living pod is touched.

    That is: their attachments, with a DEL of each delegate; addresses that no record names, or that
    host-local has freed since they were imported; quarantines that are over; files that killed
    calls have not finished; VLANs below delegates that no attachment uses. Exit 1 if something
    could not be cleared.

    Example: multinic-cni gc --dry-run
    """
    path = tuple(filter(None, plugin_path.split(":")))
    with failing_on_one_line("clear what is stale"):
        collection = preview(data_dir) if dry_run else collect(data_dir, path)
    if as_json:
        print_json({"dryRun": dry_run, **_document(collection)})
    else:
        _print(collection, dry_run=dry_run)
    if any(each.error for each in collection.attachments):
        raise typer.Exit(1)


def _document(collection: Collection) -> dict[str, Any]:
    return {
        "attachments": [_attachment(each) for each in collection.attachments],
        "addresses": [
            {
                "address": each.reservation.address,
                "block": each.reservation.block,
                "state": each.state,
            }
            for each in collection.addresses
        ],
        "quarantine": [each.address for each in collection.quarantine],
        "unfinished": list(collection.unfinished),
        "vlans": list(collection.vlans),
    }


def _attachment(cleared: Cleared) -> dict[str, Any]:
    attachment = cleared.attachment
    record = attachment.record
    return {
        "network": attachment.network,
        "attachment": attachment.key,
        "pod": attachment.pod,
        "addresses": [each.address for each in record.reservations] if record else [],
        "error": cleared.error or None,
    }


def _print(collection: Collection, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    for each in collection.attachments:
        held = " ".join(_attachment(each)["addresses"])
        name = f"{each.attachment.network} {each.attachment.key}: pod {each.attachment.pod}"
        print_line(f"{name}: {each.error or f'{would}cleared {held}'.rstrip()}")
    for holding in collection.addresses:
        print_line(f"{holding.reservation.address}: {holding.state}: {would}freed")
    for rest in collection.quarantine:
        print_line(f"{rest.address}: quarantine {would}ended")
    for path in collection.unfinished:
        print_line(f"{path}: {would}removed")
    for vlan in collection.vlans:
        print_line(f"VLAN {vlan}: {would}deleted")
    if not any(vars(collection).values()):
        print_line("nothing to clear")
