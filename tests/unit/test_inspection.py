"""What address files are worth, by what stands behind them, and `ipam list`."""

from __future__ import annotations

import json
import time

import pytest

from multinic_cni.admin.stock import inspect
from tests.unit.admin import BLOCK, EARLIER, WHEN, AdminNode, on
from tests.unit.commands import run


def states(node: AdminNode) -> dict[str, str]:
    return {each.reservation.address: each.state for each in inspect(node.path).holdings}


def kept(node: AdminNode) -> set[str]:
    return {each.reservation.address for each in inspect(node.path).holdings if each.keeper}


def test_states_by_record(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1")
    admin_node.attach("b", "10.1.0.2", lives=False)
    admin_node.living.add("c")
    admin_node.attach("c", "10.1.0.3", boot=EARLIER)
    admin_node.reserve("10.1.0.4", "d\r\nnet1")
    admin_node.reserve("10.1.0.5", "")
    admin_node.reserve("10.1.0.6", "a\r\nnet1")  # the record of a does not name it
    admin_node.reserve("10.1.0.7", "a\r\nnet2")  # the same container, another interface
    assert {
        "10.1.0.1": "live",
        "10.1.0.2": "stale",
        "10.1.0.3": "stale",
        "10.1.0.4": "orphaned",
        "10.1.0.5": "damaged",
        "10.1.0.6": "orphaned",
        "10.1.0.7": "orphaned",
    } == states(admin_node)
    assert {"10.1.0.1"} == kept(admin_node)


@pytest.mark.parametrize("content", ["", "{", '{"format": 99}', "[]"])
def test_record_that_cannot_be_read_keeps_its_owners_addresses(
    admin_node: AdminNode, content: str
) -> None:
    admin_node.attach("a", "10.1.0.1").write_text(content)
    admin_node.reserve("10.1.0.2", "b\r\nnet1")
    assert {"10.1.0.1": "unknown", "10.1.0.2": "orphaned"} == states(admin_node)
    assert {"10.1.0.1"} == kept(admin_node)
    _, output = run("ipam", "list", "--json", "--network", "rails", node=admin_node)
    (entry,) = json.loads(output)["addresses"]
    assert ("10.1.0.1", "rails", "a", None) == tuple(
        entry[fact] for fact in ("address", "network", "pod", "nic")
    )
    assert 0 == run("ipam", "show", "10.1.0.1", node=admin_node)[0]


def test_damaged_file_is_kept_where_an_unreadable_record_may_name_it(
    admin_node: AdminNode,
) -> None:
    admin_node.reserve("10.1.0.1", "")
    assert set() == kept(admin_node)
    admin_node.record("a").write_text("{")
    assert {"10.1.0.1"} == kept(admin_node)


@pytest.mark.parametrize("content", ["", "b\r\nnet1"], ids=["damaged", "another's"])
def test_address_that_a_living_pod_has_is_kept_whatever_its_file_says(
    admin_node: AdminNode, content: str
) -> None:
    admin_node.attach("a", "10.1.0.1")
    admin_node.reserve("10.1.0.1", content)
    assert {"10.1.0.1"} == kept(admin_node)


def test_copied_record_is_no_record(admin_node: AdminNode) -> None:
    """It would name the addresses of the pod that it was copied from."""
    file = admin_node.attach("a", "10.1.0.1")
    (file.parent / "b:net1.json").write_bytes(file.read_bytes())
    (copy,) = [each for each in inspect(admin_node.path).attachments if each.key == "b:net1"]
    assert (None, True) == (copy.record, copy.damaged)


def test_imported_until_host_local_has_freed_it(admin_node: AdminNode) -> None:
    """Whomever it has given it to since; and nobody knows of a folder that has gone."""
    source = admin_node.host_local_folder()
    (source / "10.1.0.1").write_bytes(b"a\r\neth0")
    (source / "10.1.0.2").write_bytes(b"other\r\neth0")
    for address in ("10.1.0.1", "10.1.0.2", "10.1.0.3"):
        admin_node.reserve(address, "a\r\neth0")
        admin_node.write(f"imported/{address}", str(source))
    admin_node.reserve("10.1.0.4", "a\r\neth0")
    admin_node.write("imported/10.1.0.4", "/nonexistent/networks")
    expected = dict.fromkeys(("10.1.0.1", "10.1.0.2", "10.1.0.4"), "imported")
    assert expected | {"10.1.0.3": "stale"} == states(admin_node)
    assert set(expected) == kept(admin_node)


def test_looking_changes_nothing(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1")
    admin_node.reserve("10.1.0.2", "")
    admin_node.write("quarantine/10.1.0.9", "1 past")
    before = admin_node.everything()
    for command in ("list", "check", "show"):
        run("ipam", command, *(["10.1.0.1"] if command == "show" else []), node=admin_node)
    assert before == admin_node.everything()


def fill(node: AdminNode) -> int:
    """Fill a node with some addresses; return when the quarantine ends."""
    until = int(time.time()) + 600
    node.attach("a", "10.1.0.10", "10.1.0.9")
    node.attach("b", "10.1.0.2", lives=False)
    node.reserve("fd00::7", "c\r\nnet1", folder="fd00::-64")
    node.reserve("10.1.0.3", "")
    node.write("quarantine/10.1.0.77", f"{until} 02:00:00:00:00:99 has it")
    node.write("quarantine/10.1.0.78", "1 over")
    return until


def listed(address: str, state: str, container: str | None, **more: str) -> dict[str, str | None]:
    """Return an entry of the list; without `more`, one of a pod of ours."""
    known: dict[str, str | None] = {"network": "rails", "nic": "rail1"}
    return {
        "address": address,
        "block": BLOCK,
        "state": state,
        "pod": f"team/{container}",
        "containerID": container,
        "ifname": "net1",
        **known,
        "since": WHEN,
    } | more


def test_list_as_json(admin_node: AdminNode) -> None:
    until = fill(admin_node)
    status, output = run("ipam", "list", "--json", node=admin_node)
    nobody = dict.fromkeys(("pod", "containerID", "ifname", "network", "nic"))
    orphan = {"block": "fd00::/64", "pod": "c", "network": None, "nic": None}
    assert status == 0
    assert json.loads(output) == {
        "addresses": [
            listed("10.1.0.2", "stale", "b"),
            listed("10.1.0.3", "damaged", None) | nobody,
            listed("10.1.0.9", "live", "a"),
            listed("10.1.0.10", "live", "a"),
            listed("fd00::7", "orphaned", "c") | orphan,
        ],
        "quarantine": [
            {
                "address": "10.1.0.77",
                "until": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until)),
                "why": "02:00:00:00:00:99 has it",
            }
        ],
        "blocks": [
            {"block": BLOCK, "used": 4, "states": {"stale": 1, "damaged": 1, "live": 2}},
            {"block": "fd00::/64", "used": 1, "states": {"orphaned": 1}},
        ],
    }


