"""`multinic-cni ipam list`: every reserved address and whose it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from multinic_cni.admin.stock import QUARANTINED, STATES, Holding, Rest, inspect
from multinic_cni.cli.options import DEFAULT_DATA_DIR, AsJson, DataDir, network
from multinic_cni.cli.printing import (
    failing_on_one_line,
    moment,
    print_json,
    print_line,
    print_table,
)
from multinic_ipam.networks import Network, parse_address

COLUMNS = ("ADDRESS", "BLOCK", "STATE", "POD", "IFNAME", "NETWORK", "NIC", "SINCE")


def list_addresses(
    *,
    of_network: Annotated[
        str | None, typer.Option("--network", metavar="NAME", help="Only of this network.")
    ] = None,
    block: Annotated[
        str | None, typer.Option(metavar="CIDR", help="Only of this block.", parser=network)
    ] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """List every reserved address of this node: its pod, and whether that still lives.

    - live: its pod is there

    - imported: a pod has it from host-local

    - stale: its pod has gone without a DEL

    - orphaned: no record names it

    - damaged: its file does not say whose it is

    - unknown: its record cannot be read

    - quarantined: somebody else on the network has it, so nobody gets it for a while

    Example: multinic-cni ipam list --network rails
    """
    with failing_on_one_line("list the addresses"):
        stock = inspect(data_dir)
    holdings = [
        each
        for each in sorted(stock.holdings, key=_place)
        if block in {None, each.reservation.block}
        and (not of_network or (each.attachment and each.attachment.network == of_network))
    ]
    rests = [] if of_network else [each for each in stock.quarantine if _rests(each, block)]
    if as_json:
        print_json(
            {
                "addresses": [_document(each) for each in holdings],
                "quarantine": [
                    {"address": each.address, "until": moment(each.until), "why": each.why}
                    for each in rests
                ],
                "blocks": [
                    {"block": name, "used": states.total(), "states": states}
                    for name, states in _by_block(holdings)
                ],
            }
        )
        return
    if holdings or rests:
        print_table(COLUMNS, [*map(_row, holdings), *map(_row_of_rest, rests)])
    for name, states in _by_block(holdings):
        shares = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
        print_line(f"{name}: {states.total()} used: {shares}")
    if not holdings:
        print_line("no address is reserved")


def _place(holding: Holding) -> tuple[int, int, str]:
    return (*parse_address(holding.reservation.address), holding.reservation.block)


def _rests(rest: Rest, block: str | None) -> bool:
    in_block = not block or Network.parse(block).holds(*parse_address(rest.address))
    return in_block and not rest.is_over


def _by_block(holdings: Sequence[Holding]) -> Iterable[tuple[str, Counter[str]]]:
    blocks: dict[str, Counter[str]] = {}
    for each in holdings:
        blocks.setdefault(each.reservation.block, Counter())[each.state] += 1
    return blocks.items()


def _document(holding: Holding) -> dict[str, Any]:
    attachment, owner = holding.attachment, holding.owner
    nic = attachment.nic_of(holding.reservation) if attachment else None
    return {
        "address": holding.reservation.address,
        "block": holding.reservation.block,
        "state": holding.state,
        "pod": holding.pod or None,
        "containerID": owner.container_id if owner else None,
        "ifname": owner.ifname if owner else None,
        "network": attachment.network if attachment else None,
        "nic": nic.nic if nic else None,
        "since": moment(holding.since),
    }


def _row(holding: Holding) -> list[str]:
    document = _document(holding)
    keys = ("address", "block", "state", "pod", "ifname", "network", "nic", "since")
    return [document[key] or "" for key in keys]


def _row_of_rest(rest: Rest) -> list[str]:
    return [rest.address, "", QUARANTINED, "", "", "", "", f"until {moment(rest.until)}"]
