"""`multinic-cni nics` on the machines of tests/machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from multinic_cni import host
from multinic_cni.cli.app import app
from multinic_cni.conf.node import NodeFile
from tests.unit.machines import NAMES, described, machine

if TYPE_CHECKING:
    from pathlib import Path


def run(folder: Path, *options: str) -> str:
    ended = CliRunner().invoke(app, ["nics", "--sysroot", str(folder), *options])
    assert 0 == ended.exit_code, ended.output
    assert "\x1b" not in ended.stdout
    return ended.stdout


def listed(folder: Path) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in json.loads(run(folder, "--json"))["nics"]}


def table(folder: Path, *options: str) -> dict[str, dict[str, str]]:
    """Return the table's cells by NIC and column, cut where the heading's columns begin."""
    heading, *lines = run(folder, *options).splitlines()
    names = [each.strip() for each in heading.split("  ") if each.strip()]
    starts = [heading.index(name) for name in names]
    ends = [*starts[1:], None]
    rows = [
        {
            name: line[start:end].strip()
            for name, start, end in zip(names, starts, ends, strict=True)
        }
        for line in lines
        if not line.startswith(("and ", "note"))
    ]
    return {row["NIC"]: row for row in rows}


def test_every_fact_of_a_nic(tmp_path: Path) -> None:
    machine("dgx-a100", tmp_path)
    folder = tmp_path / "dgx-a100"
    nic = listed(folder)["enp84s0"]
    facts = {key: nic[key] for key in nic if key not in {"index", "mac", "permanentMAC"}}
    assert {
        "name": "enp84s0",
        "altnames": ["rail3"],
        "kind": "",
        "medium": "ethernet",
        "loopback": False,
        "mtu": 9000,
        "up": True,
        "carrier": True,
        "operstate": "up",
        "trouble": None,
        "deniedTrouble": None,
        "speed": 200_000,
        "duplex": "full",
        "addresses": [
            {
                "address": "10.100.3.10",
                "prefixLength": 24,
                "network": "10.100.3.0/24",
                "passing": False,
            },
            {
                "address": "fd00:100:0:3::10",
                "prefixLength": 64,
                "network": "fd00:100:0:3::/64",
                "passing": False,
            },
        ],
        "uplink": None,
        "portOf": None,
        "ports": [],
        "standsOn": None,
        "children": [],
        "rail": None,
        "auxiliary": None,
        "driver": "mlx5_core",
        "pci": {
            "address": "0000:54:00.0",
            "vendor": "15b3",
            "device": "101b",
            "class": "020000",
            "driver": "mlx5_core",
            "numa": 0,
            "path": [
                "pci0000:40",
                "0000:40:01.1",
                "0000:41:00.0",
                "0000:42:0c.0",
                "0000:54:00.0",
            ],
            "physicalFunction": None,
            "virtualFunctions": [],
        },
        "rdma": [{"device": "mlx5_3", "port": 1, "state": "ACTIVE"}],
        "attachments": 0,
        "megabitsTaken": 0,
    } == facts
    links = {each["ifname"]: each for each in json.loads((folder / "ip-link.json").read_text())}
    assert (links["enp84s0"]["ifindex"], links["enp84s0"]["address"]) == (nic["index"], nic["mac"])


def test_relations_of_a_bond_with_vlans(tmp_path: Path) -> None:
    machine("bond-vlans", tmp_path)
    folder = tmp_path / "bond-vlans"
    nics = listed(folder)
    assert ["ens1f0", "ens1f1"] == nics["bond0"]["ports"]
    assert ["bond0", "bond0"] == [nics[port]["portOf"] for port in ("ens1f0", "ens1f1")]
    assert "b8:59:9f:00:00:02" == nics["ens1f1"]["permanentMAC"]
    assert [("bond0.100", "vlan"), ("bond0.200", "vlan"), ("bond0.300", "vlan")] == [
        (each["name"], each["kind"]) for each in nics["bond0"]["children"]
    ][:3]
    assert ("bond0", "br0") == (nics["bond0.400"]["standsOn"], nics["bond0.400"]["portOf"])
    assert nics["bond0.100"]["uplink"] == "the node's IPv4 default route leaves by it"
    rows = table(folder)
    assert "bond of ens1f0, ens1f1; 4 vlan on it; uplink" == rows["bond0"]["WHAT IT IS"]
    assert "vlan on bond0; port of br0" == rows["bond0.400"]["WHAT IT IS"]
    assert "no carrier" == rows["eno1"]["STATE"]
    assert "br0" not in rows
    assert "(--all): 1 bridge" in run(folder)
    everything = table(folder, "--all")
    assert "bridge of bond0.400" == everything["br0"]["WHAT IT IS"]
    assert {"lo", *rows, "br0"} == set(everything)


def test_functions_of_a_virtualised_nic(tmp_path: Path) -> None:
    machine("sriov-host", tmp_path)
    folder = tmp_path / "sriov-host"
    nics = listed(folder)
    assert [
        {"address": "0000:3b:00.2", "nics": ["ens1f0v0"]},
        {"address": "0000:3b:00.3", "nics": ["ens1f0v1"]},
        {"address": "0000:3b:00.4", "nics": ["ens1f0v2"]},
        {"address": "0000:3b:00.5", "nics": []},
    ] == nics["ens1f0np0"]["pci"]["virtualFunctions"]
    assert "0000:3b:00.0" == nics["ens1f0v1"]["pci"]["physicalFunction"]
    assert "0000:3b:00.1" == nics["en3b00f1s88"]["pci"]["address"]  # above an auxiliary device
    rows = table(folder)
    assert "PF of 4 VFs" == rows["ens1f0np0"]["WHAT IT IS"]
    assert "VF of 0000:3b:00.0" == rows["ens1f0v0"]["WHAT IT IS"]
    assert "SF mlx5_core.sf.2" == rows["en3b00f1s88"]["WHAT IT IS"]
    assert "mlx5_core.sf.2" == nics["en3b00f1s88"]["auxiliary"]


def test_infiniband_is_told(tmp_path: Path) -> None:
    machine("azure-nd", tmp_path)
    assert "infiniband" == table(tmp_path / "azure-nd")["ib7"]["WHAT IT IS"]
    assert "infiniband" == listed(tmp_path / "azure-nd")["ib7"]["medium"]


def test_columns_that_no_nic_fills_are_left_out(tmp_path: Path) -> None:
    machine("vpc-guest-small", tmp_path)
    rows = table(tmp_path / "vpc-guest-small")
    assert {
        "ens3": {
            "NIC": "ens3",
            "PCI": "0000:00:03.0",
            "DEVICE": "1af4:1041",
            "DRIVER": "virtio-pci",
            "MTU": "1500",
            "STATE": "up",
            "ADDRESSES": "10.240.0.4/24 fd00:240::4/64",
            "WHAT IT IS": "uplink",
        },
        "ens4": {
            "NIC": "ens4",
            "PCI": "0000:00:04.0",
            "DEVICE": "1af4:1041",
            "DRIVER": "virtio-pci",
            "MTU": "1500",
            "STATE": "up",
            "ADDRESSES": "",
            "WHAT IT IS": "",
        },
    } == rows


def test_rails_and_speeds_of_node_json(tmp_path: Path) -> None:
    machine("vpc-guest-small", tmp_path)
    folder = tmp_path / "vpc-guest-small"
    node_file = folder / "etc/cni/multinic/node.json"
    node_file.parent.mkdir(parents=True)
    rails = ["0000:00:04.0", "10.240.0.0/24", "enp7s0"]
    node_file.write_text(json.dumps({"rails": rails, "speeds": {"ens4": "25Gbps"}}))
    rows = table(folder)
    assert [("1", ""), ("0", "25 Gbit/s")] == [
        (rows[nic]["RAIL"], rows[nic]["SPEED"]) for nic in ("ens3", "ens4")
    ]
    assert "note: rail 2: this node has no enp7s0" in run(folder)
    node_file.write_text(json.dumps({"rails": ["ens*"]}))
    assert "note: rails of node.json: rail 0 is not certain: ens* fits" in run(folder)


def test_a_probers_word_goes_before_the_kernels(tmp_path: Path) -> None:
    machine("dgx-a100", tmp_path)
    folder = tmp_path / "dgx-a100"
    health = folder / "run/multinic-cni/health"
    health.mkdir(parents=True)
    word = {"healthy": False, "reason": "BER too high", "expires": "2126-12-01T12:00:00Z"}
    (health / "enp12s0.json").write_text(json.dumps(word))
    assert table(folder)["enp12s0"]["STATE"].startswith("BER too high (says ")
    assert listed(folder)["enp12s0"]["trouble"].startswith("BER too high (says ")
    assert listed(folder)["enp12s0"]["carrier"] is True


def test_a_prober_that_contradicts_the_kernel_does_not_hide_it(tmp_path: Path) -> None:
    """It is taken, as nics.md says, but whoever looks is to see that it is down."""
    machine("laptop", tmp_path)
    folder = tmp_path / "laptop"
    health = folder / "run/multinic-cni/health"
    health.mkdir(parents=True)
    word = {"healthy": True, "expires": "2126-12-01T12:00:00Z"}
    for nic in ("enp0s31f6", "wlp1s0"):
        (health / f"{nic}.json").write_text(json.dumps(word))
    rows = table(folder)
    assert ["no carrier (prober: healthy)", "up"] == [
        rows[nic]["STATE"] for nic in ("enp0s31f6", "wlp1s0")
    ]
    nics = listed(folder)
    assert (None, "it has no carrier") == (
        nics["enp0s31f6"]["trouble"],
        nics["enp0s31f6"]["deniedTrouble"],
    )
    assert nics["wlp1s0"]["deniedTrouble"] is None
    tree = CliRunner().invoke(app, ["topology", "--sysroot", str(folder)]).stdout
    assert "enp0s31f6  no carrier (prober: healthy)  8086:15fb" in tree


@pytest.mark.parametrize("name", NAMES)
def test_every_link_of_every_machine_is_told(name: str, tmp_path: Path) -> None:
    node = machine(name, tmp_path)
    nics = listed(tmp_path / name)
    assert {nic.name for nic in node.nics} == set(nics)
    addresses = {each: node.sysfs.pci_address(each) for each in nics}
    told = {name: nic["pci"]["address"] if nic["pci"] else "" for name, nic in nics.items()}
    assert addresses == told
    assert set(nics) == set(table(tmp_path / name, "--all"))


def test_names_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    described("node odd\nroot 0000:00\n  nic 00:03.0 id=1af4:1041 name=abc\n", tmp_path / "odd")
    links = tmp_path / "odd/ip-link.json"
    named = links.read_text().replace('"abc"', '"a\\u001b[1mc"')
    links.write_text(named)
    lines = run(tmp_path / "odd").splitlines()
    assert any(line.startswith("a [1mc") for line in lines)


def test_folder_without_the_kernels_words(tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["nics", "--sysroot", str(tmp_path)])
    assert 1 == ended.exit_code
    assert ended.stderr.startswith(f"multinic-cni: no {tmp_path}/ip-link.json: it is what ")


def test_node_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder the kernel is asked; here it has nothing to tell."""
    monkeypatch.setattr(host, "nics", list)
    monkeypatch.setattr(host, "read_node", lambda _path: NodeFile())
    ended = CliRunner().invoke(app, ["nics", "--data-dir", str(tmp_path)])
    assert (0, "no NIC that a pod could get\n") == (ended.exit_code, ended.stdout)
