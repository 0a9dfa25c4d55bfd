"""NICs that are on their way into a pod, or back: the node still lists them, or does already.

A record is written before a delegate moves a NIC, and says that it is `complete` afterwards; a DEL
says first that it is so no longer, and forgets the record last. Whoever took a NIC in between would
find it gone, or what the other DEL has still to set on it would hit the new pod.
"""

from __future__ import annotations

from multinic_cni.attachments.unfinished import unfinished
from multinic_cni.delegate_types import TAKE_THE_NIC
from multinic_cni.host import links_of_node
from multinic_cni.liveness import Living

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_selectors.nics import Nic
    from multinic_selectors.sysfs import Sysfs


class Moves:
    """What moves at this moment, for a call that has its turn: no other may begin to take NICs."""

    def __init__(self, data_dir: str, sysfs: Sysfs) -> None:
        """Look; raises OSError.

        Records are read before the links and after: an ADD that ends between would be missed by
        the second look, a DEL that begins between by the first.
        """
        self._sysfs = sysfs
        self._living = Living()
        before = list(unfinished(data_dir))
        self._here = {(link.name, link.index) for link in links_of_node()}
        self._records = [*before, *unfinished(data_dir)]

    def conflict(self, nic: Nic) -> str:
        """Return which living pod is taking a NIC or giving it back; empty if none is."""
        for record, taken in self._taken():
            if self._is_same(taken, nic) and self._living.has(record):
                pod = f"pod {record.pod or record.container_id} of network {record.network}"
                return f"{pod} is {'taking it' if taken.result is None else 'giving it back'}"
        return "" if (nic.name, nic.index) in self._here else "it has just left the node's netns"

    def _taken(self) -> Iterator[tuple[Record, NicRecord]]:
        for record in self._records:
            for nic in record.nics:
                if nic.confs and nic.confs[0]["type"] in TAKE_THE_NIC:
                    yield record, nic

    def _is_same(self, taken: NicRecord, nic: Nic) -> bool:
        """Compare by name or function: a NIC may come back with another index."""
        return taken.nic == nic.name or (
            bool(taken.pci) and taken.pci == self._sysfs.pci_address(nic.name)
        )
