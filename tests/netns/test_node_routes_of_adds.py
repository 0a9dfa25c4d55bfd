"""Routes between nodes that ADD makes sure of, and calls that are killed, or come all at once."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.netns.node_routes import (
    PROTOCOL,
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

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_netns import Document, Namespace, Namespaces, Node, Runtime


BAD_CONF, ROUTING_FAILED = 7, 106


@pytest.fixture
def node(namespaces: Namespaces) -> Node:
    return two_rails(namespaces)


@pytest.fixture
def conf(runtime: Runtime, tmp_path: Path) -> Path:
    return write(tmp_path / "20-rails.conf", runtime.conf(**SHARED))


def test_many_at_once(node: Node, runtime: Runtime, tmp_path: Path) -> None:
    """Two networks, four calls of each."""
    other = SHARED | {"name": "others", "subnet": "172.30.0.0/15"}
    files = [
        write(tmp_path / "a.conf", runtime.conf(**SHARED)),
        write(tmp_path / "b.conf", runtime.conf(**other)),
    ]
    with ThreadPoolExecutor(8) as workers:
        ended = list(workers.map(lambda file: routes(node, "apply", file), files * 4))
    assert [each.status for each in ended] == [0] * 8, ended
    assert len(own_routes(node)) == 8
    rules = own_rules(node)
    assert {rule.rpartition(" ")[0] for rule in rules} == {
        "30000 to 172.16.0.0/15 lookup",
        "30000 to 172.30.0.0/15 lookup",
    }
    assert {rule.rpartition(" ")[2] for rule in rules} == {"2000", "2001"}
    assert routes(node, "show", *files).status == 0
    assert len(routes(node, "remove", files[0]).lines()) == 1
    assert [rule.rpartition(" ")[0] for rule in own_rules(node)] == [
        "30000 to 172.30.0.0/15 lookup"
    ]
    assert len(own_routes(node)) == 4


STRACE = ("strace", "-qq", "-e", "trace=sendto")
CHANGING = re.compile(r"nlmsg_type=RTM_(NEW|DEL)")


def changes_of(node: Node, command: str, conf: Path, trace: Path) -> list[int]:
    """Execute a command; return which of its words to the kernel change something."""
    routes(node, command, conf, wrapper=(*STRACE, "-o", str(trace))).lines()
    said = enumerate(trace.read_text().splitlines(), start=1)
    return [number for number, line in said if CHANGING.search(line)]


@pytest.mark.parametrize("command", ["apply", "remove"])
def test_killed_before_each_change(node: Node, conf: Path, tmp_path: Path, command: str) -> None:
    """Whatever was done until then, the next call puts all in order."""
    before = everything(node)
    if command == "remove":
        routes(node, "apply", conf).lines()
    points = changes_of(node, command, conf, tmp_path / "trace")
    assert len(points) == 5  # four routes and a rule
    for number in points:
        routes(node, "apply" if command == "remove" else "remove", conf).lines()
        injected = f"inject=sendto:signal=KILL:when={number}"
        wrapper = (*STRACE, "-o", "/dev/null", "-e", injected)
        assert routes(node, command, conf, wrapper=wrapper).status != 0
        # A rule is there only while all routes are.
        assert own_rules(node) == [] or own_routes(node) == expected(2, 3)
        routes(node, command, conf).lines()
        if command == "apply":
            assert_in_place(node, 2, 3)
        else:
            assert everything(node) == before


def asking(runtime: Runtime, **keys: object) -> Document:
    return runtime.conf(**SHARED | {"routing": {"nodeRoutes": True}} | keys)


def test_add_makes_sure(
    runtime: Runtime, node: Node, pod: Namespace, other_pod: Namespace, conf: Path
) -> None:
    """What is there beyond what it needs stays until `apply`."""
    attachments = [runtime.attachment(each, asking(runtime)) for each in (pod, other_pod)]
    attachments[0].add()
    assert_in_place(node, 2, 3)
    node.ip(
        f"route add 172.16.50.0/24 via 10.1.0.50 table 2000 proto {PROTOCOL}",
        f"route delete 172.17.2.0/24 table 2000 proto {PROTOCOL}",
        f"route change 172.17.3.0/24 via 10.2.0.33 table 2000 proto {PROTOCOL}",
    )
    attachments[1].add()
    for attachment in attachments:
        attachment.delete().succeeded()
    spare = "2000: 172.16.50.0/24 via 10.1.0.50 dev rail1"
    assert own_routes(node) == sorted([*expected(2, 3), spare])
    routes(node, "apply", conf).lines()
    assert_in_place(node, 2, 3)


def test_add_that_cannot(runtime: Runtime, node: Node, pod: Namespace) -> None:
    """No index follows from six bits, and nobody lists peers; then a gateway is out of reach."""
    ipam = SHARED["ipam"] | {"hostBlock": 6}
    unknown = asking(runtime, ipam=ipam, hosts={"node-b": 2, os.uname().nodename: 0})
    message = runtime.attachment(pod, unknown).call("ADD").error(BAD_CONF)
    assert "NIC rail1: the addresses that other nodes' NICs have there are not known" in message

    node.ip("address flush dev rail1", "address add 10.1.0.1/31 dev rail1")
    message = runtime.attachment(pod, asking(runtime)).call("ADD").error(ROUTING_FAILED)
    assert (
        "NIC rail1: the route 172.16.2.0/24 via 10.1.0.2 dev rail1 to node-b cannot be" in message
    )

    assert pod.links() == {}
    assert not list(runtime.data_dir.glob("pools/*/172.*"))


def test_add_whose_routes_are_there_changes_nothing(
    runtime: Runtime, node: Node, pod: Namespace, conf: Path, tmp_path: Path
) -> None:
    """It says no word more that would change something than an ADD without does."""
    routes(node, "apply", conf).lines()
    trace = tmp_path / "trace"
    traced = runtime.but(wrapper=(*STRACE, "-o", str(trace)))
    said = []
    for asked in (False, True):
        quiet = {"nodeRoutes": asked, "announce": False}
        attachment = traced.attachment(pod, runtime.conf(**SHARED | {"routing": quiet}))
        attachment.add()
        lines = trace.read_text().splitlines()
        said.append([line for line in lines if "sendto(" in line])  # not that delegates have ended
        attachment.delete().succeeded()
    assert_in_place(node, 2, 3)
    changes = [[line for line in lines if CHANGING.search(line)] for lines in said]
    assert len(changes[0]) == len(changes[1])
    # The rules of both families, and the one table.
    assert len(said[1]) - len(said[0]) == 3
