"""Fixtures of tests with network namespaces: nodes, pods, wires, and a runtime that calls.

A node is a namespace with NICs rail1, rail2 …; the other end of each is a port of a bridge in the
wire, a namespace of its own. Rail k is 10.k.0.0/24, where the wire is host 254. All namespaces have
names that begin with "mn" and go at a test's end, however it ends.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cni_runtime import (
    DELEGATES,
    EXECUTABLE,
    PROJECT,
    Answer,
    Attachment,
    Document,
    Runtime,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "DELEGATES",
    "EXECUTABLE",
    "PROJECT",
    "Answer",
    "Attachment",
    "Document",
    "Namespace",
    "Namespaces",
    "Node",
    "Runtime",
    "execute",
    "namespaces",
    "node",
    "on_rail",
    "other_pod",
    "pod",
    "rail_net",
    "runtime",
    "wait_until",
    "wire",
]

RAILS = 4
WIRE_HOST = 254
PATIENCE = 20.0  # seconds for what the kernel does by and by

_numbers = itertools.count(1)


def execute(*command: str | Path, stdin: str = "") -> str:
    """Execute a program that must succeed; return what it prints."""
    done = subprocess.run(command, input=stdin, check=False, text=True, capture_output=True)
    assert done.returncode == 0, f"{command}: status {done.returncode}: {done.stderr}"
    return done.stdout


def wait_until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"still not so after {patience} s: {what}"
        time.sleep(0.02)


def rail_net(rail: int) -> str:
    return f"10.{rail}.0.0/24"


def on_rail(rail: int, host: int) -> str:
    return f"10.{rail}.0.{host}"


@dataclass(frozen=True)
class Namespace:
    """A named network namespace."""

    name: str

    @property
    def path(self) -> str:
        return f"/run/netns/{self.name}"

    def command(self, *words: str | Path) -> list[str]:
        return ["nsenter", f"--net={self.path}", *map(str, words)]

    def execute(self, *words: str | Path) -> str:
        return execute(*self.command(*words))

    def ip(self, *commands: str) -> None:
        """Execute `ip` commands, a whole one in each argument."""
        execute("ip", "-n", self.name, "-batch", "-", stdin="\n".join(commands))

    def show(self, *words: str) -> list[Document]:
        shown = execute("ip", "-n", self.name, "-j", "-d", *words)
        documents: list[Document] = json.loads(shown) if shown.strip() else []
        return documents

    def links(self) -> dict[str, Document]:
        """Return the links by name, the loopback left out."""
        return {link["ifname"]: link for link in self.show("link") if link["ifname"] != "lo"}

    def addresses(self) -> dict[str, list[str]]:
        """Return the addresses of each link, in order; those that the kernel made up left out."""
        return {
            link["ifname"]: [
                f"{each['local']}/{each['prefixlen']}"
                for each in link["addr_info"]
                if each["scope"] == "global"
            ]
            for link in self.show("address")
            if link["ifname"] != "lo"
        }

    def routes(self) -> list[str]:
        """Return the IPv4 routes of all tables as `ip` words them, but the kernel's own."""
        keys = ("dst", "gateway", "dev", "table", "metric")
        return sorted(
            " ".join(f"{key}={route[key]}" for key in keys if route.get(key, "main") != "main")
            for route in self.show("-4", "route", "show", "table", "all")
            if route.get("table") != "local"
        )

    def facts(self) -> list[tuple[object, ...]]:
        """Return what no call for somebody else may change, for comparing before and after."""
        keys = ("ifindex", "ifname", "address", "mtu", "master", "linkinfo")
        links = [tuple(link.get(key) for key in keys) for link in self.links().values()]
        return [*links, *self.addresses().items(), *((route,) for route in self.routes())]

    def ping(self, address: str, *, interface: str = "") -> None:
        """Ask until an answer comes, at most for five seconds."""
        through = ["-I", interface] if interface else []
        self.execute("ping", "-q", "-c1", "-i0.2", "-w5", *through, address)


@dataclass(frozen=True)
class Node(Namespace):
    """A namespace with NICs; `wire` is where their other ends are, `host` its number there."""

    wire: Namespace
    host: int

    def plug_in(self, rail: int, name: str = "", host: int = 0) -> None:
        """Give the node a NIC on a rail, and await its carrier."""
        nic, port = name or f"rail{rail}", self.port(rail, host)
        self.wire.ip(
            f"link add {port} type veth peer name {nic} netns {self.name}",
            f"link set {port} master br{rail}",
            f"link set {port} up",
        )
        self.ip(
            f"address add {on_rail(rail, host or self.host)}/24 dev {nic}", f"link set {nic} up"
        )
        wait_until(lambda: self.links()[nic]["operstate"] == "UP", f"{nic} has a carrier")

    def unplug(self, rail: int) -> None:
        """Take the carrier of a rail's NIC away."""
        self.wire.ip(f"link set {self.port(rail)} down")
        wait_until(
            lambda: self.links()[f"rail{rail}"]["operstate"] != "UP", f"rail{rail} has no carrier"
        )

    def port(self, rail: int, host: int = 0) -> str:
        return f"port{rail}-{host or self.host}"


class Namespaces(ExitStack):
    """Makes namespaces and removes them at the end."""

    def make(self, role: str) -> Namespace:
        namespace = Namespace(f"mn{os.getpid():x}-{next(_numbers)}-{role}")
        execute("ip", "netns", "add", namespace.name)
        self.callback(self.remove, namespace)
        namespace.ip("link set lo up")
        return namespace

    def make_wire(self, rails: int) -> Namespace:
        wire = self.make("wire")
        for rail in range(1, rails + 1):
            wire.ip(
                f"link add br{rail} type bridge",
                f"address add {on_rail(rail, WIRE_HOST)}/24 dev br{rail}",
                f"link set br{rail} up",
            )
        return wire

    def make_node(self, wire: Namespace, rails: int, host: int = 1) -> Node:
        node = Node(self.make("node").name, wire, host)
        for rail in range(1, rails + 1):
            node.plug_in(rail)
        return node

    @contextmanager
    def process_in(self, namespace: Namespace) -> Iterator[None]:
        """Keep a process in a namespace."""
        command = namespace.command("setpriv", "--pdeathsig", "KILL", "cat")
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            own = Path("/proc/self/ns/net").stat().st_ino
            its = Path(f"/proc/{process.pid}/ns/net")
            wait_until(lambda: its.stat().st_ino != own, f"a process is in {namespace.name}")
            yield

    @staticmethod
    def remove(namespace: Namespace) -> None:
        """Remove one that is perhaps gone already."""
        if Path(namespace.path).exists():
            execute("ip", "netns", "delete", namespace.name)


@pytest.fixture
def namespaces() -> Iterator[Namespaces]:
    with Namespaces() as namespaces:
        yield namespaces


@pytest.fixture
def wire(namespaces: Namespaces) -> Namespace:
    return namespaces.make_wire(RAILS)


@pytest.fixture
def node(namespaces: Namespaces, wire: Namespace) -> Node:
    """Return a node that is host 1 on four rails."""
    return namespaces.make_node(wire, RAILS)


@pytest.fixture
def pod(namespaces: Namespaces) -> Namespace:
    return namespaces.make("pod")


@pytest.fixture
def other_pod(namespaces: Namespaces) -> Namespace:
    return namespaces.make("pod")


@pytest.fixture
def runtime(node: Node, tmp_path: Path) -> Runtime:
    assert EXECUTABLE.exists(), "scripts/build.sh makes it"
    return Runtime(node, tmp_path / "state")
