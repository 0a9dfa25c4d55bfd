"""Fixtures of the guest: a node with eight NICs, an SR-IOV one beside them, pods and networks."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.vm.guest.node import NICS, NODE_FILE, Network, Pod, execute, ip, ip_batch, links, on_rail
from tests.vm.guest.pci import Sriov, wait_for_carrier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.vm.guest.node import Document


@pytest.fixture(autouse=True)
def node() -> Iterator[None]:
    """Eight NICs that are up, each host 1 of its own network; the test must leave all as it was."""
    nic_of_mac = {link["address"]: name for name, link in hardware().items()}
    ip_batch(
        f"address add {on_rail(index, 1)}/24 dev {nic}\nlink set {nic} up"
        for index, nic in enumerate(NICS)
    )
    yield
    left = set(links()) - {"lo"}
    repair(nic_of_mac)
    assert left == set(nic_of_mac.values()), "links of the node after the test"


def repair(nic_of_mac: dict[str, str]) -> None:
    """Bring the node back to its bare NICs, so that one failed test does not fail the others."""
    deadline = time.monotonic() + 5
    while len(find := hardware()) < len(nic_of_mac) and time.monotonic() < deadline:
        time.sleep(0.1)  # a NIC falls back from a deleted namespace only after a while
    for name in set(links()) - {"lo", *find}:
        ip("link", "delete", name)
    ip_batch(f"address flush dev {name}" for name in find)
    for name, link in find.items():
        if name != nic_of_mac[link["address"]]:
            ip("link", "set", name, "down")
            ip("link", "set", name, "name", nic_of_mac[link["address"]])


def hardware() -> dict[str, Document]:
    """Return the links that no software made."""
    return {name: link for name, link in links().items() if name != "lo" and "linkinfo" not in link}


@pytest.fixture(scope="module")
def sriov() -> Iterator[Sriov]:
    """Load the drivers of the NIC that has virtual functions, and make two as an admin does."""
    execute("modprobe", "-a", "igb", "igbvf")
    found = list(Path("/sys/bus/pci/drivers/igb").glob("*/net/*"))
    assert found, "the machine has no igb NIC: scripts/vm.sh says why"
    nic, function = found[0].name, found[0].parents[1].resolve()
    wait_for_carrier([nic])  # else the virtual functions wait for it much longer
    (function / "sriov_drivers_autoprobe").write_text("0")
    (function / "sriov_numvfs").write_text("2")
    (function / "sriov_drivers_autoprobe").write_text("1")
    virtual = [(function / f"virtfn{number}").resolve() for number in (0, 1)]
    for number, each in enumerate(virtual):
        mac = f"52:54:00:00:01:0{number}"
        ip("link", "set", nic, "vf", str(number), "mac", mac, "trust", "on")
        Path("/sys/bus/pci/drivers_probe").write_text(each.name)
    sriov = Sriov(
        nic=nic,
        address=function.name,
        virtual_nics=tuple(nic_of(each) for each in virtual),
        virtual_addresses=tuple(each.name for each in virtual),
    )
    wait_for_carrier(sriov.virtual_nics)
    yield sriov
    (function / "sriov_numvfs").write_text("0")
    execute("modprobe", "-r", "igbvf", "igb")


def nic_of(function: Path) -> str:
    return next((function / "net").iterdir()).name


@pytest.fixture
def node_file() -> Iterator[Callable[..., None]]:
    """Write what is true of this node alone, as its admin does."""
    NODE_FILE.parent.mkdir(parents=True, exist_ok=True)

    def write(**keys: object) -> None:
        NODE_FILE.write_text(json.dumps(keys))

    yield write
    NODE_FILE.unlink(missing_ok=True)


@pytest.fixture
def make_pod(node: None) -> Iterator[Callable[..., Pod]]:  # noqa: ARG001 (goes before the node)
    made = []

    def make(name: str, uid: str = "") -> Pod:
        ip("netns", "add", name)
        made.append(name)
        return Pod(name, uid)

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
