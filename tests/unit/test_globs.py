from __future__ import annotations

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multinic_selectors.globs import is_glob, matches

# Few characters, so that patterns often match; all that has a meaning in one is among them.
NAMES = st.text("ab2-]![^\\", max_size=8)
PATTERNS = st.text("ab2*?[]!-^\\&", max_size=10)


@given(name=NAMES, pattern=PATTERNS)
@example(name="]", pattern="[]]")
@example(name="a", pattern="[!]]")
@example(name="b", pattern="[a-]")
@example(name="-", pattern="[a-]")
@example(name="b", pattern="[b-a-2]")
@example(name="[a", pattern="[a")
@example(name="^", pattern="[^a]")
def test_matches_as_fnmatch_does(name: str, pattern: str) -> None:
    assert fnmatchcase(name, pattern) == matches(name, pattern)


# "!" only at the beginning: what fnmatch makes of "[2--!]", where it leaves an empty range out and
# takes the rest for a negation, is an accident of its own.
@given(
    before=NAMES,
    character=st.characters(codec="ascii"),
    after=NAMES,
    members=st.builds(str.__add__, st.sampled_from(["", "!"]), st.text("ab-29z")),
)
def test_classes_as_fnmatch_does(before: str, character: str, after: str, members: str) -> None:
    pattern = f"*[{members}]*"
    name = f"{before}{character}{after}"
    assert fnmatchcase(name, pattern) == matches(name, pattern)


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("rail0", "rail*", True),
        ("rail", "rail*", True),
        ("rail10", "rail?", False),
        ("rail1", "rail[0-3]", True),
        ("rail4", "rail[0-3]", False),
        ("rail4", "rail[!0-3]", True),
        ("Rail1", "rail*", False),
        ("eth0", "eth0", True),
        ("eth01", "eth0", False),
        ("eth0", "", False),
        ("", "", True),
        ("", "*", True),
    ],
)
def test_names_of_nics(name: str, pattern: str, *, expected: bool) -> None:
    assert expected == matches(name, pattern)


def test_no_pattern_takes_exponential_time() -> None:
    started = time.process_time()
    assert not matches("a" * 200, "a*" * 100 + "b")
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("rail*", True), ("rail?", True), ("rail[01]", True), ("rail0", False), ("a]-!", False)],
)
def test_is_glob(pattern: str, *, expected: bool) -> None:
    assert expected == is_glob(pattern)
