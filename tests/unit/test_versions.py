from __future__ import annotations

import pytest

from multinic_cni.verbs.version import version
from multinic_cni.versions import at_least, newest_common

ALL = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]


@pytest.mark.parametrize("asked", ALL)
def test_versions_are_ordered(asked: str) -> None:
    later = ALL[: ALL.index(asked) + 1]
    assert later == [wanted for wanted in ALL if at_least(asked, wanted)]


@pytest.mark.parametrize(
    ("wanted", "spoken", "expected"),
    [
        ("1.1.0", ALL, "1.1.0"),
        ("1.1.0", ["0.1.0", "1.0.0", "0.3.1"], "1.0.0"),
        ("0.4.0", ["1.0.0", "1.1.0", "0.3.1"], "0.3.1"),
        ("0.3.0", ["0.3.1", "1.0.0"], None),
        ("1.1.0", ["0.1.0", "0.2.0", "2.0.0"], None),
        ("1.1.0", [], None),
    ],
)
def test_newest_common(wanted: str, spoken: list[str], expected: str | None) -> None:
    assert expected == newest_common(wanted, spoken)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"cniVersion": "0.4.0"}, "0.4.0"),
        ({"cniVersion": "1.1.0"}, "1.1.0"),
        ({"cniVersion": "0.2.0"}, "1.1.0"),
        ({"cniVersion": ["1.0.0"]}, "1.1.0"),
        ({}, "1.1.0"),
        (None, "1.1.0"),
        ([], "1.1.0"),
    ],
    ids=repr,
)
def test_version_answers_in_the_version_that_was_asked_in(document: object, expected: str) -> None:
    assert {"cniVersion": expected, "supportedVersions": ALL} == version(document)
