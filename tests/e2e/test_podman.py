"""podman attaches containers to our networks: interfaces, traffic, and nothing left behind."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.e2e.node import FIRST_POD_HOST, PEER_HOST, RAILS, on_rail, rail_net

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.node import Document, Namespaces
    from tests.e2e.podman import Podman


def multinic(podman: Podman, last_host: int = 199) -> Document:
    ranges = {
        rail_net(rail): [
            {
                "subnet": rail_net(rail),
                "rangeStart": on_rail(rail, FIRST_POD_HOST),
                "rangeEnd": on_rail(rail, last_host),
            }
        ]
        for rail in RAILS
    }
    return {
        "type": "multinic-cni",
        "plugin": {"type": "macvlan"},
        "masterNets": [rail_net(rail) for rail in RAILS],
        "ipam": {"type": "multi-nic-ipam", "ranges": ranges},
        "dataDir": str(podman.folder / "state"),
        "logFile": str(podman.folder / "log"),
    }


def inner_names(first: str) -> list[str]:
    return [first if rail == RAILS[0] else f"{first}-{rail - RAILS[0]}" for rail in RAILS]


def rails_of(host: int, first: str = "eth0") -> dict[str, list[str]]:
    """Return the addresses of a container that is this host on every rail."""
    return {
        inner: [f"{on_rail(rail, host)}/24"]
        for rail, inner in zip(RAILS, inner_names(first), strict=True)
    }


def kept(folder: Path) -> set[str]:
    """Return the files of dataDir that an attachment has: its record and its addresses."""
    state = folder / "state"
    files = [*state.glob("attachments/*/*"), *state.glob("pools/*/*")]
    return {str(path) for path in files if not path.name.startswith("last_reserved_ip.")}


def test_life_of_a_container(podman: Podman, node: Namespaces) -> None:
    before = node.links()
    podman.add_network("railnet", multinic(podman))
    podman.run("one", "railnet")
    assert podman.addresses("one") == rails_of(FIRST_POD_HOST)
    for rail, inner in zip(RAILS, inner_names("eth0"), strict=True):
        podman.ping("one", inner, on_rail(rail, PEER_HOST))

    shown = podman.network_settings("one", "railnet")
    secondary = [each["Addr"] for each in shown["SecondaryIPAddresses"]]
    assert {shown["IPAddress"], *secondary} == {on_rail(rail, FIRST_POD_HOST) for rail in RAILS}
    macs = podman.inside("one", "ip", "-o", "link", "show")
    assert shown["MacAddress"] in macs

    podman.remove("one")
    assert node.links() == before
    assert kept(podman.folder) == set()
    assert node.execute("ls", "/run/netns") == ""


def test_stop_and_start(podman: Podman, node: Namespaces) -> None:
    """The attachment ends with the container and is made anew, with addresses that rested."""
    podman.add_network("railnet", multinic(podman))
    podman.run("one", "railnet")
    podman.execute("stop", "--time", "0", "one")
    assert kept(podman.folder) == set()
    podman.execute("start", "one")
    assert podman.addresses("one") == rails_of(FIRST_POD_HOST + 1)
    podman.ping("one", "eth0", on_rail(RAILS[0], PEER_HOST))
    podman.remove("one")
    assert kept(podman.folder) == set()
    assert node.execute("ls", "/run/netns") == ""


def test_two_containers_at_once(podman: Podman, node: Namespaces) -> None:
    before = node.links()
    podman.add_network("railnet", multinic(podman))
    names = ("one", "two")
    started = [
        subprocess.Popen(podman.command(*podman.run_words(name, "railnet"))) for name in names
    ]
    assert [process.wait(60) for process in started] == [0, 0]
    # Which of them was first is open, and it may differ from rail to rail.
    found = [podman.addresses(name) for name in names]
    for rail, inner in zip(RAILS, inner_names("eth0"), strict=True):
        assert {found[0][inner][0], found[1][inner][0]} == {
            f"{on_rail(rail, host)}/24" for host in (FIRST_POD_HOST, FIRST_POD_HOST + 1)
        }
        podman.ping("one", inner, found[1][inner][0].removesuffix("/24"))

    podman.remove("one")
    for rail, inner in zip(RAILS, inner_names("eth0"), strict=True):
        podman.ping("two", inner, on_rail(rail, PEER_HOST))
    assert podman.addresses("two") == found[1]
    podman.remove("two")
    assert node.links() == before
    assert kept(podman.folder) == set()


def test_chain_keeps_the_first_interface(podman: Podman, node: Namespaces) -> None:
    lan: Document = {
        "type": "bridge",
        "bridge": "lan",
        "isGateway": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": "10.88.0.0/24"}]],
            "dataDir": str(podman.folder / "lan"),
        },
    }
    podman.add_network("railnet", lan, multinic(podman))
    podman.run("one", "railnet")
    rails = list(rails_of(FIRST_POD_HOST).values())
    numbered = {f"eth0-{rail}": rails[index] for index, rail in enumerate(RAILS)}
    assert podman.addresses("one") == {"eth0": ["10.88.0.2/24"]} | numbered
    podman.ping("one", "eth0", "10.88.0.1")
    for rail in RAILS:
        podman.ping("one", f"eth0-{rail}", on_rail(rail, PEER_HOST))

    shown = podman.network_settings("one", "railnet")
    secondary = [each["Addr"] for each in shown["SecondaryIPAddresses"]]
    rail_addresses = {on_rail(rail, FIRST_POD_HOST) for rail in RAILS}
    assert {shown["IPAddress"], *secondary} == {"10.88.0.2"} | rail_addresses

    podman.remove("one")
    assert set(node.links()) == {"lo", "lan"} | {f"rail{rail}" for rail in RAILS}
    assert kept(podman.folder) == set()
    assert list(podman.folder.glob("lan/railnet/10.88.*")) == []


def test_routing_beside_a_primary_network(podman: Podman, node: Namespaces) -> None:
    """Rails with rules, and the default route by one of them; the bridge's keeps its own table."""
    lan: Document = {
        "type": "bridge",
        "bridge": "lan",
        "isDefaultGateway": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": "10.88.0.0/24"}]],
            "dataDir": str(podman.folder / "lan"),
        },
    }
    rails = multinic(podman)
    rails["ipam"]["gatewayIndex"] = PEER_HOST
    rails["routing"] = {
        "sourceRules": True,
        "defaultRoute": rail_net(2),
        "keepOnPrimary": ["10.89.0.0/16"],
    }
    podman.add_network("railnet", lan, rails)
    podman.run("one", "railnet")

    routes = [line.strip() for line in podman.inside("one", "ip", "route").splitlines()]
    assert [line for line in routes if line.startswith("default")] == [
        f"default via {on_rail(2, PEER_HOST)} dev eth0-2"
    ]
    assert "10.89.0.0/16 via 10.88.0.1 dev eth0" in routes
    rules = podman.inside("one", "ip", "rule").replace("\t", " ").splitlines()
    assert [line.split()[2:] for line in rules if line.startswith("100")] == [
        *([on_rail(rail, FIRST_POD_HOST), "lookup", str(999 + rail)] for rail in RAILS),
        ["10.88.0.2", "lookup", "1999"],
    ]
    podman.ping("one", "eth0", "10.88.0.1")
    for rail in RAILS:
        podman.ping("one", f"eth0-{rail}", on_rail(rail, PEER_HOST))

    podman.remove("one")
    assert set(node.links()) == {"lo", "lan"} | {f"rail{rail}" for rail in RAILS}
    assert kept(podman.folder) == set()


def test_requested_interface_name(podman: Podman) -> None:
    podman.add_network("railnet", multinic(podman))
    podman.run("one", "railnet:interface_name=rdma")
    assert podman.addresses("one") == rails_of(FIRST_POD_HOST, "rdma")
    podman.remove("one")
    assert kept(podman.folder) == set()


def test_no_address_left(podman: Podman, node: Namespaces) -> None:
    """The error is shown to the user, and a container that did not start has left nothing."""
    podman.add_network("railnet", multinic(podman, last_host=FIRST_POD_HOST))
    podman.run("one", "railnet")
    links, files = node.links(), kept(podman.folder)
    failed = podman.try_to(*podman.run_words("two", "railnet"))
    assert failed.returncode != 0
    assert rail_net(RAILS[0]) in failed.stderr
    podman.remove("two")
    assert (node.links(), kept(podman.folder)) == (links, files)
    podman.ping("one", "eth0", on_rail(RAILS[0], PEER_HOST))
