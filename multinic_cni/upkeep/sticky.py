"""Which addresses a pod had last: a pod of the same name gets them again if they are free.

<dataDir>/sticky/<network>/<namespace>:<pod>:<ifname>     from a NIC's name to its addresses
"""

from __future__ import annotations

import os
import time

from multinic_cni.errors import CniError
from multinic_cni.jsontext import decode, encode
from multinic_cni.log import log
from multinic_ipam.networks import NetworkError, parse_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.attachments.record import Record
    from multinic_ipam.folders import Folder

STICKY = "sticky"
LONGEST_NAME = 250  # a file name, less what the temporary one has more
DAY_SECONDS = 24 * 3600
KEPT_SECONDS = 30 * DAY_SECONDS
PRUNED = ".pruned"


def name_of(pod: str, ifname: str) -> str:
    """Name the note of a pod, "namespace/name"; empty where the runtime does not say which."""
    namespace, _, own = pod.partition("/")
    name = f"{namespace}:{own}:{ifname}"
    usable = namespace and own and "/" not in name and len(name.encode()) <= LONGEST_NAME
    return name if usable else ""


def refresh(data_dir: str, record: Record) -> None:
    """Begin the month anew: the pod was there until now."""
    name = name_of(record.pod, record.ifname)
    if name:
        try:
            os.utime(f"{data_dir}/{STICKY}/{record.network}/{name}", follow_symlinks=False)
        except OSError:
            return  # mostly there is none


def recall(root: Folder, network: str, name: str) -> dict[str, list[tuple[int, int]]]:
    """Return, by NIC, the addresses (family, number) that the pod had. A bad note says nothing."""
    try:
        with root.child(STICKY, create=False) as notes, notes.child(network, create=False) as own:
            document = decode(own.read(name), name)
        if not isinstance(document, dict):
            return {}
        return {nic: [parse_address(each) for each in listed] for nic, listed in document.items()}
    except (OSError, CniError, NetworkError, TypeError):
        return {}


def remember(root: Folder, network: str, name: str, addresses: Mapping[str, Sequence[str]]) -> None:
    """Note what the pod has; the store's lock is held. It is no more than a preference."""
    try:
        with root.child(STICKY, create=True) as notes, notes.child(network, create=True) as own:
            text = encode({nic: list(listed) for nic, listed in addresses.items()})
            own.write(name, text.encode())
            _prune_once_a_day(own)
    except OSError as error:
        log.warning("the pod's addresses are not remembered", reason=error.strerror)


def _prune_once_a_day(own: Folder) -> None:
    """Forget pods that have not come for a month: those of Deployments have new names each time."""
    if own.exists(PRUNED) and not _is_older(own, PRUNED, DAY_SECONDS):
        return
    own.write(PRUNED, b"")
    for name in own.names():
        if name != PRUNED and _is_old(own, name):
            own.remove(name)


def _is_old(own: Folder, name: str) -> bool:
    return _is_older(own, name, KEPT_SECONDS)


def _is_older(own: Folder, name: str, seconds: float) -> bool:
    status = os.stat(name, dir_fd=own.descriptor, follow_symlinks=False)
    return status.st_mtime < time.time() - seconds
