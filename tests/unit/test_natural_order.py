from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from multinic_selectors.nics import natural_order

NAMES = st.text("ae01259-.", min_size=1, max_size=10)


def test_numbers_count_as_numbers() -> None:
    expected = ["ens1f0", "ens1f1", "ens2f0", "ens10f0", "eth", "eth0", "eth2", "eth2.7", "eth10"]
    backwards = expected[::-1]
    assert expected == sorted(backwards, key=natural_order)


def test_leading_zeros_stay_next_to_their_number() -> None:
    ordered = sorted(["eth2", "eth01", "eth3", "eth1"], key=natural_order)
    assert {"eth1", "eth01"} == set(ordered[:2])
    assert ["eth2", "eth3"] == ordered[2:]


@given(first=NAMES, second=NAMES)
def test_different_names_never_tie(first: str, second: str) -> None:
    assert (first == second) == (natural_order(first) == natural_order(second))


@given(st.lists(NAMES, unique=True))
def test_order_does_not_depend_on_the_kernel(names: list[str]) -> None:
    backwards = names[::-1]
    assert sorted(names, key=natural_order) == sorted(backwards, key=natural_order)


@given(stem=st.text("ae-.", max_size=4), numbers=st.lists(st.integers(0, 10**6), unique=True))
def test_one_stem_sorts_by_its_number(stem: str, numbers: list[int]) -> None:
    names = [f"{stem}{number}" for number in numbers]
    ordered = sorted(names, key=natural_order)
    assert sorted(numbers) == [int(re.sub(r"\D", "", name)) for name in ordered]
