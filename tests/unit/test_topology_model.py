"""`topology` chooses what docs/nics.md defines: a slow reference looks at every possibility."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from multinic_selectors.loads import Load
from multinic_selectors.locations import Location
from multinic_selectors.policies.topology import Topology
from tests.closeness import closeness
from tests.unit.policies import at, candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from random import Random

    from multinic_selectors.nics import Nic

    Places = Sequence[Location | None]
    Rank = tuple[list[int], int, list[int]]  # nearnesses, attachments, NICs: the smallest is best
    Machine = tuple[list[Location], list[Location | None], list[int], int]

MOST_NICS, MOST_DEVICES = 6, 4

ROOTS = st.sampled_from(["", "pci00", "pci40", "pci80"])
BRIDGES = st.lists(st.sampled_from("xy"), max_size=3)
NODES = st.none() | st.integers(0, 1)
LOCATIONS = st.builds(
    lambda root, bridges, numa: at(root, *bridges, numa=numa), ROOTS, BRIDGES, NODES
)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Return the pod's devices, the NICs' locations and attachments, and how many are wanted."""
    devices = draw(st.lists(LOCATIONS, max_size=MOST_DEVICES))
    nics = draw(st.lists(st.none() | LOCATIONS, min_size=1, max_size=MOST_NICS))
    loads = draw(st.lists(st.integers(0, 2), min_size=len(nics), max_size=len(nics)))
    return devices, nics, loads, draw(st.integers(1, len(nics)))


def with_nodes(places: Places) -> list[Location | None]:
    """Return the same locations, each with its root complex's NUMA node: the lowest known."""
    return [place and _with_node(place, places) for place in places]


def _with_node(place: Location, places: Places) -> Location:
    same_root = [each for each in places if each and place.root and each.root == place.root]
    nodes = [each.numa for each in same_root or [place] if each.numa is not None]
    numa = min(nodes, default=None)
    return Location(address=place.address, numa=numa, root=place.root, bridges=place.bridges)


class Reference:
    """Every set of NICs, dealt out to the devices in every way."""

    def __init__(self, devices: Sequence[Location], nics: Places, loads: Sequence[int]) -> None:
        known = with_nodes([*devices, *nics])
        self._devices, self._nics = known[: len(devices)], known[len(devices) :]
        self._loads = loads

    def choice(self, number: int) -> list[int]:
        """Return the NICs that are chosen in two steps."""
        everyone = list(range(len(self._devices)))
        each, rest = divmod(number, len(everyone)) if everyone else (0, number)
        nics = set(range(len(self._nics)))
        chosen = self._best(everyone * each, len(everyone) * each, nics)
        return sorted([*chosen, *self._best(everyone or [-1] * rest, rest, nics - set(chosen))])

    def nearest(self, number: int, nics: Iterable[int]) -> list[int]:
        """Return the nearnesses, best first, if so many of these are dealt out in one step."""
        everyone = range(len(self._devices))
        each, rest = divmod(number, len(everyone))
        return min(
            rank[0]
            for more in itertools.combinations(everyone, rest)
            for rank in self._ranks([*list(everyone) * each, *more], number, set(nics))
        )

    def _best(self, slots: Sequence[int], number: int, nics: set[int]) -> list[int]:
        return min(self._ranks(slots, number, nics))[2]

    def _ranks(self, slots: Sequence[int], number: int, nics: set[int]) -> Iterator[Rank]:
        """Return the rank of every dealing of so many NICs into slots: the smallest is best."""
        for filled in itertools.combinations(slots, number):
            for dealt in itertools.permutations(sorted(nics), number):
                pairs = zip(filled, dealt, strict=True)
                nearest = sorted(-self._closeness(device, nic) for device, nic in pairs)
                yield nearest, sum(self._loads[nic] for nic in dealt), sorted(dealt)

    def _closeness(self, device: int, nic: int) -> int:
        return closeness(self._devices[device], self._nics[nic]) if device >= 0 else 0


def chosen(
    devices: Sequence[Location], nics: Places, loads: Sequence[int], number: int
) -> list[int]:
    names = [f"n{index}" for index in range(len(nics))]
    places = dict(zip(names, nics, strict=True))

    def location_of(nic: Nic) -> Location | None:
        return places[nic.name]

    taken = {name: Load(attachments) for name, attachments in zip(names, loads, strict=True)}
    picked = Topology(devices, location_of, taken).pick(candidates(*names), number)
    others = {name for name, _ in picked.passed}
    assert others == set(names) - set(picked.names)
    return [names.index(name) for name in picked.names]


@settings(max_examples=300)
@given(machines())
def test_choice_is_the_references(machine: Machine) -> None:
    devices, nics, loads, number = machine
    assert Reference(devices, nics, loads).choice(number) == chosen(*machine)


@settings(max_examples=200)
@given(machines().filter(lambda machine: bool(machine[0])))
def test_two_steps_cost_no_nearness(machine: Machine) -> None:
    """No set of NICs could be nearer if all were dealt out at once, just as evenly."""
    devices, nics, loads, number = machine
    reference = Reference(devices, nics, loads)
    best = reference.nearest(number, range(len(nics)))
    assert best == reference.nearest(number, chosen(*machine))


@settings(max_examples=200)
@given(machines(), st.randoms(use_true_random=False))
def test_order_of_devices_does_not_matter(machine: Machine, chance: Random) -> None:
    devices, nics, loads, number = machine
    shuffled = list(devices)
    chance.shuffle(shuffled)
    assert chosen(*machine) == chosen(shuffled, nics, loads, number)


def test_256_nics_and_16_devices_cost_no_more_than_looking_at_each_pair() -> None:
    devices = [at(f"pci{n % 8}", "r", f"s{n % 16}", f"d{n}", numa=n % 2) for n in range(16)]
    nics = [at(f"pci{n % 8}", "r", f"s{n % 16}", f"n{n}", numa=n % 2) for n in range(256)]
    loads = {f"n{n}": Load(n * 7 % 5) for n in range(256)}
    named = candidates(*(f"n{n}" for n in range(256)))
    strategy = Topology(devices, lambda nic: nics[int(nic.name[1:])], loads)
    assert 100 == len(strategy.pick(named, 100).chosen)  # and every NIC's location is known now
    pairs = [(device, nic) for device in devices for nic in nics]
    looking, picking = (
        min(seconds(work) for _ in range(7))
        for work in (
            lambda: [closeness(device, nic) for device, nic in pairs],
            lambda: strategy.pick(named, 100),
        )
    )
    assert picking < 3 * looking, (picking, looking)


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU's time, which no other process takes."""
    before = time.process_time()
    work()
    return time.process_time() - before
