from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from multinic_cni import host
from multinic_cni.cli.app import app
from multinic_cni.conf.node import PATH, NodeFile
from multinic_cni.errors import BAD_CONF, NO_NICS
from multinic_selectors import attributes
from tests.unit.confs import document
from tests.unit.nics import nic
from tests.unit.rails import BLOCKS, OWN

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_selectors.nics import Nic

NICS = [
    nic("rail0", "10.1.0.5/24"),
    nic("rail1", "10.2.0.6/24"),
    nic("eth0", "10.9.0.5/24", uplink="the node's IPv4 default route leaves by it"),
]
DERIVABLE: dict[str, Any] = {
    "subnet": ["192.168.0.0/16", "fd00::/48"],
    "ipam": {**OWN, "interfaceBlock": 2, "hostBlock": 8, "gatewayIndex": 1},
}
TWO = [["rail0", "0 (10.1.0.0/24)", "net1"], ["rail1", "1 (10.2.0.0/24)", "net1-1"]]


@pytest.fixture(autouse=True)
def node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Nic]:
    """Return the NICs of the node "node-a", which a test may change; its sysfs is empty."""
    nics = list(NICS)
    monkeypatch.setattr(attributes, "SYSFS", str(tmp_path / "sys"))
    monkeypatch.setattr(host, "nics", lambda: nics)
    monkeypatch.setattr(host, "name", lambda: "node-a")
    monkeypatch.setattr(host, "read_node", lambda _path: NodeFile())
    return nics


def run(folder: Path, conf: object, *options: str) -> tuple[int, str]:
    file = folder / "20-rails.conf"
    if isinstance(conf, dict):
        conf = {"dataDir": f"{folder}/data", **conf}
    file.write_text(json.dumps(conf))
    ended = CliRunner().invoke(app, ["explain", *options, str(file)])
    return ended.exit_code, ended.output.replace(f"{folder}/", "")


def cells(lines: list[str]) -> list[list[str]]:
    """Return the cells of a table's lines, which two spaces part; empty ones leave no trace."""
    own = [line for line in lines if line.startswith("rail")]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in own]


def chosen(output: str) -> list[list[str]]:
    """Return the first table, of the NICs."""
    return cells(output.split("\n\n", maxsplit=1)[0].splitlines())


def rows(output: str) -> list[list[str]]:
    """Return the second table, of where the addresses come from."""
    return cells(output.split("\n\n")[1].splitlines())


def test_nics_with_derived_indexes(tmp_path: Path) -> None:
    status, output = run(tmp_path, document(**DERIVABLE))
    derived = ["5", "10.1.0.5 in 10.1.0.0/24"], ["6", "10.2.0.6 in 10.2.0.0/24"]
    first, second = "0 (10.1.0.0/24)", "1 (10.2.0.0/24)"
    assert 0 == status
    assert [
        ["rail0", first, "net1", "192.168.1.65/18, fd00:0:0:140::1/50"],
        ["rail1", second, "net1-1", "192.168.65.129/18, fd00:0:0:4180::1/50"],
    ] == chosen(output)
    assert [
        [
            "rail0",
            "192.168.0.0/18",
            "192.168.1.64/26 /18",
            "192.168.0.1",
            "62",
            *derived[0],
        ],
        [
            "rail0",
            "fd00::/50",
            "fd00:0:0:140::/58 /50",
            "fd00::1",
            "about 2^70",
            *derived[0],
        ],
        [
            "rail1",
            "192.168.64.0/18",
            "192.168.65.128/26 /18",
            "192.168.64.1",
            "62",
            *derived[1],
        ],
        [
            "rail1",
            "fd00:0:0:4000::/50",
            "fd00:0:0:4180::/58 /50",
            "fd00:0:0:4000::1",
            "about 2^70",
            *derived[1],
        ],
    ] == rows(output)
    assert "not taken: eth0: neither its name nor its addresses are in masterNets" in output
    assert "\x1b" not in output
    assert "hint" not in output


def test_hint_where_others_derive_theirs(tmp_path: Path) -> None:
    status, output = run(tmp_path, document(**DERIVABLE, hosts={"node-a": 3}))
    assert 0 == status
    assert ["3", "hosts"] == rows(output)[0][-2:]
    hints = [line for line in output.splitlines() if line.startswith("hint")]
    text = "nodes without an entry derive theirs; this one would have"
    assert [f"hint: rail0: {text} 5", f"hint: rail1: {text} 6"] == hints


def test_node_file_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "read_node", lambda _path: NodeFile(host_index=7))
    conf = document(
        masterNets=["10.1.0.0/24"],
        subnet="192.168.0.0/16",
        ipam={
            **OWN,
            "perNodeNetworkPrefix": 24,
            "staticAllocations": [{"nodeName": "node-b", "prefix": "192.168.9.0/24"}],
        },
    )
    assert ["254", "7", PATH] == rows(run(tmp_path, conf)[1])[0][-3:]
    monkeypatch.setattr(host, "read_node", lambda _path: NodeFile(name="node-b"))
    assert ["192.168.9.0/24 /24", "254", "staticAllocations"] == rows(run(tmp_path, conf)[1])[0][
        -3:
    ]


