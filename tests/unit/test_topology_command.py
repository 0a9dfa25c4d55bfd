"""`multinic-cni topology` on the machines of tests/machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from multinic_cni.cli.app import app
from tests.unit.machines import NAMES, described, machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from multinic_cni.host import Host

A100 = "NVIDIA A100-SXM4-40GB  10de:20b0 nvidia"


def run(folder: Path, *options: str) -> str:
    ended = CliRunner().invoke(app, ["topology", "--sysroot", str(folder), *options])
    assert 0 == ended.exit_code, ended.output
    return ended.stdout


def devices(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Walk the devices of a JSON document, or of a part of it."""
    for each in part.get("inside") or part.get("places") or ():
        if "pci" in each:
            yield each
        else:
            yield from devices(each)


def test_tree_of_a_dgx(tmp_path: Path) -> None:
    machine("dgx-a100", tmp_path)
    lines = run(tmp_path / "dgx-a100").splitlines()
    nic = "200 Gbit/s, mlx5_{}/1 ACTIVE, up  15b3:101b mlx5_core"
    assert [
        "NUMA node 0",
        "├─ root complex pci0000:00",
        "│  └─ switch 0000:01:00.0",
        f"│     ├─ GPU 0000:07:00.0  {A100}",
        f"│     ├─ GPU 0000:0f:00.0  {A100}",
        f"│     ├─ NIC 0000:0c:00.0  enp12s0  {nic.format(0)}",
        f"│     └─ NIC 0000:12:00.0  enp18s0  {nic.format(1)}",
        "├─ root complex pci0000:40",
    ] == lines[:8]
    assert [
        "└─ root complex pci0000:e0",
        "   └─ NIC 0000:e1:00.0  enp225s0f0  100 Gbit/s, mlx5_10/1 ACTIVE, up  15b3:101b mlx5_core",
    ] == lines[-2:]
    counts = {word: sum(f" {word} 0000:" in line for line in lines) for word in ("GPU", "NIC")}
    assert {"GPU": 8, "NIC": 11} == counts
    assert 4 == sum("switch " in line for line in lines)


def test_machine_without_numa_has_no_such_level(tmp_path: Path) -> None:
    machine("vpc-guest-small", tmp_path)
    assert [
        "root complex pci0000:00",
        "├─ NIC 0000:00:03.0  ens3  uplink, up  1af4:1041 virtio-pci",
        "└─ NIC 0000:00:04.0  ens4  up  1af4:1041 virtio-pci",
    ] == run(tmp_path / "vpc-guest-small").splitlines()


def test_nics_that_are_not_on_pci_stand_apart(tmp_path: Path) -> None:
    machine("bond-vlans", tmp_path)
    lines = run(tmp_path / "bond-vlans").splitlines()
    apart = lines[lines.index("not on PCI") + 1 :]
    assert ["bond0", "bond0.100", "bond0.200", "bond0.300", "bond0.400"] == [
        line.split()[2] for line in apart
    ]
    assert "   └─ port 0000:3a:00.0" in lines  # two functions of one card
    assert "   └─ NIC 0000:18:00.0  eno1  no carrier  8086:1521 igb" in [
        line.replace("│", " ") for line in lines
    ]


def test_virtual_functions_without_a_nic_are_counted(tmp_path: Path) -> None:
    machine("sriov-host", tmp_path)
    folder = tmp_path / "sriov-host"
    text = run(folder)
    assert "4 VFs, 1 of them without a NIC here" in text
    assert "0000:3b:00.5" not in text
    by_address = {
        each["pci"]["address"]: each for each in devices(json.loads(run(folder, "--json")))
    }
    assert ["ens5", "ens5d1"] == [each["name"] for each in by_address["0000:87:00.0"]["nics"]]
    assert "GPU" == by_address["0000:86:00.0"]["kind"]
    assert "   ├─ GPU 0000:86:00.0  1002:740c amdgpu" in [line[3:] for line in text.splitlines()]


def test_function_that_has_rdma_and_no_network_interface(tmp_path: Path) -> None:
    machine("aws-p5", tmp_path)
    folder = tmp_path / "aws-p5"
    assert "NIC 0000:4f:00.0  rdmap79s0/1 ACTIVE, no network interface here  1d0f:efa1 efa" in run(
        folder
    )
    found = list(devices(json.loads(run(folder, "--json"))))
    without = [each for each in found if each["kind"] == "NIC" and not each["nics"]]
    assert 32 == len(without)
    assert [{"device": "rdmap79s0", "port": 1, "state": "ACTIVE"}] == without[0]["rdma"]


def test_numa_node_of_a_root_complex_is_that_of_any_device_below(tmp_path: Path) -> None:
    """Firmware may tell it of one device only; the whole complex is at one place."""
    described(
        "node partly\n"
        "root 0000:00 numa=1\n"
        "  nic 00:03.0 id=1af4:1041 name=first\n"
        "  nic 00:04.0 id=1af4:1041 name=second\n"
        "root 0000:80\n"
        "  nic 80:03.0 id=1af4:1041 name=third\n",
        tmp_path / "partly",
    )
    for function in (tmp_path / "partly/sys/devices").rglob("numa_node"):
        if "00:03.0" in str(function) and "80" not in str(function):
            function.write_text("-1\n")
    assert ["NUMA node 1", "NUMA node unknown"] == [
        line for line in run(tmp_path / "partly").splitlines() if line.startswith("NUMA")
    ]


