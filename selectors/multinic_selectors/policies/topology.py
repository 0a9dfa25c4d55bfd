"""`topology`: the NICs nearest to the pod's devices, shared out evenly over them.

Each of G devices is given as many of k NICs as every one can get, k // G; then k % G devices are
given one more. In either step the NICs are as near as they can be: most pairs of a device and its
NIC below one switch, then most below one root complex, then most on one NUMA node.
"""

from __future__ import annotations

from multinic_selectors.loads import NONE
from multinic_selectors.locations import FAR, SAME_NUMA_NODE, SAME_ROOT, SAME_SWITCH
from multinic_selectors.selection import Picked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from multinic_selectors.candidates import Choice
    from multinic_selectors.loads import Load
    from multinic_selectors.locations import Location
    from multinic_selectors.nics import Nic

    Block = tuple[object, ...]

WHOLE_MACHINE: Block = ("machine",)
WORDS = {
    FAR: "it is far from the pod's devices",
    SAME_NUMA_NODE: "it is on the NUMA node of one of the pod's devices",
    SAME_ROOT: "it is below the root complex of one of the pod's devices",
    SAME_SWITCH: "it is below one switch with one of the pod's devices",
}
TOGETHER = {SAME_NUMA_NODE: "NUMA node", SAME_ROOT: "root complex", SAME_SWITCH: "switch"}


class Topology:
    """Chooses by where the pod's devices and the NICs are plugged in; `loads` break ties."""

    def __init__(
        self,
        devices: Sequence[Location],
        location_of: Callable[[Nic], Location | None],
        loads: Mapping[str, Load],
    ) -> None:
        self._devices = devices
        self._location_of = location_of
        self._loads = loads
        self._known: dict[str, Location | None] = {}

    def pick(self, candidates: Sequence[Choice], limit: int | None) -> Picked:
        if limit is None or limit >= len(candidates):
            return Picked(candidates)
        loads = [self._loads.get(each.nic.name, NONE).attachments for each in candidates]
        by_load = sorted(range(len(candidates)), key=loads.__getitem__)  # stable: then their order
        machine = Machine(self._devices, [self._location(each.nic) for each in candidates])
        chosen = machine.nearest(by_load, limit) if self._devices else set(by_load[:limit])
        farthest = min(machine.closeness(index) for index in chosen)
        passed: list[tuple[str, str]] = []
        why: list[tuple[str, str]] = []
        for index, each in enumerate(candidates):
            load = _attachments(loads[index])
            nearness = machine.closeness(index)
            if index in chosen:
                why.append((each.nic.name, f"{self._near(machine, index, nearness)}{load}"))
            else:
                others = _nearer(limit) if nearness < farthest else _first(limit)
                reason = f"{self._place(each.nic, nearness)}, with {load}"
                passed.append((each.nic.name, f"{reason}; {others}"))
        return Picked([candidates[index] for index in sorted(chosen)], passed, why=why)

    def _location(self, nic: Nic) -> Location | None:
        if nic.name not in self._known:
            self._known[nic.name] = self._location_of(nic)
        return self._known[nic.name]

    def _place(self, nic: Nic, nearness: int) -> str:
        if not self._devices:
            return "no device of the pod is known that it could be near to"
        if self._location(nic) is None:
            return "where it is plugged in is unknown"
        return WORDS[min(nearness, SAME_SWITCH)]

    def _near(self, machine: Machine, index: int, nearness: int) -> str:
        """Say which devices a chosen NIC is near to; nothing where there are none."""
        if not self._devices:
            return ""
        if nearness == FAR:
            return "far from the pod's devices, "
        devices = ", ".join(self._devices[each].address for each in machine.devices_near(index))
        return f"one {TOGETHER[min(nearness, SAME_SWITCH)]} with {devices}, "


