"""How near two PCI functions are, by their locations alone: the reference of many tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multinic_selectors.locations import FAR, SAME_NUMA_NODE, SAME_ROOT

if TYPE_CHECKING:
    from multinic_selectors.locations import Location


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
