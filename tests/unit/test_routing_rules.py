"""What the routing block may not say: default routes by another name, NICs that no conf has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.cli.validate import warnings_of_file
from tests.unit.confs import document
from tests.unit.test_rules import assert_one_problem, problems

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT = "is the default route: ask for it by defaultRoute"
KEPT: dict[str, Any] = {"keepOnPrimary": []}


@pytest.mark.parametrize(
    ("routing", "path"),
    [
        ({"routes": [{"dst": "::/0"}]}, "routing.routes[0].dst"),
        ({"crossRail": {"supernet": "0.0.0.0/0", "via": "all"}}, "routing.crossRail.supernet"),
        (
            {"crossRail": {"supernet": ["10.0.0.0/8", "::/0"], "via": "none"}},
            "routing.crossRail.supernet",
        ),
    ],
)
def test_default_route_by_another_name(routing: dict[str, Any], path: str) -> None:
    assert_one_problem({"routing": routing}, path, DEFAULT)


@pytest.mark.parametrize(
    ("routing", "path"),
    [
        ({"defaultRoute": "10.9.0.0/24", **KEPT}, "routing.defaultRoute"),
        (
            {"crossRail": {"supernet": "10.0.0.0/8", "via": "10.9.0.0/24"}},
            "routing.crossRail.via",
        ),
        (
            {"routes": [{"dst": "10.7.0.0/16", "nics": ["10.1.0.0/24", "10.9.0.0/24"]}]},
            "routing.routes[0].nics[1]",
        ),
        (
            {
                "neighbors": [
                    {"address": "10.1.0.9", "mac": "02:00:5e:10:00:01", "nics": ["10.9.0.0/24"]}
                ]
            },
            "routing.neighbors[0].nics[0]",
        ),
    ],
)
def test_network_that_is_no_entry(routing: dict[str, Any], path: str) -> None:
    message = (
        "10.9.0.0/24 is no entry of masterNets, masters or rails, which are 10.1.0.0/24, rail2"
    )
    masters = {"masterNets": ["10.1.0.0/24"], "masters": ["rail2"]}
    assert_one_problem({**masters, "routing": routing}, path, message)


def test_rail_by_one_of_its_alternatives() -> None:
    changes: dict[str, Any] = {
        "masterNets": None,
        "rails": [["0000:1a:00.0", "10.1.0.0/24"], ["10.2.0.0/24"]],
        "routing": {"defaultRoute": "0000:1a:00.0", **KEPT},
    }
    message = "0000:1a:00.0 is no entry of masterNets, masters or rails, which are rail0, rail1"
    assert_one_problem(changes, "routing.defaultRoute", message)


@pytest.mark.parametrize("word", ["10.1.0.0/24", "rail2", "ens5"])
def test_entries_and_names(word: str) -> None:
    masters = {"masterNets": ["10.1.0.0/24"], "masters": ["rail2"]}
    assert problems({**masters, "routing": {"defaultRoute": word, **KEPT}}) == []


FIRST_MAC, OTHER_MAC = "02:00:5e:10:00:01", "02:00:5e:10:00:02"


@pytest.mark.parametrize(
    ("nics", "others"), [(None, None), (None, ["rail2"]), (["rail1", "rail2"], ["rail2"])]
)
def test_neighbour_with_two_macs(nics: list[str] | None, others: list[str] | None) -> None:
    """The kernel would keep the later one, and CHECK miss the other for ever."""
    listed = [
        {"address": "10.1.0.9", "mac": FIRST_MAC, "nics": nics},
        {"address": "10.1.0.9", "mac": OTHER_MAC, "nics": others},
    ]
    message = f"gives 10.1.0.9 another MAC, {OTHER_MAC}: keep one of them"
    assert_one_problem({"routing": {"neighbors": listed}}, "routing.neighbors[1].mac", message)


@pytest.mark.parametrize(("mac", "nics"), [(FIRST_MAC.upper(), ["rail1"]), (OTHER_MAC, ["rail2"])])
def test_neighbour_that_stands_twice(mac: str, nics: list[str]) -> None:
    listed = [
        {"address": "10.1.0.9", "mac": FIRST_MAC, "nics": ["rail1"]},
        {"address": "10.1.0.9", "mac": mac, "nics": nics},
    ]
    assert problems({"routing": {"neighbors": listed}}) == []


@pytest.mark.parametrize(
    ("kept", "warnings"),
    [
        (
            {},
            [
                (
                    "routing.defaultRoute: keepOnPrimary is missing here, so each node's node.json"
                    " has to have it: an ADD where neither has is refused"
                ),
            ],
        ),
        (KEPT, []),
    ],
)
def test_default_route_that_says_not_what_stays(
    tmp_path: Path, kept: dict[str, Any], warnings: list[str]
) -> None:
    file = tmp_path / "rails.conf"
    routing = {"defaultRoute": "10.1.0.0/24", **kept}
    file.write_text(json.dumps(document(routing=routing)))
    assert warnings == warnings_of_file(file)
