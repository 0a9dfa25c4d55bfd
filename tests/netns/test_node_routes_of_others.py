"""Routes between nodes beside what others have, and in their way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.node_routes import (
    PROTOCOL,
    RULE,
    SHARED,
    everything,
    expected,
    own_routes,
    own_rules,
    routes,
    two_rails,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_netns import Namespaces, Node, Runtime


@pytest.fixture
def node(namespaces: Namespaces) -> Node:
    return two_rails(namespaces)


@pytest.fixture
def conf(runtime: Runtime, tmp_path: Path) -> Path:
    return write(tmp_path / "20-rails.conf", runtime.conf(**SHARED))


def test_what_others_have_stays(node: Node, conf: Path) -> None:
    """A table with somebody's route, one that a rule names, a route in ours, a rule to it."""
    node.ip(
        "route add 198.51.100.0/24 dev rail1 table 2000",
        "rule add from 203.0.113.7 lookup 2001",
        "rule add to 172.16.0.0/15 lookup main priority 31000",
    )
    routes(node, "apply", conf).lines()
    assert own_routes(node) == expected(2, 3, table=2002)
    node.ip(
        "route add 198.51.100.0/24 dev rail2 table 2002",
        "route add 172.16.9.0/24 via 10.1.0.9 table 2002",
        "rule add from 203.0.113.8 lookup 2002",
    )
    with_ours = everything(node)

    routes(node, "apply", conf).lines()
    assert everything(node) == with_ours
    assert len(routes(node, "remove", "--all").lines()) == 1

    assert own_routes(node) == own_rules(node) == []
    kept = [each for each in with_ours if each.get("protocol") != PROTOCOL]
    assert everything(node) == kept


def test_route_of_somebody_else_in_the_way_is_an_error_and_the_others_are_set(
    node: Node, conf: Path
) -> None:
    routes(node, "apply", conf).lines()
    node.ip(
        f"route delete 172.16.2.0/24 table 2000 proto {PROTOCOL}",
        "route add 172.16.2.0/24 via 10.1.0.77 table 2000",
        f"route delete 172.17.3.0/24 table 2000 proto {PROTOCOL}",
    )
    ended = routes(node, "apply", conf)
    assert ended.status == 1
    assert ended.stderr == (
        "multinic-cni: NIC rail1: the route 172.16.2.0/24 via 10.1.0.2 dev rail1 to node-b cannot"
        " be added: somebody else has a route to 172.16.2.0/24 in table 2000\n"
    )
    assert own_routes(node) == [each for each in expected(2, 3) if "172.16.2.0" not in each]


def test_gateway_that_no_nic_reaches(node: Node, conf: Path) -> None:
    """The NIC's own network is smaller than the masterNet: the hosts are beyond it."""
    node.ip("address flush dev rail2", "address add 10.2.0.1/31 dev rail2")
    ended = routes(node, "apply", conf)
    assert ended.status == 1
    assert ended.stderr.splitlines() == [
        f"multinic-cni: NIC rail2: the route 172.17.{host}.0/24 via 10.2.0.{host} dev rail2 to"
        f" {name} cannot be added: Network is unreachable (is the gateway in a network of rail2?)"
        for host, name in ((2, "node-b"), (3, "node-c"))
    ]
    assert own_routes(node) == [each for each in expected(2, 3) if "rail1" in each]
    assert own_rules(node) == [RULE]
