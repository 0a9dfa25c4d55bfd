"""`multinic-cni ipam show`: everything that is known of one address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from multinic_cni import host
from multinic_cni.admin.stock import (
    FREE,
    QUARANTINED,
    Attachment,
    Holding,
    Stock,
    inspect,
    when_freed,
)
from multinic_cni.cli.options import DEFAULT_DATA_DIR, AsJson, DataDir, address
from multinic_cni.cli.printing import failing_on_one_line, moment, print_fields, print_json

MISSING = "missing"


def show(
    of: Annotated[str, typer.Argument(metavar="ADDRESS", parser=address)],
    *,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Show everything that is known of one address: whose it is, and what stands behind it.

    Example: multinic-cni ipam show 192.168.1.7
    """
    with failing_on_one_line("show the address"):
        stock, freed = inspect(data_dir, {of}), when_freed(data_dir, of)
        document = _document(stock, of, freed)
    if as_json:
        print_json(document)
    else:
        print_fields(_fields(document))


def _document(stock: Stock, of: str, freed: float | None) -> dict[str, Any]:
    holdings, living = stock.of(of), stock.living_with(of)
    rest = next((each for each in stock.quarantine if not each.is_over), None)
    otherwise = MISSING if living else QUARANTINED if rest else FREE
    return {
        "address": of,
        "state": holdings[0].state if holdings else otherwise,
        "reservations": [_reservation(each) for each in holdings],
        "livingPods": [_pod(each) for each in living],
        "quarantine": rest and {"until": moment(rest.until), "why": rest.why},
        "freed": moment(freed) or None,
    }


def _reservation(holding: Holding) -> dict[str, Any]:
    owner, attachment = holding.owner, holding.attachment
    return {
        "block": holding.reservation.block,
        "state": holding.state,
        "since": moment(holding.since),
        "owner": owner and {"containerID": owner.container_id, "ifname": owner.ifname},
        "keptBecause": holding.keeper or None,
        "importedFrom": holding.source,
        "record": attachment and _record(attachment, holding),
    }


def _record(attachment: Attachment, holding: Holding) -> dict[str, Any] | None:
    record, nic = attachment.record, attachment.nic_of(holding.reservation)
    if record is None or nic is None:
        return None
    return {
        **_pod(attachment),
        "podUID": record.pod_uid or None,
        "netns": record.netns,
        "boot": "this" if record.boot_id == host.boot_id() else "earlier",
        "lives": attachment.lives,
        "complete": record.complete,
        "nic": nic.nic,
        "podInterface": nic.ifname,
    }


def _pod(attachment: Attachment) -> dict[str, Any]:
    return {"network": attachment.network, "attachment": attachment.key, "pod": attachment.pod}


def _fields(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "address", document["address"]
    yield "state", document["state"]
    for each in document["reservations"]:
        record, owner = each["record"] or {}, each["owner"] or {}
        yield "block", each["block"]
        yield "reserved", each["since"]
        yield "owner", " ".join(owner.values())
        yield "pod", record.get("pod", "")
        yield "pod UID", record.get("podUID") or ""
        yield "network", record.get("network", "")
        yield "NIC", f"{record['nic']}, in the pod {record['podInterface']}" if record else ""
        yield "netns", f"{record['netns']}, {_life(record)}" if record else ""
        yield "ADD", "" if record.get("complete", True) else "did not come to its end"
        yield "imported from", each["importedFrom"] or ""
        yield "kept, because", each["keptBecause"] or ""
    for each in document["livingPods"] if document["state"] == MISSING else ():
        yield "had by", f"{each['pod']}, network {each['network']}"
    rest = document["quarantine"]
    yield "quarantine", f"until {rest['until']}: {rest['why']}" if rest else ""
    yield "freed", document["freed"] or ""


def _life(record: dict[str, Any]) -> str:
    if record["boot"] == "earlier":
        return "of an earlier boot"
    return "which lives" if record["lives"] else "which has gone"
