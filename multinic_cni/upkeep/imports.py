"""Addresses that were taken over from a folder of host-local, whose pods still run.

Their DEL goes to host-local, which removes its own file: ours is stale from then on.
"""

from __future__ import annotations

from multinic_ipam.folders import Folder
from multinic_ipam.reservation import Owner


def is_held_at_source(folder: str, address: str, owner: Owner) -> bool:
    """Tell whether host-local's file still names the owner.

    Where the whole folder has gone nobody can know: the pods may live, until the next boot.
    """
    try:
        source = Folder.existing(folder)
    except OSError:
        return True
    with source:
        try:
            holder = Owner.read(source.read(address))
        except FileNotFoundError:
            return False
        except OSError:
            return True  # it cannot be read now, which is not the same as gone
    return holder is None or holder.content == owner.content
