"""Where PCI functions are plugged in."""

from __future__ import annotations

# How near two of them are; for each switch more that they share it is one more.
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
