"""`ipam show`: everything that is known of one address."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from tests.unit.admin import BLOCK, EARLIER, WHEN
from tests.unit.commands import run
from tests.unit.stores import opened

if TYPE_CHECKING:
    from tests.unit.admin import AdminNode


def test_show_as_json(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1")
    until = int(time.time()) + 600
    admin_node.write("quarantine/10.1.0.1", f"{until} because")
    status, output = run("ipam", "show", "10.1.0.1", "--json", node=admin_node)
    pod = {"network": "rails", "attachment": "a:net1", "pod": "team/a"}
    assert status == 0
    assert json.loads(output) == {
        "address": "10.1.0.1",
        "state": "live",
        "reservations": [
            {
                "block": BLOCK,
                "state": "live",
                "since": WHEN,
                "owner": {"containerID": "a", "ifname": "net1"},
                "keptBecause": "pod team/a (net1, network rails) lives",
                "importedFrom": None,
                "record": {
                    **pod,
                    "podUID": None,
                    "netns": "/var/run/netns/cni-1",
                    "boot": "this",
                    "lives": True,
                    "complete": True,
                    "nic": "rail1",
                    "podInterface": "net1",
                },
            }
        ],
        "livingPods": [pod],
        "quarantine": {
            "until": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until)),
            "why": "because",
        },
        "freed": None,
    }


def test_show_as_text(admin_node: AdminNode) -> None:
    admin_node.attach("a", "10.1.0.1", boot=EARLIER)
    status, output = run("ipam", "show", "10.1.0.1", node=admin_node)
    assert status == 0
    assert [line.split(maxsplit=1) for line in output.splitlines()] == [
        ["address", "10.1.0.1"],
        ["state", "stale"],
        ["block", BLOCK],
        ["reserved", WHEN],
        ["owner", "a net1"],
        ["pod", "team/a"],
        ["network", "rails"],
        ["NIC", "rail1, in the pod net1"],
        ["netns", "/var/run/netns/cni-1, of an earlier boot"],
    ]


def test_show_of_an_address_that_was_freed(admin_node: AdminNode) -> None:
    before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    admin_node.reserve("10.1.0.1", "a\r\nnet1")
    with opened(admin_node.data) as store:
        ((reservation, owner),) = store.reservations()
        assert owner is not None
        store.release([reservation], owner)
    after = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    _, output = run("ipam", "show", "10.1.0.1", "--json", node=admin_node)
    document = json.loads(output)
    assert before <= document.pop("freed") <= after
    assert document == {
        "address": "10.1.0.1",
        "state": "free",
        "reservations": [],
        "livingPods": [],
        "quarantine": None,
    }


def test_show_of_a_living_pods_address_without_a_file(admin_node: AdminNode) -> None:
    admin_node.record("a", "10.1.0.1")
    _, output = run("ipam", "show", "10.1.0.1", node=admin_node)
    assert [line.split(maxsplit=1) for line in output.splitlines()] == [
        ["address", "10.1.0.1"],
        ["state", "missing"],
        ["had", "by   team/a, network rails"],
    ]
