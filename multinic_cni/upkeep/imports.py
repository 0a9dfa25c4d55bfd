"""Addresses that were taken over from a folder of host-local, whose pods still run.

Their DEL goes to host-local, which removes its own file: ours is stale from then on.
"""

from __future__ import annotations

from multinic_ipam.folders import Folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_ipam.notes import Notes

UNKNOWN = "a folder that its note does not tell"


def source_of(imported: Notes, address: str) -> str | None:
    """Return the folder that an address was taken over from, None if it was not."""
    try:
        return imported.read(address)
    except OSError:
        return UNKNOWN


def is_held_at_source(folder: str, address: str) -> bool:
    """Tell whether host-local still has the address, for this pod or another one of its own.

    Where the whole folder has gone nobody can know: the pods may live, until the next boot.
    """
    try:
        with Folder.existing(folder) as source:
            return source.exists(address)
    except (OSError, ValueError):
        return True
