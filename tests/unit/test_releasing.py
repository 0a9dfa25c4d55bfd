"""`ipam release`: no mistake frees what a living pod may have."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from multinic_cni.attachments.claim import claim
from tests.unit.admin import EARLIER, AdminNode
from tests.unit.commands import run
from tests.unit.stores import B, opened, pool, take

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")

LIVING = "10.1.0.1 is kept: pod team/a (net1, network rails) lives\n"
FORCED = "10.1.0.1 is free (was {})\n"


def release(node: AdminNode, *words: str) -> tuple[int, str]:
    return run("ipam", "release", *words, node=node)


def record_only(node: AdminNode, content: str) -> None:
    node.record("a", "10.1.0.1")
    node.reserve("10.1.0.1", content)


def damage_both(node: AdminNode) -> None:
    node.record("a").write_text("")
    node.reserve("10.1.0.1", "")


def take_over(node: AdminNode) -> None:
    source = node.host_local_folder()
    for file in (source / "10.1.0.1", node.reserve("10.1.0.1", "")):
        file.write_bytes(b"a\r\nnet1")
    node.write("imported/10.1.0.1", str(source))


# How an address may be a living pod's, and the state that it then has.
WAYS: dict[str, tuple[str, Callable[[AdminNode], object]]] = {
    "live": ("live", lambda node: node.attach("a", "10.1.0.1")),
    "damaged": ("damaged", lambda node: record_only(node, "")),
    "another's file": ("orphaned", lambda node: record_only(node, "b\r\nnet1")),
    "damaged record": ("unknown", lambda node: node.attach("a", "10.1.0.1").write_text("")),
    "later record": (
        "unknown",
        lambda node: node.attach("a", "10.1.0.1").write_text('{"format": 99}'),
    ),
    "damaged both": ("damaged", damage_both),
    "imported": ("imported", take_over),
}


@pytest.mark.parametrize("way", WAYS)
def test_living_pods_address_is_kept_without_force(admin_node: AdminNode, way: str) -> None:
    WAYS[way][1](admin_node)
    before = admin_node.everything()
    status, output = release(admin_node, "10.1.0.1")
    assert status == 1
    assert output.startswith("10.1.0.1 is kept: ")
    assert before == admin_node.everything()


@pytest.mark.parametrize("way", WAYS)
def test_force_frees_it(admin_node: AdminNode, way: str) -> None:
    was, make = WAYS[way]
    make(admin_node)
    assert (0, FORCED.format(was)) == release(admin_node, "10.1.0.1", "--force")
    assert {} == admin_node.files()


def test_refusal_says_whose_it_is(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1")
    assert (1, LIVING) == release(admin_node, "10.1.0.1")


def test_what_pods_left_is_freed(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1", "10.1.0.2", lives=False)
    admin_node.attach("b", "10.1.0.3", boot=EARLIER)
    admin_node.reserve("10.1.0.4", "c\r\nnet1")
    admin_node.reserve("10.1.0.5", "")
    admin_node.reserve("10.1.0.6", "d\r\nnet1")
    admin_node.write("imported/10.1.0.6", str(admin_node.host_local_folder()))
    admin_node.write("quarantine/10.1.0.7", f"{int(time.time()) + 600} why")
    admin_node.attach("e", "10.1.0.8")
    addresses = ["10.1.0.1", *(f"10.1.0.{number}" for number in range(3, 8))]
    status, output = release(admin_node, *addresses)
    was = ["stale", "stale", "orphaned", "damaged", "stale", "quarantined"]
    assert status == 0
    assert output.splitlines() == [
        f"{address} is free (was {state})" for address, state in zip(addresses, was, strict=True)
    ]
    assert {"10.1.0.2": "a net1", "10.1.0.8": "e net1"} == admin_node.files()
    assert [] == list((admin_node.data / "quarantine").iterdir())
    assert [] == list((admin_node.data / "imported").iterdir())


def test_freed_address_rests(admin_node: AdminNode) -> None:
    """It is given again only after those that were never given."""
    admin_node.attach("a", "10.1.0.1", lives=False)
    release(admin_node, "10.1.0.1")
    with opened(admin_node.data) as store:
        assert ["10.1.0.2"] == take(store, B, pool("10.1.0.0/24", end="10.1.0.2"))
        assert ["10.1.0.1"] == take(store, B, pool("10.1.0.0/24", end="10.1.0.2"))


def test_some_are_freed_and_some_are_not(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1")
    admin_node.attach("b", "10.1.0.2", lives=False)
    status, output = release(admin_node, "--json", "10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.2")
    assert status == 1
    assert json.loads(output) == [
        {
            "address": "10.1.0.1",
            "was": "live",
            "released": False,
            "refusal": "is kept: pod team/a (net1, network rails) lives",
        },
        {"address": "10.1.0.2", "was": "stale", "released": True, "refusal": None},
        {"address": "10.1.0.3", "was": None, "released": False, "refusal": "is not reserved"},
    ]
    assert {"10.1.0.1": "a net1"} == admin_node.files()


@pytest.mark.parametrize("force", [False, True])
def test_busy_attachment_keeps_its_addresses(admin_node: AdminNode, force: bool) -> None:
    """A DEL is at work on it, or a delegate still runs: it may be an ADD's."""
    admin_node.attach("a", "10.1.0.1", lives=False)
    busy = claim(admin_node.path, "rails", "a:net1", time.monotonic() + 5)
    status, output = release(admin_node, "10.1.0.1", *(["--force"] if force else []))
    busy.close()
    kept = "10.1.0.1 is kept: a call is at work on a:net1 of network rails\n"
    assert (status, output) == ((0, FORCED.format("stale")) if force else (1, kept))


@pytest.mark.parametrize(
    ("named", "content"),
    [("10.1.0.2", "a\r\nnet1"), ("10.1.0.1", "b\r\nnet1")],
    ids=["its file", "its record"],
)
def test_busy_attachment_that_only_its_file_or_its_record_names(
    admin_node: AdminNode, named: str, content: str
) -> None:
    admin_node.record("a", named, lives=False)
    admin_node.reserve("10.1.0.1", content)
    busy = claim(admin_node.path, "rails", "a:net1", time.monotonic() + 5)
    assert 1 == release(admin_node, "10.1.0.1")[0]
    busy.close()
    assert 0 == release(admin_node, "10.1.0.1")[0]


def test_folder_in_an_addresss_place_is_told(admin_node: AdminNode) -> None:
    folder = admin_node.reserve("10.1.0.2", "b\r\nnet1").parent / "10.1.0.1"
    folder.mkdir()
    kept = "10.1.0.1 is kept: what stands in its place is no file\n"
    assert (1, kept) == release(admin_node, "10.1.0.1", "--force")
    assert folder.is_dir()


def test_address_in_two_blocks_is_freed_in_both(admin_node: AdminNode) -> None:
    for folder in ("10.1.0.0-24", "10.1.0.0-25"):
        admin_node.reserve("10.1.0.1", "a\r\nnet1", folder=folder)
    assert (0, FORCED.format("orphaned")) == release(admin_node, "10.1.0.1")
    assert {} == admin_node.files()


def test_ipv6_in_any_spelling(admin_node: AdminNode) -> None:
    admin_node.reserve("fd00::7", "a\r\nnet1", folder="fd00::-64")
    assert (0, "fd00::7 is free (was orphaned)\n") == release(admin_node, "FD00:0::7")
