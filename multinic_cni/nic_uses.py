"""What living pods do with the node's NICs, so that no other network breaks it.

    <dataDir>/uses/nics     from a NIC's name to its index and use: {"rail0": [3, "ipvlan l2"]}

A VLAN that a delegate gets instead of a NIC stands there by its own name, with the NIC's index.

Links in pods are out of sight from the node's netns: records alone tell of them. What is noted of a
NIC is what every living attachment does with it, so that a call that does the same needs no more
than the one small file. Any other call looks at the records.
"""

from __future__ import annotations

import itertools

from multinic_cni.conflicts import PASSTHRU, clash, family_of, use_of
from multinic_cni.delegate_types import TAKE_THE_NIC
from multinic_cni.errors import NO_NICS, CniError
from multinic_cni.jsontext import decode, encode
from multinic_cni.values import Value
from multinic_ipam.folders import Folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_cni.liveness import Living
    from multinic_ipam.reservation import Owner
    from multinic_selectors.nics import Nic

    Notes = dict[str, list[object]]
    Place = tuple[int, str]  # a NIC's index, and the name of the VLAN on it, empty for none

USES, NICS = "uses", "nics"
# In place of an index: a VLAN on any NIC; a NIC of that name itself. No link has them.
ANY, ITSELF = 0, -1


class NicUse(Value):
    """What an attachment is about to do with its NICs; `present` are the names of all.

    `links` are what the delegates get for them: the NICs themselves, if it is empty.
    """

    network: str
    owner: Owner
    use: str
    nics: Sequence[Nic]
    present: Collection[str]
    links: Sequence[str] = ()

    @property
    def below(self) -> list[tuple[Nic, str]]:
        """Return each NIC with the name of the link that is used."""
        names = self.links or [nic.name for nic in self.nics]
        return list(zip(self.nics, names, strict=True))


class OtherUses:
    """What other attachments do with NICs that does not go with a use of a network's.

    Records are read when it is first needed, once. The attachment of `owner` is no other.
    """

    def __init__(self, data_dir: str, network: str, use: str, owner: Owner | None = None) -> None:
        self._data_dir = data_dir
        self._network = network
        self._use = use
        self._owner = owner
        self._noted: Notes | None = None
        self._by_place: dict[Place, list[tuple[Record, str]]] | None = None
        self._living: Living | None = None

    def conflict_if_noted(self, nic: Nic, link: str) -> str:
        """Return what `conflict` does; the note alone is read where it says that all do the same.

        Without the store's lock it is no proof: that of `begin_use` is.
        """
        if not self._use or _goes_with_all(self._use):
            return ""
        if self._noted is None:
            self._noted = _notes_in(self._data_dir)
        if _all_do_the_same(self._noted, nic, link, self._use):
            return ""
        return self.conflict(nic, link)

    def conflict(self, nic: Nic, link: str) -> str:
        """Return which living pod does what there, and why it cannot be; empty if none.

        `link` is the NIC's name, or that of a VLAN on it. The admin's own VLAN may be a NIC of one
        network and stand below delegates of another.
        """
        on_nic = link == nic.name
        places = [(nic.index, ""), (ANY, link)] if on_nic else [(nic.index, link), (ITSELF, link)]
        for record, present in itertools.chain(*(self._clashing.get(at, ()) for at in places)):
            if self._lives(record):
                return (
                    f"network {self._network} wants {self._use}, but pod"
                    f" {record.pod or record.container_id} of network {record.network} has"
                    f" {present} on it: {clash(self._use, present)}"
                )
        return ""

    @property
    def _clashing(self) -> Mapping[Place, Sequence[tuple[Record, str]]]:
        """Those of others by place: by the NIC's index, since links stay on one that is renamed."""
        if self._by_place is None:
            self._by_place = {}
            for record in _records_of_others(self._data_dir, self._network, self._owner):
                for place, present in (each for nic in record.nics for each in _uses_in(nic)):
                    if clash(self._use, present):
                        found = self._by_place.setdefault(place, [])
                        found.append((record, present))
        return self._by_place

    def _lives(self, record: Record) -> bool:
        if self._living is None:
            from multinic_cni.liveness import Living  # noqa: PLC0415 - where uses differ

            self._living = Living()
        return self._living.has(record)


def begin_use(root: Folder, data_dir: str, wanted: NicUse) -> None:
    """Note a use; CniError 100 if a living pod does with a NIC what does not go with it.

    The store's lock is held, and the record is written before it is given back: two calls cannot
    both find that they are the first.
    """
    before = noted = _read(root)
    uses: Notes = {link: [nic.index, wanted.use] for nic, link in wanted.below}
    if wanted.links or _goes_with_all(wanted.use):
        # VLANs are not noted: the one use that they do not go with is to look at the records.
        on_nics = {nic.name for nic in wanted.nics}
        noted = {
            nic: each for nic, each in before.items() if nic not in on_nics or not _takes(each)
        }
    if (
        not wanted.use
        or _goes_with_all(wanted.use)
        or all(_all_do_the_same(noted, nic, link, wanted.use) for nic, link in wanted.below)
    ):
        if noted != before:
            _write(root, noted)
        return
    others = OtherUses(data_dir, wanted.network, wanted.use, wanted.owner)
    for nic, link in wanted.below:
        conflict = others.conflict(nic, link)
        if conflict:
            details = "delete such pods first, or give one network other NICs"
            raise CniError(NO_NICS, f"NIC {nic.name}: {conflict}", details)
    here = {nic: each for nic, each in noted.items() if nic in wanted.present}
    if {**here, **uses} != before:
        _write(root, {**here, **uses})


def _goes_with_all(use: str) -> bool:
    """Tell whether a use, on a NIC that is here, goes with every use of others."""
    return family_of(use) == "vlan"


def _all_do_the_same(noted: Notes, nic: Nic, link: str, use: str) -> bool:
    """Tell whether the note says that all do so with the NIC, or its VLAN, and may."""
    return use != PASSTHRU and noted.get(link) == [nic.index, use]


def _records_of_others(data_dir: str, network: str, owner: Owner | None) -> Iterator[Record]:
    from multinic_cni.attachments.records import all_records  # noqa: PLC0415 - where uses differ

    own = (network, owner.container_id, owner.ifname) if owner else None
    for seen in all_records(data_dir):
        record = seen.record
        if record and (record.network, record.container_id, record.ifname) != own:
            yield record


def _uses_in(nic: NicRecord) -> list[tuple[Place, str]]:
    """Return what an attachment does at which places, as `OtherUses.conflict` looks for them."""
    use = use_of(nic.confs[0]) if nic.confs else ""
    if nic.master:
        return [((nic.index, nic.master), use), ((ANY, nic.master), use), ((nic.index, ""), "vlan")]
    return [((nic.index, ""), use), ((ITSELF, nic.nic), use)]


def _takes(noted: Sequence[object]) -> bool:
    return noted[1] in TAKE_THE_NIC


def _notes_in(data_dir: str) -> Notes:
    try:
        with Folder.existing(data_dir) as root:
            return _read(root)
    except OSError:
        return {}


def _read(root: Folder) -> Notes:
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
