"""Which share of a network each NIC had last: an edited conf must not move it under live pods.

    <dataDir>/shares/<network>      from a NIC's name to its pools, as text

A share that the node's index decides belongs to another node when the numbers change: its pods and
ours would get the same addresses.
"""

from __future__ import annotations

from multinic_cni.errors import CniError
from multinic_cni.jsontext import decode, encode
from multinic_cni.log import log
from multinic_ipam.networks import parse_address
from multinic_ipam.refusals import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.attachments.record import Record
    from multinic_cni.reservations import Want
    from multinic_ipam.folders import Folder

SHARES = "shares"


def refuse_moved_shares(
    root: Folder, data_dir: str, network: str, wants: Sequence[Want]
) -> dict[str, list[str]]:
    """Raise StoreError if a NIC's share has moved and a live pod has an address of the old one.

    The store's lock is held, under which every ADD writes its record. Returns what is to be
    remembered; empty if that stands there already.
    """
    known = _read(root, network)
    wanted = {want.nic: _dealt(want) for want in wants}
    # Where nothing is known, records may know: of a release before, of a conf that dealt nothing.
    moved = [want for want in wants if known.get(want.nic, []) != wanted[want.nic]]
    if moved:
        _refuse_under_living_pods(data_dir, network, moved, known)
    new = {nic: texts for nic, texts in wanted.items() if texts or nic in known}
    return {**known, **new} if {**known, **new} != known else {}


def remember_shares(root: Folder, network: str, shares: dict[str, list[str]]) -> None:
    """Write them down; where that cannot be, the next ADD looks at the records again."""
    try:
        if shares:
            with root.child(SHARES, create=True) as folder:
                folder.write(network, encode(shares).encode())
    except OSError as error:
        log.warning("shares not noted", reason=error.strerror)


def _refuse_under_living_pods(
    data_dir: str, network: str, moved: Sequence[Want], known: Mapping[str, Sequence[str]]
) -> None:
    from multinic_cni.attachments.records import records_of  # noqa: PLC0415 - where one has moved
    from multinic_cni.liveness import Living  # noqa: PLC0415 - the same

    living = Living()
    wants = {want.nic: want for want in moved}
    for seen in records_of(data_dir, network):
        record = seen.record
        for nic in record.nics if record else ():
            want = wants.get(nic.nic)
            if want is None or record is None:
                continue
            outside = [e.address for e in nic.reservations if not _holds(want, e.address)]
            if outside and living.has(record):
                raise StoreError(_refusal(want, known.get(nic.nic, ()), record, outside[0]))


def _dealt(want: Want) -> list[str]:
    return [str(pool) for pools in want.alternatives for pool in pools if pool.dealt]


def _read(root: Folder, network: str) -> dict[str, list[str]]:
    """Return what the file says; a damaged one says nothing."""
    try:
        with root.child(SHARES, create=False) as folder:
            document = decode(folder.read(network), network)
    except (OSError, CniError):
        return {}
    listed = document.items() if isinstance(document, dict) else ()
    return {nic: texts for nic, texts in listed if isinstance(texts, list)}


def _holds(want: Want, address: str) -> bool:
    place = parse_address(address)
    return any(pool.holds(*place) for pools in want.alternatives for pool in pools)


def _refusal(want: Want, known: Sequence[str], record: Record, address: str) -> str:
    now = ", ".join(str(pool) for pools in want.alternatives for pool in pools)
    before = f" from {', '.join(map(str, known))}" if known else ""
    return (
        f"NIC {want.nic}: the share moves{before} to {now}, but pod"
        f" {record.pod or record.container_id} still has {address}: delete such pods first, or"
        " restore what numbers the share (subnet, interfaceBlock, hostBlock, hosts, node.json, …)"
    )