def test_list_as_a_table(admin_node: AdminNode) -> None:
    until = fill(admin_node)
    status, output = run("ipam", "list", node=admin_node)
    rows = [line.split() for line in output.splitlines()]
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
    assert status == 0
    assert rows[0] == ["ADDRESS", "BLOCK", "STATE", "POD", "IFNAME", "NETWORK", "NIC", "SINCE"]
    assert rows[1:] == [
        ["10.1.0.2", BLOCK, "stale", "team/b", "net1", "rails", "rail1", WHEN],
        ["10.1.0.3", BLOCK, "damaged", WHEN],
        ["10.1.0.9", BLOCK, "live", "team/a", "net1", "rails", "rail1", WHEN],
        ["10.1.0.10", BLOCK, "live", "team/a", "net1", "rails", "rail1", WHEN],
        ["fd00::7", "fd00::/64", "orphaned", "c", "net1", WHEN],
        ["10.1.0.77", "quarantined", "until", end],
        [f"{BLOCK}:", "4", "used:", "2", "live,", "1", "stale,", "1", "damaged"],
        ["fd00::/64:", "1", "used:", "1", "orphaned"],
    ]
    assert "\x1b" not in output


@pytest.mark.parametrize(
    ("options", "addresses", "rests"),
    [
        (["--network", "rails"], ["10.1.0.2", "10.1.0.9", "10.1.0.10"], 0),
        (["--network", "none"], [], 0),
        (["--block", "fd00::/64"], ["fd00::7"], 0),
        (["--block", "fd00:0::/64"], ["fd00::7"], 0),
        (["--block", BLOCK, "--network", "rails"], ["10.1.0.2", "10.1.0.9", "10.1.0.10"], 0),
        (["--block", BLOCK], ["10.1.0.2", "10.1.0.3", "10.1.0.9", "10.1.0.10"], 1),
    ],
)
def test_list_of_a_part(
    admin_node: AdminNode, options: list[str], addresses: list[str], rests: int
) -> None:
    fill(admin_node)
    _, output = run("ipam", "list", "--json", *options, node=admin_node)
    document = json.loads(output)
    assert addresses == [each["address"] for each in document["addresses"]]
    assert rests == len(document["quarantine"])


def test_list_on_a_terminal(admin_node: AdminNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    admin_node.attach("a", "10.1.0.1")
    _, output = run("ipam", "list", node=admin_node)
    (row,) = [line for line in output.splitlines() if "10.1.0.1 " in line]
    assert "\x1b[32mlive" in row
    assert "team/a" in row


def test_list_of_an_empty_store(admin_node: AdminNode) -> None:
    assert (0, "no address is reserved\n") == run("ipam", "list", node=admin_node)


def test_names_cannot_write_to_the_terminal(admin_node: AdminNode) -> None:
    admin_node.reserve("10.1.0.2", "\x1b[31mred\r\nnet1")
    for words in (["list"], ["check"], ["show", "10.1.0.2"]):
        _, output = run("ipam", *words, node=admin_node)
        assert "[31mred" in output
        assert "\x1b" not in output


def test_reservation_of_another_block_is_not_the_records(admin_node: AdminNode) -> None:
    admin_node.record("a", "10.1.0.1", block="10.1.0.0/25")
    admin_node.reserve("10.1.0.1", "a\r\nnet1")
    (holding,) = inspect(admin_node.path).holdings
    assert ("orphaned", on(BLOCK, "10.1.0.1")[0].block) == (
        holding.state,
        holding.reservation.block,
    )
    assert holding.keeper


@pytest.mark.parametrize("words", [["show", "10.1"], ["show"], ["list", "--block", "10.1.0.1/24"]])
def test_usage_mistakes_are_status_2(admin_node: AdminNode, words: list[str]) -> None:
    assert 2 == run("ipam", *words, node=admin_node)[0]
