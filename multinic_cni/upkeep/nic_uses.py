"""What living pods do with the node's NICs, so that no other network breaks it.

    <dataDir>/uses/nics     from a NIC's name to its index and use: {"rail0": [3, "ipvlan l2"]}

Links in pods are out of sight from the node's netns: records alone tell of them. What is noted of a
NIC is what every living attachment does with it, so that a call that does the same needs no more
than the one small file. Any other call looks at the records.
"""

from __future__ import annotations

from multinic_cni.conflicts import PASSTHRU, clash, family_of, use_of
from multinic_cni.delegates import TAKE_THE_NIC
from multinic_cni.errors import NO_NICS, CniError
from multinic_cni.jsontext import decode, encode
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_ipam.folders import Folder
    from multinic_ipam.reservation import Owner
    from multinic_selectors.nics import Nic

USES, NICS = "uses", "nics"


class NicUse(Value):
    """What an attachment is about to do with its NICs; `present` are the names of all."""

    network: str
    owner: Owner
    use: str
    nics: Sequence[Nic]
    present: Collection[str]


def begin_use(root: Folder, data_dir: str, wanted: NicUse) -> None:
    """Note a use; CniError 100 if a living pod does with a NIC what does not go with it.

    The store's lock is held, and the record is written before it is given back: two calls cannot
    both find that they are the first.
    """
    noted = _read(root)
    uses = {nic.name: [nic.index, wanted.use] for nic in wanted.nics}
    if family_of(wanted.use) == "vlan":
        # VLANs go with every use but one, and are not noted: that one is to look at the records.
        kept = {nic: each for nic, each in noted.items() if nic not in uses or not _takes(each)}
        if kept != noted:
            _write(root, kept)
        return
    if wanted.use != PASSTHRU and all(noted.get(nic) == each for nic, each in uses.items()):
        return
    _refuse_other_uses(data_dir, wanted)
    here = {nic: each for nic, each in noted.items() if nic in wanted.present}
    if {**here, **uses} != noted:
        _write(root, {**here, **uses})


def _refuse_other_uses(data_dir: str, wanted: NicUse) -> None:
    from multinic_cni.upkeep.liveness import Living  # noqa: PLC0415 - where uses differ

    living = Living()
    indexes = {nic.name: nic.index for nic in wanted.nics}
    for record in _records_of_others(data_dir, wanted):
        for nic in record.nics:
            present = _use_in(nic)
            why = clash(wanted.use, present) if indexes.get(nic.nic) == nic.index else ""
            if why and living.has(record):
                raise _refusal(wanted, nic.nic, record, present, why)


def _records_of_others(data_dir: str, wanted: NicUse) -> Iterator[Record]:
    from multinic_cni.attachments.records import all_records  # noqa: PLC0415 - where uses differ

    own = (wanted.network, wanted.owner.container_id, wanted.owner.ifname)
    for seen in all_records(data_dir):
        record = seen.record
        if record and (record.network, record.container_id, record.ifname) != own:
            yield record


def _use_in(nic: NicRecord) -> str:
    return use_of(nic.confs[0]) if nic.confs else ""


def _refusal(wanted: NicUse, nic: str, record: Record, present: str, why: str) -> CniError:
    message = (
        f"NIC {nic}: network {wanted.network} wants {wanted.use}, but pod"
        f" {record.pod or record.container_id} of network {record.network} has {present} on it:"
        f" {why}"
    )
    return CniError(NO_NICS, message, "delete such pods first, or give one network other NICs")


def _takes(noted: Sequence[object]) -> bool:
    return noted[1] in TAKE_THE_NIC


def _read(root: Folder) -> dict[str, list[object]]:
    """Return what the file says; a damaged one says nothing."""
    try:
        with root.child(USES, create=False) as folder:
            document = decode(folder.read(NICS), NICS)
    except (OSError, CniError):
        return {}
    listed = document.items() if isinstance(document, dict) else ()
    return {nic: each for nic, each in listed if _is_note(each)}


def _is_note(document: object) -> bool:
    match document:
        case [int(), str()]:
            return True
        case _:
            return False


def _write(root: Folder, uses: Mapping[str, Sequence[object]]) -> None:
    """Write it down; raises OSError: what stood there before would mislead the next call."""
    with root.child(USES, create=True) as folder:
        folder.write(NICS, encode(uses).encode())
