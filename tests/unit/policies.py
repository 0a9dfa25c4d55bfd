"""Candidates and places for tests of strategies."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from multinic_selectors.candidates import Choice
from multinic_selectors.locations import Location
from tests.unit.nics import nic

if TYPE_CHECKING:
    from multinic_selectors.selection import Picked

_numbers = itertools.count()


def candidates(*names: str) -> list[Choice]:
    """Return NICs in this order, each with its place."""
    return [Choice(nic(name), place) for place, name in enumerate(names)]


def at(root: str = "", *bridges: str, numa: int | None = None) -> Location:
    """Return the location of some function below these bridges of a root complex."""
    return Location(address=f"f{next(_numbers)}", numa=numa, root=root, bridges=bridges)


def reasons(picked: Picked) -> dict[str, str]:
    """Return why each NIC was passed over."""
    assert len(picked.passed) == len({name for name, _ in picked.passed})
    return dict(picked.passed)


def parts(picked: Picked) -> dict[str, int]:
    """Return what each chosen NIC carries of the target."""
    return {choice.nic.name: choice.megabits for choice in picked.chosen}
