"""Where PCI functions are plugged in, and how near two of them are."""

from __future__ import annotations

FAR, SAME_NUMA_NODE, SAME_ROOT, SAME_SWITCH = 0, 1, 2, 3


class Location:
    """Where a function is in the tree of its machine.

    `root` is the root complex (the host bridge's name, empty if unknown), `bridges` are the
    addresses from the root port down to the bridge above the function; `numa` is None if unknown.
    """

    __slots__ = ("address", "bridges", "numa", "root")

    def __init__(
        self, *, address: str, numa: int | None, root: str, bridges: tuple[str, ...]
    ) -> None:
        self.address = address
        self.numa = numa
        self.root = root
        self.bridges = bridges

    def __repr__(self) -> str:
        return f"Location({self.address!r}, numa={self.numa}, root={self.root!r}, {self.bridges})"


def closeness(one: Location | None, other: Location | None) -> int:
    """Return FAR, SAME_NUMA_NODE, SAME_ROOT, or SAME_SWITCH and one more for each nested switch.

    What is unknown is never equal. Two functions are below the same switch if they share a bridge:
    a root port's two functions are as near as those of a switch.
    """
    if one is None or other is None:
        return FAR
    if one.root and one.root == other.root:
        shared = 0
        for mine, theirs in zip(one.bridges, other.bridges, strict=False):
            if mine != theirs:
                break
            shared += 1
        return SAME_ROOT + shared
    if one.numa is not None and one.numa == other.numa:
        return SAME_NUMA_NODE
    return FAR
