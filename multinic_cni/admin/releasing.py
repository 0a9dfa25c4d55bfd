"""Free single addresses by hand, but none that a living pod may have."""

from __future__ import annotations

import time

from multinic_cni.admin.stock import LOCK_SECONDS, QUARANTINED, inspect, take_stock
from multinic_cni.attachments.claim import claim_idle
from multinic_cni.reservations import with_store
from multinic_cni.values import Value
from multinic_ipam.reservation import NOBODY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.admin.stock import Stock
    from multinic_cni.attachments.claim import Claim
    from multinic_ipam.store import Store

    Key = tuple[str, str]  # network and key of an attachment


class Release(Value):
    """What became of one address: its state before, and why it was refused, if it was."""

    address: str
    was: str
    refusal: str = ""


def release_addresses(data_dir: str, addresses: Sequence[str], *, force: bool) -> list[Release]:
    """Free addresses; with `force` those of living pods and of busy attachments, too.

    Raises CniError, OSError.
    """
    stock = inspect(data_dir, addresses)
    claims = _claims(data_dir, {key for each in addresses for key in stock.involved_in(each)})

    def free_all(store: Store) -> list[Release]:
        now = take_stock(store, data_dir, addresses)
        return [_free(store, now, each, set(claims), force=force) for each in addresses]

    try:
        return with_store(data_dir, time.monotonic() + LOCK_SECONDS, free_all)
    finally:
        for claim in claims.values():
            claim.close()


def _claims(data_dir: str, attachments: set[Key]) -> dict[Key, Claim]:
    """Claim those that are idle. The locks of attachments are taken before the store's."""
    claims = {}
    for network, key in attachments:
        claim = claim_idle(data_dir, network, key)
        if claim is not None:
            claims[network, key] = claim
    return claims


def _free(store: Store, stock: Stock, address: str, idle: set[Key], *, force: bool) -> Release:
    holdings = stock.of(address)
    rests = any(each.address == address and not each.is_over for each in stock.quarantine)
    was = holdings[0].state if holdings else QUARANTINED if rests else ""
    refusal = "" if force else _refusal(stock, address, idle)
    if not was:
        refusal = "is not reserved"
    if not refusal:
        for each in holdings:
            if store.release([each.reservation], each.owner or NOBODY):
                refusal = "is kept: what stands in its place is no file"
        store.end_quarantine(address)
    return Release(address=address, was=was, refusal=refusal)


def _refusal(stock: Stock, address: str, idle: set[Key]) -> str:
    for each in stock.of(address):
        if each.keeper:
            return f"is kept: {each.keeper}"
    for network, key in sorted(stock.involved_in(address) - idle):
        return f"is kept: a call is at work on {key} of network {network}"
    return ""
