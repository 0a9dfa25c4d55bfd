"""Which addresses a pod had last: a pod of the same name gets them again if they are free.

<dataDir>/sticky/<network>/<namespace>:<pod>:<ifname>     from a NIC's name to its addresses
"""

from __future__ import annotations

import os
import time

from multinic_cni.errors import CniError
from multinic_cni.jsontext import decode, encode
from multinic_ipam.networks import NetworkError, parse_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.invocation import Invocation
    from multinic_ipam.folders import Folder

STICKY = "sticky"
LONGEST_NAME = 250  # a file name, less what the temporary one has more
KEPT_SECONDS = 30 * 24 * 3600  # pods of Deployments have a new name each time: they add up


def name_of(call: Invocation) -> str:
    """Name the pod's note; empty where the runtime does not say which pod it is."""
    parts = (call.arg("K8S_POD_NAMESPACE"), call.arg("K8S_POD_NAME"), call.ifname)
    name = ":".join(parts)
    usable = all(parts) and "/" not in name and len(name.encode()) <= LONGEST_NAME
    return name if usable else ""


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
    """Note what the pod has; the store's lock is held."""
    with root.child(STICKY, create=True) as notes, notes.child(network, create=True) as own:
        own.write(name, encode({nic: list(listed) for nic, listed in addresses.items()}).encode())


def prune(root: Folder) -> None:
    """Forget pods that have not come for a month."""
    oldest = time.time() - KEPT_SECONDS
    try:
        notes = root.child(STICKY, create=False)
    except FileNotFoundError:
        return
    with notes:
        for network in notes.names():
            with notes.child(network, create=False) as own:
                for name in own.names():
                    if os.stat(name, dir_fd=own.descriptor).st_mtime < oldest:
                        own.remove(name)
