"""`topology`: near to the pod's devices, shared out evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multinic_selectors.loads import Load
from multinic_selectors.policies.topology import Topology
from tests.unit.policies import at, candidates, reasons

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_selectors.locations import Location
    from multinic_selectors.nics import Nic
    from multinic_selectors.selection import Picked


def pick(
    places: Mapping[str, Location | None],
    devices: Sequence[Location],
    limit: int | None,
    **attachments: int,
) -> Picked:
    """Pick of NICs in the order of `places`."""
    loads = {name: Load(number) for name, number in attachments.items()}
    strategy = Topology(devices, lambda nic: places[nic.name], loads)
    return strategy.pick(candidates(*places), limit)


def test_same_switch_then_root_then_numa_node_then_far() -> None:
    places = {
        "far": at("pci80", "x0", numa=1),
        "unknown": None,
        "node": at("pci10", "q0", numa=0),
        "root": at("pci00", "r1", numa=0),
        "switch": at("pci00", "r0", "s0", "d1", numa=0),
        "deeper": at("pci00", "r0", "s0", "d0", "t1", numa=0),
    }
    device = at("pci00", "r0", "s0", "d0", "t0", numa=0)
    order = ["deeper", "switch", "root", "node", "far"]
    for limit in range(1, 6):
        expected = [name for name in places if name in order[:limit]]
        assert expected == pick(places, [device], limit).names


def test_reasons_say_how_near_a_nic_is() -> None:
    places = {
        "far": at("pci80", "x0", numa=1),
        "unknown": None,
        "node": at("pci10", "q0", numa=0),
        "root": at("pci00", "r1", numa=0),
        "busy": at("pci00", "r0", "d1", numa=0),
        "idle": at("pci00", "r0", "d2", numa=0),
    }
    picked = pick(places, [at("pci00", "r0", "d0", numa=0)], 1, busy=2, far=1)
    assert ["idle"] == picked.names
    one = "one of the pod's devices"
    assert reasons(picked) == {
        "far": "it is far from the pod's devices, with 1 attachment; a nearer one is enough",
        "unknown": "where it is plugged in is unknown, with no attachments; a nearer one is enough",
        "node": f"it is on the NUMA node of {one}, with no attachments; a nearer one is enough",
        "root": f"it is below the root complex of {one}, with no attachments; a nearer one is"
        " enough",
        "busy": f"it is below one switch with {one}, with 2 attachments; another one comes first",
    }
    assert reasons(pick(places, [at("pci00", numa=0)], 2, idle=1, busy=1, far=9))["far"] == (
        "it is far from the pod's devices, with 9 attachments; 2 nearer ones are enough"
    )


def test_no_limit_takes_all_and_reads_nothing() -> None:
    def location_of(nic: Nic) -> Location | None:
        raise AssertionError(nic)

    strategy = Topology([at("pci00")], location_of, {})
    for limit in (None, 2, 3):
        assert ["a", "b"] == strategy.pick(candidates("a", "b"), limit).names


def test_without_devices_the_emptiest_then_the_first() -> None:
    picked = pick({"a": at("pci0"), "b": None, "c": at("pci1"), "d": None}, [], 2, a=1, b=1)
    assert ["c", "d"] == picked.names
    reason = "no device of the pod is known that it could be near to, with 1 attachment; 2 others"
    assert {"a": f"{reason} come first", "b": f"{reason} come first"} == reasons(picked)
    assert ["a", "c"] == pick(dict.fromkeys("abcd"), [], 2, b=1).names


def test_unknown_is_never_near() -> None:
    """Not even to what is unknown in the same way."""
    places = {"a": None, "b": at(), "c": at(numa=None), "d": at("pci00")}
    assert ["a"] == pick(places, [at()], 1).names
    assert ["d"] == pick(places, [at("pci00")], 1).names


def test_node_of_a_root_complex_is_that_of_any_function_below_it() -> None:
    """The firmware tells it of some functions only."""
    places = {"a": at("pci80", numa=1), "b": at("pci40", "x"), "c": at("pci40", "y", numa=0)}
    assert ["b"] == pick(places, [at("pci00", numa=0)], 1).names


def test_each_device_gets_one_before_any_gets_two() -> None:
    """Four NICs are at the first device's switch, one at the second's."""
    near = {f"a{number}": at("pci00", "r0", f"d{number}") for number in range(4)}
    places = {**near, "b0": at("pci00", "r1", "d0"), "c0": at("pci40", "r0")}
    devices = [at("pci00", "r0", "g"), at("pci00", "r1", "g")]
    assert ["a0", "b0"] == pick(places, devices, 2).names
    assert ["a0", "a1", "b0"] == pick(places, devices, 3).names
    assert ["a0", "a1", "a2", "b0"] == pick(places, devices, 4).names


def test_spare_nic_goes_to_the_device_that_has_one_near() -> None:
    places = {"far": at("pci80"), "a": at("pci00", "r0"), "b": at("pci40", "r0"), "b2": None}
    places["b2"] = at("pci40", "r0", "x")
    devices = [at("pci00", "r0"), at("pci40", "r0")]
    assert ["a", "b", "b2"] == pick(places, devices, 3).names


def test_fewest_attachments_among_those_as_near() -> None:
    places = {name: at("pci00", "r0", name) for name in "abcd"}
    assert ["b", "d"] == pick(places, [at("pci00", "r0")], 2, a=3, b=1, c=2).names
