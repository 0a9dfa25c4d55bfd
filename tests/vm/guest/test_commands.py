"""`nics` and `topology`, of the built executable, against lspci and ip."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.vm.guest.node import EXECUTABLE, NICS, execute, ip, links
from tests.vm.guest.pci import address_of, functions, gpu, paths_to_functions, virtual_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.vm.guest.node import Document
    from tests.vm.guest.pci import Sriov


def shown_by(command: str) -> Document:
    document: Document = json.loads(execute(EXECUTABLE, command, "--json"))
    return document


@pytest.fixture
def child() -> Iterator[str]:
    ip("link", "add", "name", "child", "link", "eth3", "type", "ipvlan", "mode", "l3")
    yield "child"
    ip("link", "delete", "child")


def test_nics(sriov: Sriov, child: str) -> None:
    shown = {nic["name"]: nic for nic in shown_by("nics")["nics"]}
    node, known, paths = links(), functions(), paths_to_functions()
    assert set(shown) == set(node) == {"lo", child, *NICS, *sriov.nics}
    for name, link in node.items():
        nic = shown[name]
        assert (nic["index"], nic["mac"], nic["mtu"]) == (
            link["ifindex"],
            link["address"],
            link["mtu"],
        )
        assert nic["operstate"] == link["operstate"].lower()
        assert (nic["up"], nic["carrier"]) == ("UP" in link["flags"], "LOWER_UP" in link["flags"])
    for name in (*NICS, *sriov.nics):
        pci, address = shown[name]["pci"], address_of(name)
        function = known[address]
        assert (pci["address"], pci["vendor"], pci["device"], pci["class"]) == (
            address,
            function.vendor,
            function.product,
            f"{function.device_class}00",
        )
        assert (pci["driver"], pci["numa"]) == (function.driver, function.numa)
        assert shown[name]["driver"] == function.driver
        assert pci["path"][1:] == paths[address]
    assert {name: shown[name]["speed"] for name in sriov.nics} == dict.fromkeys(sriov.nics, 1000)
    assert shown["eth3"]["children"] == [{"name": child, "kind": "ipvlan", "mode": "l3"}]
    assert shown[sriov.nic]["pci"]["virtualFunctions"] == [
        {"address": address, "nics": [nic]}
        for address, nic in zip(virtual_functions(sriov.address), sriov.virtual_nics, strict=True)
    ]
    for nic in sriov.virtual_nics:
        assert shown[nic]["pci"]["physicalFunction"] == sriov.address


def test_topology(sriov: Sriov) -> None:
    """The tree that scripts/vm.sh describes; the names of root complexes are lspci's."""
    roots = {path[0][: len("0000:00")] for path in paths_to_functions().values()} - {"0000:00"}
    assert roots == {"0000:20", "0000:40", "0000:60"}
    shown = [outline(place) for place in shown_by("topology")["places"]]
    assert shown == [
        {
            "NUMA node 0": [
                {"root complex pci0000:20": [{"switch": [gpu(0), "eth5", "eth6"]}, "eth7"]},
                {"root complex pci0000:60": ["eth0", {"port": list(sriov.nics)}]},
            ]
        },
        {"NUMA node 1": [{"root complex pci0000:40": ["eth1", "eth2", "eth3", "eth4", gpu(1)]}]},
    ]


def outline(place: Document) -> Document | str:
    """Reduce a place to its name and what is inside, and that to NICs' names, or an address."""
    if place["kind"] == "NIC":
        (nic,) = place["nics"]
        return str(nic["name"])
    if place["kind"] == "GPU":
        return str(place["pci"]["address"])
    named = place["kind"] in {"NUMA node", "root complex"}
    kind = f"{place['kind']} {place['name']}" if named else str(place["kind"])
    return {kind: [outline(each) for each in place["inside"]]}
