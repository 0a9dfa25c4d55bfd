"""Addresses that were taken over from a folder of host-local, whose pods still run.

Their DEL goes to host-local, which removes its own file: ours is stale from then on.
"""

from __future__ import annotations

from multinic_ipam.folders import Folder


def is_held_at_source(folder: str, address: str) -> bool:
    """Tell whether host-local still has the address, for this pod or another one of its own.

    Where the whole folder has gone nobody can know: the pods may live, until the next boot.
    """
    try:
        source = Folder.existing(folder)
    except OSError:
        return True
    with source:
        return source.exists(address)
