"""Which share of a network each NIC had last: an edited conf must not move it under live pods.

    <dataDir>/shares/<network>      from a NIC's name to its pools, as text

A share that the node's index decides belongs to another node when the numbers change: its pods and
ours would get the same addresses.
"""

from __future__ import annotations

from multinic_cni.attachments.claim import keys, peek
from multinic_cni.attachments.record import DamagedRecordError
from multinic_cni.errors import CniError
from multinic_cni.jsontext import decode, encode
from multinic_cni.log import log
from multinic_cni.upkeep.liveness import Living
from multinic_ipam.networks import parse_address
from multinic_ipam.store import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from multinic_cni.attachments.record import Record
    from multinic_cni.reservations import Want
    from multinic_ipam.folders import Folder

SHARES = "shares"


def refuse_moved_shares(root: Folder, data_dir: str, network: str, wants: Sequence[Want]) -> None:
    """Raise StoreError if a NIC's share has moved and a live pod has an address of the old one.

    The store's lock is held, under which every ADD writes its record.
    """
    known = _read(root, network)
    wanted = {want.nic: _dealt(want) for want in wants}
    moved = [want for want in wants if known.get(want.nic, wanted[want.nic]) != wanted[want.nic]]
    living = Living()
    for want in moved:
        for record, address in _addresses_of(data_dir, network, want.nic):
            if not _holds(want, address) and living.has(record):
                raise StoreError(_refusal(want, known[want.nic], record, address))
        log.warning("share moved", nic=want.nic, to=",".join(wanted[want.nic]) or "other pools")
    new = {nic: texts for nic, texts in wanted.items() if texts or nic in known}
    if {**known, **new} != known:
        with root.child(SHARES, create=True) as folder:
            folder.write(network, encode({**known, **new}).encode())


def _dealt(want: Want) -> list[str]:
    return [str(pool) for pools in want.alternatives for pool in pools if pool.dealt]


def _read(root: Folder, network: str) -> dict[str, list[str]]:
    """Return what the file says; a damaged one says nothing."""
    try:
        with root.child(SHARES, create=False) as folder:
            document = decode(folder.read(network), network)
    except (FileNotFoundError, CniError):
        return {}
    return document if isinstance(document, dict) else {}


def _addresses_of(data_dir: str, network: str, nic: str) -> Iterator[tuple[Record, str]]:
    for key in keys(data_dir, network):
        try:
            record = peek(data_dir, network, key)
        except (CniError, DamagedRecordError) as error:
            log.warning(str(error))
            continue
        for part in record.nics if record else ():
            for reservation in part.reservations if part.nic == nic else ():
                if record is not None:
                    yield record, reservation.address


def _holds(want: Want, address: str) -> bool:
    place = parse_address(address)
    return any(pool.holds(*place) for pools in want.alternatives for pool in pools)


def _refusal(want: Want, known: Sequence[str], record: Record, address: str) -> str:
    now = ", ".join(str(pool) for pools in want.alternatives for pool in pools)
    return (
        f"NIC {want.nic}: the share moves from {', '.join(known)} to {now}, but pod"
        f" {record.pod or record.container_id} still has {address}: delete such pods first, or"
        " restore what numbers the share (subnet, interfaceBlock, hostBlock, hosts, node.json, …)"
    )