def test_numa_node_of_a_root_complex_is_the_lowest_that_is_known(tmp_path: Path) -> None:
    """So the strategy topology counts it, too."""
    described(
        "node odd\n"
        "root 0000:00\n"
        "  nic 00:03.0 id=1af4:1041 name=first numa=1\n"
        "  nic 00:04.0 id=1af4:1041 name=second numa=0\n",
        tmp_path / "odd",
    )
    assert "NUMA node 0" == run(tmp_path / "odd").splitlines()[0]


def test_model_is_that_of_nvidias_file_wherever_it_lies(tmp_path: Path) -> None:
    machine("dgx-a100", tmp_path)
    folder = tmp_path / "dgx-a100"
    gpus = folder / "proc/driver/nvidia/gpus"
    (gpus / "0000:07:00.0").rename(gpus / "renamed")
    information = gpus / "renamed/information"
    information.write_text(information.read_text().replace("A100", "B200"))
    (gpus / "0000:0f:00.0/information").write_bytes(b"\0" * (1 << 17))  # larger than any
    lines = run(folder).splitlines()
    assert "│     ├─ GPU 0000:07:00.0  NVIDIA B200-SXM4-40GB  10de:20b0 nvidia" in lines
    assert "│     ├─ GPU 0000:0f:00.0  10de:20b0 nvidia" in lines


def test_hypervisors_file_says_where_things_are(tmp_path: Path) -> None:
    """The strategy topology goes by it, where sysfs shows a guest one root for each function."""
    machine("azure-nd", tmp_path)
    folder = tmp_path / "azure-nd"
    file = folder / "var/run/nvidia-topologyd/virtualTopology.xml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        '<system version="1">\n<cpu numaid="0"><pci busid="ffff:ff:01.0" class="0x060400">\n'
        '<pci busid="0001:00:00.0" class="0x030200"/><pci busid="0101:00:00.0" class="0x020700"/>'
        "</pci></cpu></system>"
    )
    lines = run(folder).splitlines()
    start = lines.index("│  └─ bridge at 2:17 of the topology file") - 1
    assert "├─ CPU at 2:1 of the topology file" == lines[start]
    assert lines[start + 2].startswith("│     ├─ GPU 0001:00:00.0  ")
    assert lines[start + 3].startswith("│     └─ NIC 0101:00:00.0  ib0  ")


def expected_devices(node: Host) -> set[str]:
    """Return the functions that are to be shown, by sysfs alone."""
    sysfs = node.sysfs
    with_nic = {sysfs.pci_address(nic.name) for nic in node.nics} - {""}
    of_class = {
        address
        for address in sysfs.functions()
        if sysfs.device_class(address)[:2] in {"02", "03", "12"}
    }
    hidden = {address for address in of_class - with_nic if sysfs.physical_function(address)}
    return with_nic | of_class - hidden


@pytest.mark.parametrize("name", NAMES)
def test_every_device_once(name: str, tmp_path: Path) -> None:
    node = machine(name, tmp_path)
    document = json.loads(run(tmp_path / name, "--json"))
    shown = [each["pci"]["address"] for each in devices(document)]
    assert sorted(expected_devices(node)) == sorted(shown)
    lines = run(tmp_path / name).splitlines()
    for address in shown:
        assert 1 == sum(f"C {address}" in line or f"U {address}" in line for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_devices_are_behind_the_bridges_of_their_paths(name: str, tmp_path: Path) -> None:
    machine(name, tmp_path)

    def check(part: dict[str, Any], above: list[str]) -> None:
        if "pci" in part:
            path = [part["root"], *part["bridges"]]
            assert above == [each for each in path if each in above]
            return
        is_on_path = part["kind"] != "NUMA node" and part["name"] != "unknown"
        inside = part["inside"]
        assert inside
        assert part["kind"] in {"NUMA node", "root complex"} or len(inside) > 1
        for each in inside:
            check(each, [*above, part["name"]] if is_on_path else above)

    for place in json.loads(run(tmp_path / name, "--json"))["places"]:
        check(place, [])


def test_machine_without_anything(tmp_path: Path) -> None:
    described("node bare\n", tmp_path / "bare")
    assert "no GPU and no NIC\n" == run(tmp_path / "bare")


def test_drawing_goes_into_a_file(tmp_path: Path) -> None:
    machine("laptop", tmp_path)
    text = run(tmp_path / "laptop")
    assert text == run(tmp_path / "laptop", "--svg", str(tmp_path / "laptop.svg"))
    assert (tmp_path / "laptop.svg").read_text().startswith("<?xml")


def test_drawing_that_cannot_be_written(tmp_path: Path) -> None:
    machine("laptop", tmp_path)
    words = ["topology", "--sysroot", str(tmp_path / "laptop"), "--svg", str(tmp_path / "no/a.svg")]
    ended = CliRunner().invoke(app, words)
    assert 1 == ended.exit_code
    assert ended.stderr.startswith("multinic-cni: cannot write the drawing: No such file")
