"""The node that a command looks at: this one, or another whose files lie in a folder."""

from __future__ import annotations

from multinic_cni import host
from multinic_cni.attachments.loads import loads_on
from multinic_cni.host import Host
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from multinic_selectors.loads import Load

LONGEST_ID = 64


class Node(Value):
    """A node, and the folder below which its files lie; empty for this one."""

    host: Host
    root: str = ""

    def path(self, own: str) -> str:
        """Return where one of the node's own paths is found here."""
        return f"{self.root}{own}"

    def loads_in(self, folder: str) -> Mapping[str, Load]:
        """Return what attached pods have taken, by NIC, by the records there; raises OSError."""
        return loads_on(folder, self._boot_id())

    def _boot_id(self) -> str:
        if not self.root:
            return host.boot_id()
        try:
            with open(self.path(host.BOOT_ID), "rb") as file:
                return file.read(LONGEST_ID).decode("ascii", "replace").strip()
        except OSError:
            return ""  # it has not been collected: nobody can know whose pods have gone


def node_at(sysroot: str) -> Node:
    """Return the node of a folder, or this one without; CniError, OSError."""
    if not sysroot:
        return Node(host=Host())
    from multinic_cni.admin.sysroot import host_of_sysroot  # noqa: PLC0415 - for another node

    return Node(host=host_of_sysroot(sysroot), root=sysroot)
