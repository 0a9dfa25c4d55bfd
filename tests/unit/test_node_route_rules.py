"""`routing.nodeRoutes` in a conf, and `peers` in the node's file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from multinic_cni.cli.validate import warnings_of_file
from multinic_cni.conf.node import Peer, read_node
from multinic_cni.errors import CniError
from tests.unit.confs import document
from tests.unit.rails import BLOCKS, OWN
from tests.unit.shared import ranges
from tests.unit.test_rules import problems

if TYPE_CHECKING:
    from pathlib import Path

ASKED: dict[str, Any] = {"routing": {"nodeRoutes": True}}
SHARED: dict[str, Any] = {"subnet": "192.168.0.0/16", "ipam": BLOCKS}


@pytest.mark.parametrize(
    "changes",
    [
        SHARED,
        ranges({"subnet": "10.9.0.0/16", "perNodeNetworkPrefix": 24}),
        ranges({"subnet": "10.9.0.0/16"}, {"subnet": "10.8.0.0/16"}, perNodeBlockSize=8),
        {"ipam": {**OWN, "hostBlock": 4}},
    ],
    ids=["subnet", "one range", "all ranges", "own networks"],
)
def test_nodes_with_shares_can_have_routes(changes: dict[str, Any]) -> None:
    assert [] == problems(document(**ASKED, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.9.0.0/16"}]]}},
        {"subnet": "192.168.0.0/16", "ipam": {**OWN, "interfaceBlock": 2}},
        {"ipam": {**OWN, "slice": {"offset": 8, "length": 4}}},
    ],
    ids=["no addresses", "another ipam", "the same on all nodes", "slice"],
)
def test_nodes_without_shares_cannot(changes: dict[str, Any]) -> None:
    ((path, message, _),) = problems(document(**ASKED, **changes))
    assert "routing.nodeRoutes" == path
    assert message.startswith("needs a share of the addresses for each node")


def warnings(folder: Path, **changes: object) -> list[str]:
    file = folder / "20-rails.conf"
    file.write_text(json.dumps(document(**{**ASKED, **SHARED, **changes})))
    return [each for each in warnings_of_file(file) if "nodeRoutes" in each]


@pytest.mark.parametrize(
    ("plugin", "named"),
    [
        ({"type": "macvlan"}, "macvlan"),
        ({"type": "ipvlan"}, "ipvlan in mode l2"),
        ([{"type": "host-device"}, {"type": "tuning"}], "host-device"),
    ],
    ids=["macvlan", "ipvlan l2", "host-device"],
)
def test_pods_on_the_wire_do_not_use_them(tmp_path: Path, plugin: object, named: str) -> None:
    (warning,) = warnings(tmp_path, plugin=plugin)
    assert warning.startswith(f"routing.nodeRoutes: is of no use with {named}: ")


@pytest.mark.parametrize(
    "plugin",
    [{"type": "ipvlan", "mode": "l3"}, {"type": "ipvlan", "mode": "l3s"}, {"type": "somebodys"}],
    ids=["l3", "l3s", "unknown"],
)
def test_pods_that_the_node_routes_for(tmp_path: Path, plugin: object) -> None:
    assert [] == warnings(tmp_path, plugin=plugin)


def test_peers_of_the_nodes_file(tmp_path: Path) -> None:
    file = tmp_path / "node.json"
    addresses = {"10.1.0.0/24": "10.1.0.2", "rail1": ["10.2.0.2", "fd00::2"]}
    peers = {"b": {"hostIndex": 1, "addresses": addresses}, "c": {"addresses": {}}}
    file.write_text(json.dumps({"peers": peers}))
    assert {
        "b": Peer(
            host_index=1,
            addresses={"10.1.0.0/24": ("10.1.0.2",), "rail1": ("10.2.0.2", "fd00::2")},
        ),
        "c": Peer(host_index=None, addresses={}),
    } == read_node(str(file)).peers


@pytest.mark.parametrize(
    ("peer", "message"),
    [
        ({"hostIndex": 1}, "peers.b.addresses: is missing"),
        ({"addresses": {"rail0": "10.1.0.2/24"}}, "peers.b.addresses.rail0: "),
        ({"addresses": {"rail0": []}}, "peers.b.addresses.rail0: must have 1 or more items"),
        ({"addresses": {}, "hostIndex": -1}, "peers.b.hostIndex: "),
        ({"addresses": {}, "index": 1}, "peers.b.index: unknown key"),
    ],
    ids=["no addresses", "a network", "an empty list", "below nought", "unknown key"],
)
def test_wrong_peers(tmp_path: Path, peer: object, message: str) -> None:
    file = tmp_path / "node.json"
    file.write_text(json.dumps({"peers": {"b": peer}}))
    with pytest.raises(CniError) as raised:
        read_node(str(file))
    assert message in raised.value.message
