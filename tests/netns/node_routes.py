"""What tests of the routes between nodes share: a conf, the command, and what iproute2 shows.

Node and peers are hosts of 10.1.0.0/24 and 10.2.0.0/24. Rail 1 shares 172.16.0.0/16, rail 2
172.17.0.0/16: host j's block is the /24 that is j after the first.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from tests.netns.tools import Ended
from tests.pytest_netns import EXECUTABLE, on_rail, rail_net, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_netns import Document, Namespace, Namespaces, Node

RAILS = (1, 2)
PROTOCOL = "113"
SHARED: dict[str, Any] = {
    "masterNets": [rail_net(rail) for rail in RAILS],
    "subnet": "172.16.0.0/15",
    "ipam": {"type": "multi-nic-ipam", "interfaceBlock": 1, "hostBlock": 8},
    "hosts": {"node-b": 2, "node-c": 3},
}
RULE = "30000 to 172.16.0.0/15 lookup 2000"


def two_rails(namespaces: Namespaces) -> Node:
    """Return a node that is host 1 on two rails, once its kernel has no more routes to add."""
    node = namespaces.make_node(namespaces.make_wire(len(RAILS)), len(RAILS))
    wait_until(lambda: node.show("address", "show", "tentative") == [], "no address is tentative")
    return node


def write(file: Path, conf: Document) -> Path:
    file.write_text(json.dumps(conf))
    return file


def routes(node: Namespace, *words: str | Path, wrapper: tuple[str, ...] = ()) -> Ended:
    command = node.command(*wrapper, EXECUTABLE, "routes", *words)
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return Ended(done.returncode, done.stdout, done.stderr)


def everything(node: Namespace) -> list[Document]:
    """Return all routes and rules of both families."""
    return [
        each
        for family in ("-4", "-6")
        for words in (("route", "show", "table", "all"), ("rule",))
        for each in node.show(family, *words)
    ]


def own_routes(node: Namespace, family: str = "-4") -> list[str]:
    """Return the routes with our protocol's number, in order."""
    shown = node.show(family, "route", "show", "table", "all", "proto", PROTOCOL)
    return sorted(f"{r['table']}: {r['dst']} via {r['gateway']} dev {r['dev']}" for r in shown)


def own_rules(node: Namespace, family: str = "-4") -> list[str]:
    shown = [each for each in node.show(family, "rule") if each.get("protocol") == PROTOCOL]
    return [
        f"{r['priority']} to {r['dst']}/{r['dstlen']} lookup {r['table']}"
        for r in shown
        if r["src"] == "all"
    ]


def expected(*hosts: int, table: int = 2000) -> list[str]:
    """Return the routes to other hosts' blocks on both rails."""
    return sorted(
        f"{table}: 172.{15 + rail}.{host}.0/24 via {on_rail(rail, host)} dev rail{rail}"
        for rail in RAILS
        for host in hosts
    )


def assert_in_place(node: Namespace, *hosts: int) -> None:
    assert own_routes(node) == expected(*hosts)
    assert own_rules(node) == [RULE]