def test_the_same_on_every_node(tmp_path: Path) -> None:
    conf = document(ipam={**OWN, "slice": {"offset": 16, "length": 8}, "gatewayIndex": 17})
    _, output = run(tmp_path, conf)
    assert [
        "rail0",
        "10.1.0.0/24",
        "10.1.0.16-10.1.0.23 of 10.1.0.0/24 /24",
        "10.1.0.17",
        "7",
        "the same on every node",
    ] == rows(output)[0]


def test_addresses_of_another_ipam(tmp_path: Path) -> None:
    status, output = run(tmp_path, document(ipam={"type": "whereabouts"}))
    assert 0 == status
    assert TWO == chosen(output)
    assert "addresses: from ipam whereabouts" in output


def test_json(tmp_path: Path, node: list[Nic]) -> None:
    node[1] = nic("rail1", "10.2.0.6/24", up=False)
    conf = document(**DERIVABLE | {"subnet": "192.168.0.0/16"}, hosts={"node-a": 3})
    status, output = run(tmp_path, conf, "--json")
    expected = {
        "where": "20-rails.conf",
        "network": "rails",
        "nics": [
            {
                "nic": "rail0",
                "place": 0,
                "interface": "net1",
                "addresses": ["192.168.0.193/18"],
                "rdma": [],
                "why": None,
                "megabits": 0,
                "attachments": 0,
                "megabitsTaken": 0,
                "shares": [
                    {
                        "network": "192.168.0.0/18",
                        "first": "192.168.0.193",
                        "last": "192.168.0.254",
                        "prefixLength": 18,
                        "gateway": "192.168.0.1",
                        "room": 62,
                        "hostIndex": 3,
                        "source": "hosts",
                        "hint": "nodes without an entry derive theirs; this one would have 5",
                    }
                ],
                "delegates": [
                    {
                        "type": "macvlan",
                        "mode": "bridge",
                        "master": "rail0",
                        "ipam": {
                            "type": "static",
                            "addresses": [
                                {"address": "192.168.0.193/18", "gateway": "192.168.0.1"}
                            ],
                        },
                        "name": "rails",
                        "cniVersion": "1.0.0",
                    }
                ],
            }
        ],
        "refused": [
            {"nic": "rail1", "reason": "it is down"},
            {"nic": "eth0", "reason": "neither its name nor its addresses are in masterNets"},
        ],
        "missing": [],
    }
    assert (0, [expected]) == (status, json.loads(output))


def test_no_host_index(tmp_path: Path) -> None:
    """The NICs are told all the same, and what to do."""
    conf = document(subnet="192.168.0.0/16", ipam=BLOCKS, hosts={"node-b": 0})
    status, output = run(tmp_path, conf)
    assert 1 == status
    assert TWO == chosen(output)
    assert "error: no addresses for NIC rail0: this node (node-a) has no host index" in output
    assert 'add "node-a" to the net conf\'s hosts' in output
    status, output = run(tmp_path, conf, "--json")
    (found,) = json.loads(output)
    assert (1, BAD_CONF) == (status, found["error"]["code"])
    told = ("nic", "interface", "addresses", "shares", "delegates")
    assert [["rail0", "net1", [], [], []], ["rail1", "net1-1", [], [], []]] == [
        [each[key] for key in told] for each in found["nics"]
    ]


def test_too_few_nics(tmp_path: Path, node: list[Nic]) -> None:
    node.clear()
    status, output = run(tmp_path, document(), "--json")
    (found,) = json.loads(output)
    assert (1, NO_NICS) == (status, found["error"]["code"])
    why = "no NIC has an address in this masterNet"
    nets = [{"entry": net, "reason": why} for net in document()["masterNets"]]
    assert ([], [], nets) == (found["nics"], found["refused"], found["missing"])


def test_conf_with_mistakes(tmp_path: Path) -> None:
    status, output = run(tmp_path, document(timeout=0))
    assert 1 == status
    assert (
        "20-rails.conf: no valid net conf\nerror: invalid net conf: timeout: must be at least 1"
        in output
    )


def test_entries_of_a_conflist(tmp_path: Path) -> None:
    entry = {key: value for key, value in document().items() if key not in {"cniVersion", "name"}}
    conf = {
        "cniVersion": "1.0.0",
        "name": "railnet",
        "plugins": [{"type": "bridge"}, entry, {**entry, "type": "multi-nic"}],
    }
    status, output = run(tmp_path, conf)
    titles = [line for line in output.splitlines() if line.startswith("20-rails")]
    assert 0 == status
    assert ["20-rails.conf:plugins[1]: railnet", "20-rails.conf:plugins[2]: railnet"] == titles


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": ', "20-rails.conf: "),
        ('{"name": "a", "plugins": [{"type": "bridge"}]}', "no plugin has one of the types"),
    ],
    ids=["no JSON", "none of ours"],
)
def test_file_without_a_conf_of_ours(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "20-rails.conf"
    file.write_text(text)
    ended = CliRunner().invoke(app, ["explain", str(file)])
    assert 1 == ended.exit_code
    assert message in ended.output
