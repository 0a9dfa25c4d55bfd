"""The node that a command looks at: this one, or another whose files lie in a folder."""

from __future__ import annotations

import os

from multinic_cni import host
from multinic_cni.attachments.claim import ATTACHMENTS
from multinic_cni.attachments.loads import loads_on
from multinic_cni.host import Host
from multinic_cni.values import Value
from multinic_selectors.foreign_files import read_foreign

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

    def loads_in(self, folder: str) -> tuple[Mapping[str, Load], list[str]]:
        """Return what attached pods have taken, by NIC, by the records there; raises OSError.

        Beside it stand notes: nobody knows which pods of another node have gone if its boot has not
        been collected, and then none is counted.
        """
        boot_id = self._boot_id()
        attachments = os.path.join(folder, ATTACHMENTS)
        if not boot_id and os.path.isdir(attachments) and os.listdir(attachments):
            path = self.path(host.BOOT_ID)
            return {}, [f"attachments are not counted: no {path} says which of them live"]
        return loads_on(folder, boot_id, self.host.nics), []

    def _boot_id(self) -> str:
        if not self.root:
            return host.boot_id()
        content = read_foreign(self.path(host.BOOT_ID), LONGEST_ID) or b""
        return content.decode("ascii", "replace").strip()


def node_at(sysroot: str) -> Node:
    """Return the node of a folder, or this one without; CniError, OSError."""
    if not sysroot:
        return Node(host=Host())
    from multinic_cni.admin.sysroot import host_of_sysroot  # noqa: PLC0415 - for another node

    return Node(host=host_of_sysroot(sysroot), root=sysroot)
