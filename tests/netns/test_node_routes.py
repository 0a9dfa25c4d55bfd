"""Routes between nodes in a node's kernel, by `multinic-cni routes`, as iproute2 shows them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.netns.node_routes import (
    RAILS,
    SHARED,
    assert_in_place,
    everything,
    expected,
    own_routes,
    own_rules,
    routes,
    two_rails,
    write,
)
from tests.pytest_netns import on_rail, rail_net, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.mounts import Mounts
    from tests.netns.tools import Ended
    from tests.pytest_netns import Namespaces, Node, Runtime


@pytest.fixture
def node(namespaces: Namespaces) -> Node:
    return two_rails(namespaces)


@pytest.fixture
def conf(runtime: Runtime, tmp_path: Path) -> Path:
    return write(tmp_path / "20-rails.conf", runtime.conf(**SHARED))


def test_applied_twice_then_removed(node: Node, conf: Path) -> None:
    before = everything(node)

    assert routes(node, "apply", conf).lines() == [
        "rails: IPv4, table 2000: 4 routes: 5 added, 0 removed"
    ]

    assert_in_place(node, 2, 3)
    applied = everything(node)
    assert routes(node, "show", conf).lines()
    assert routes(node, "apply", conf).lines() == [
        "rails: IPv4, table 2000: 4 routes: 0 added, 0 removed"
    ]
    assert everything(node) == applied

    assert routes(node, "remove", conf).lines() == ["removed: 5 rules and routes"]
    assert everything(node) == before
    assert routes(node, "remove", conf).lines() == ["removed: 0 rules and routes"]


def test_all_that_follow_from_the_address_and_a_folder(
    node: Node, runtime: Runtime, tmp_path: Path
) -> None:
    """Without hosts there are 254 numbers on each rail; a folder has other plugins' files, too."""
    conf = runtime.conf(**SHARED | {"hosts": None, "routing": {"nodeRoutes": True}})
    write(
        tmp_path / "20-rails.conflist", {"name": "rails", "cniVersion": "1.0.0", "plugins": [conf]}
    )
    write(tmp_path / "30-macvlan.conf", runtime.conf(**SHARED | {"name": "not-asked-for"}))
    write(tmp_path / "10-other.conf", {"type": "bridge"})
    (tmp_path / "40-broken.conf").write_text("{")
    write(tmp_path / "50-wrong.conf", runtime.conf(name="wrong", masters=7))

    ended = routes(node, "apply", "--json", tmp_path)

    (applied,) = json.loads(ended.stdout)
    assert (ended.status, applied["routes"], applied["added"]) == (1, 2 * 253, 2 * 253 + 1)
    assert "warning: " in ended.stderr
    assert "40-broken.conf" in ended.stderr
    assert "50-wrong.conf: invalid net conf: masters: must be a list" in ended.stderr
    assert own_routes(node) == expected(*range(2, 255))