class Machine:
    """The blocks of a machine that hold devices of the pod: switches in roots in NUMA nodes.

    NICs go by their index. Two functions are as near as the innermost block that holds both. So
    that blocks nest, all functions of a root complex are on one NUMA node: the lowest that one of
    them is known to be on.
    """

    def __init__(self, devices: Sequence[Location], nics: Sequence[Location | None]) -> None:
        self._numa_of = _numa_nodes([*devices, *(nic for nic in nics if nic is not None)])
        self._count = len(devices)
        paths = self._device_paths = [self._path(device) for device in devices]
        self._depth = max(map(len, paths), default=1)
        # By closeness: how many devices there are in each block.
        self._devices: list[dict[Block, int]] = [{} for _ in range(self._depth)]
        for path in paths:
            for held, block in zip(self._devices, path, strict=False):
                held[block] = held.get(block, 0) + 1
        self._paths = [self._path(nic) for nic in nics]

    def nearest(self, preferred: Sequence[int], number: int) -> set[int]:
        """Return so many NICs; of those that are as near, the first in the order of preference."""
        each, rest = divmod(number, self._count)
        chosen = self._share_out(preferred, each, number - rest)
        others = [nic for nic in preferred if nic not in chosen]
        return chosen | self._share_out(others, 1, rest)

    def closeness(self, nic: int) -> int:
        """Return how near a NIC is to the nearest device."""
        path = self._paths[nic]
        shared = [block in held for block, held in zip(path, self._devices, strict=False)]
        return (shared.index(False) if False in shared else len(shared)) - 1

    def devices_near(self, nic: int) -> list[int]:
        """Return the devices to which a NIC is as near as it is to any."""
        nearness = self.closeness(nic)
        block = self._paths[nic][nearness]
        paths = enumerate(self._device_paths)
        return [device for device, path in paths if block in path[nearness : nearness + 1]]

    def _share_out(self, preferred: Sequence[int], each: int, number: int) -> set[int]:
        """Return so many NICs, at most so many for each device.

        From the innermost blocks outwards, each block pairs as many as it can of the devices and
        NICs that are left in it. Blocks nest, so whoever is paired early takes nothing from an
        outer block that could be paired better there: the greedy way is the best one.
        """
        taken: list[int] = []
        left = list(preferred)
        for nearness in reversed(range(self._depth)):
            room = {block: held * each for block, held in self._devices[nearness].items()}
            for nic in taken:
                room[self._paths[nic][nearness]] -= 1
            passed: list[int] = []
            for nic in left:
                path = self._paths[nic]
                block = path[nearness] if nearness < len(path) else ()
                if len(taken) < number and room.get(block, 0):
                    room[block] -= 1
                    taken.append(nic)
                else:
                    passed.append(nic)
            left = passed
        return set(taken)

    def _path(self, location: Location | None) -> list[Block]:
        """Return the blocks that hold a function, by closeness from FAR on."""
        if location is None:
            return [WHOLE_MACHINE]
        root, bridges = location.root, location.bridges
        if not root:
            numa = () if location.numa is None else (("NUMA", location.numa),)
            return [WHOLE_MACHINE, *numa]
        # A root complex that is nowhere known to be is as if on a NUMA node of its own.
        node = self._numa_of.get(root)
        block: Block = ("NUMA", node) if node is not None else ("NUMA of", root)
        switches = [(root, *bridges[:depth]) for depth in range(1, len(bridges) + 1)]
        return [WHOLE_MACHINE, block, (root,), *switches]


def _numa_nodes(locations: Sequence[Location]) -> dict[str, int]:
    """Return each root complex's NUMA node, where it is known."""
    nodes: dict[str, int] = {}
    for location in locations:
        if location.root and location.numa is not None:
            nodes[location.root] = min(location.numa, nodes.get(location.root, location.numa))
    return nodes


def _attachments(number: int) -> str:
    return f"{number or 'no'} attachment{'' if number == 1 else 's'}"


def _nearer(number: int) -> str:
    return "a nearer one is enough" if number == 1 else f"{number} nearer ones are enough"


def _first(number: int) -> str:
    return "another one comes first" if number == 1 else f"{number} others come first"
