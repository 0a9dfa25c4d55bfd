"""Fixtures of the guest: a node with eight NICs, pods and networks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.vm.guest.node import NICS, Network, Pod, execute, ip, links, on_rail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.vm.guest.node import Document


@pytest.fixture(scope="session")
def nic_of_mac() -> dict[str, str]:
    return {link["address"]: name for name, link in links().items() if name in NICS}


@pytest.fixture(autouse=True)
def node(nic_of_mac: dict[str, str]) -> Iterator[None]:
    """Eight NICs that are up, each host 1 of its own network; the test must leave only them."""
    for index, nic in enumerate(NICS):
        ip("address", "add", f"{on_rail(index, 1)}/24", "dev", nic)
        ip("link", "set", nic, "up")
    yield
    left = set(links()) - {"lo"}
    repair(nic_of_mac)
    assert left == set(NICS), "links of the node after the test"


def repair(nic_of_mac: dict[str, str]) -> None:
    """Bring the node back to eight bare NICs, so that one failed test does not fail the others."""
    deadline = time.monotonic() + 5
    while len(find := hardware()) < len(NICS) and time.monotonic() < deadline:
        time.sleep(0.1)  # a NIC falls back from a deleted namespace only after a while
    for name in set(links()) - {"lo", *find}:
        ip("link", "delete", name)
    for name, link in hardware().items():
        ip("address", "flush", "dev", name)
        if name != nic_of_mac[link["address"]]:
            ip("link", "set", name, "down")
            ip("link", "set", name, "name", nic_of_mac[link["address"]])


def hardware() -> dict[str, Document]:
    """Return the links that no software made."""
    return {name: link for name, link in links().items() if name != "lo" and "linkinfo" not in link}


@pytest.fixture
def make_pod(node: None) -> Iterator[Callable[[str], Pod]]:  # noqa: ARG001 (goes before the node)
    made = []

    def make(name: str) -> Pod:
        ip("netns", "add", name)
        made.append(name)
        return Pod(name)

    yield make
    for name in made:
        execute("ip", "netns", "delete", name)


@pytest.fixture
def pods(make_pod: Callable[[str], Pod]) -> tuple[Pod, Pod]:
    return make_pod("pod-a"), make_pod("pod-b")


@pytest.fixture
def make_network(tmp_path: Path) -> Callable[..., Network]:
    """Make networks of the given keys; those of one test keep their state in one folder."""

    def make(**keys: object) -> Network:
        conf: Document = {"cniVersion": "1.0.0", "name": "rails", "type": "multinic-cni"}
        return Network(conf | {"dataDir": str(tmp_path / "state")} | keys)

    return make