def test_changed_peers_and_what_show_says(node: Node, runtime: Runtime, mounts: Mounts) -> None:
    mounts.mount_tmpfs("/etc/cni")
    mounts.seen("/etc/cni/multinic/net.d").mkdir(parents=True)
    # With six bits no index follows from an address: 172.16.0.0/16 in blocks of /22.
    ipam = SHARED["ipam"] | {"hostBlock": 6}
    conf = runtime.conf(**SHARED | {"ipam": ipam, "hosts": None, "routing": {"nodeRoutes": True}})
    write(mounts.seen("/etc/cni/multinic/net.d/rails.conf"), conf)

    def say_peers(**peers: tuple[int, dict[str, str]]) -> None:
        listed = {
            name: {"hostIndex": index, "addresses": addresses}
            for name, (index, addresses) in peers.items()
        }
        write(mounts.seen("/etc/cni/multinic/node.json"), {"hostIndex": 0, "peers": listed})

    def call(command: str) -> Ended:
        return routes(node, command, "--json", wrapper=mounts.wrapper)

    say_peers(b=(1, {"10.1.0.0/24": "10.1.0.2", "10.2.0.0/24": "10.2.0.2"}))
    call("apply").lines()
    first = "2000: 172.16.4.0/22 via 10.1.0.2 dev rail1"
    assert own_routes(node) == [first, "2000: 172.17.4.0/22 via 10.2.0.2 dev rail2"]

    # b has another address on the first rail, and none on the second any more; c is new.
    say_peers(b=(1, {"10.1.0.0/24": "10.1.0.22"}), c=(2, {"10.1.0.0/24": "10.1.0.3"}))
    found = {each["what"]: each["state"] for each in call("show").document(status=1)}
    assert found == {
        "rule to 172.16.0.0/15 lookup 2000": "in place",
        "172.16.4.0/22 via 10.1.0.22 dev rail1": "missing",
        "172.16.8.0/22 via 10.1.0.3 dev rail1": "missing",
        "172.16.4.0/22 via 10.1.0.2 dev rail1": "not wanted",
        "172.17.4.0/22 via 10.2.0.2 dev rail2": "not wanted",
    }
    (applied,) = call("apply").document()
    assert (applied["added"], applied["removed"]) == (2, 2)
    assert own_routes(node) == [
        "2000: 172.16.4.0/22 via 10.1.0.22 dev rail1",
        "2000: 172.16.8.0/22 via 10.1.0.3 dev rail1",
    ]
    assert {each["state"] for each in call("show").document()} == {"in place"}

    write(mounts.seen("/etc/cni/multinic/node.json"), {"hostIndex": 0})
    ended = call("apply")
    assert ended.status == 1
    assert (
        "NIC rail1: the addresses that other nodes' NICs have there are not known" in ended.stderr
    )
    assert len(own_routes(node)) == 2  # a mistake takes nothing away


def test_both_families(runtime: Runtime, node: Node, tmp_path: Path, mounts: Mounts) -> None:
    node.ip(*(f"address add fd99:{rail}::1/64 dev rail{rail} nodad" for rail in RAILS))
    mounts.mount_tmpfs("/etc/cni")
    mounts.seen("/etc/cni/multinic").mkdir()
    addresses = {rail_net(rail): [on_rail(rail, 2), f"fd99:{rail}::2"] for rail in RAILS}
    peers = {"node-b": {"addresses": addresses}}
    write(mounts.seen("/etc/cni/multinic/node.json"), {"hostIndex": 1, "peers": peers})
    conf = runtime.conf(**SHARED | {"subnet": ["172.16.0.0/15", "fd00::/48"]})
    file = write(tmp_path / "both.conf", conf)
    before = everything(node)

    for added in (5 - 2, 0):
        ended = routes(node, "apply", "--json", file, wrapper=mounts.wrapper)
        assert [each["added"] for each in ended.document()] == [added, added]

    # fd00::/48 with one bit for the rail and eight for the host.
    assert own_routes(node, "-6") == [
        "2000: fd00:0:0:100::/57 via fd99:1::2 dev rail1",
        "2000: fd00:0:0:8100::/57 via fd99:2::2 dev rail2",
    ]
    assert own_rules(node, "-6") == ["30000 to fd00::/48 lookup 2000"]
    assert own_routes(node) == expected(2)
    routes(node, "remove", file, wrapper=mounts.wrapper).lines()
    assert everything(node) == before


def test_nic_that_is_missing_or_down_is_a_warning(node: Node, conf: Path) -> None:
    routes(node, "apply", conf).lines()
    node.ip("link delete rail2")
    ended = routes(node, "apply", conf)
    assert ended.status == 0
    assert ended.stderr == (
        "multinic-cni: warning: network rails: 10.2.0.0/24: no NIC has an address in this"
        " masterNet: it has no routes to other nodes\n"
    )
    assert own_routes(node) == [each for each in expected(2, 3) if "rail1" in each]
    node.ip("link set rail1 down")
    ended = routes(node, "apply", conf)
    assert ended.status == 0
    assert "NIC rail1 is down: it has no routes to other nodes" in ended.stderr
    node.ip("link set rail1 up")
    wait_until(lambda: node.links()["rail1"]["operstate"] == "UP", "rail1 has a carrier")
    routes(node, "apply", conf)
    assert own_routes(node) == [each for each in expected(2, 3) if "rail1" in each]
