"""What an ADD would do, as JSON has it."""

from __future__ import annotations

from typing import Any

from multinic_cni.admin.forecast import Forecast
from multinic_cni.cli.documents import rdma_documents
from multinic_cni.sharing import NicShare
from multinic_ipam.networks import format_address
from multinic_ipam.pools import Pool
from multinic_ipam.reservation import Reservation
from multinic_selectors.loads import NONE


def document_of(where: str, found: Forecast) -> dict[str, Any]:
    """Return it all as JSON has it."""
    document: dict[str, Any] = {"where": where}
    if found.conf is not None:
        document["network"] = found.conf.name
    if found.devices:
        document["devices"] = list(found.devices)
    if found.conf is not None:
        document["nics"] = [chosen_document(found, number) for number in range(len(found.chosen))]
        document["refused"] = [{"nic": name, "reason": reason} for name, reason in found.refused]
        document["missing"] = [{"entry": name, "reason": why} for name, why in found.missing]
    if found.notes:
        document["notes"] = found.notes
    if found.error is not None:
        document["error"] = {
            "code": found.error.code,
            "msg": found.error.message,
            "details": found.error.details,
        }
    return document


def chosen_document(found: Forecast, number: int) -> dict[str, Any]:
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
        "rdma": rdma_documents(found.rdma[number]),
        "why": found.why.get(choice.nic.name),
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
        "gateway": gateway_of(share),
        "room": pool.room,
        "hostIndex": None if index is None else index.number,
        "source": source_of(share),
        "hint": index.hint if index else "",
    }


def gateway_of(share: NicShare) -> str:
    """Return a share's gateway; empty if it has none."""
    pool = share.pool
    return "" if pool.gateway is None else format_address(pool.block.version, pool.gateway)


def source_of(share: NicShare) -> str:
    """Say what has given a node its share."""
    if share.by_name:
        return "staticAllocations"
    return share.host_index.source if share.host_index else "the same on every node"
