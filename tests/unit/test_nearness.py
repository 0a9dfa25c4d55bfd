"""Where things are plugged in: NCCL's topology file before sysfs, and never the two mixed up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from multinic_cni.nccl_topology import TopologyError, read_topology
from multinic_cni.nearness import Nearness
from multinic_selectors.locations import FAR, SAME_NUMA_NODE, SAME_ROOT, SAME_SWITCH
from tests.closeness import closeness
from tests.unit.machines import described, machine

if TYPE_CHECKING:
    from multinic_cni.host import Host

# As a hypervisor gives it to its guest: sysfs has them all at one root.
GUEST = """\
node guest
root 0000:00 numa=0
  gpu 00:01.0 id=10de:20b0
  gpu 00:02.0 id=10de:20b0
  nic 00:11.0 id=15b3:101e driver=mlx5_core name=eth1
  nic 00:12.0 id=15b3:101e driver=mlx5_core name=eth2
  nic 00:13.0 id=15b3:101e driver=mlx5_core name=eth3
  nic 00:13.1 id=15b3:101e driver=mlx5_core name=eth4
  nic 00:14.0 id=1af4:1041 driver=virtio-pci name=eth5
"""
FILE = """\
<?xml version="1.0"?>
<!-- written by hand -->
<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="ffffffff:ff:01.0" class="0x060400" link_width="16">
      <pci busid="00000000:00:01.0" class="0x030200"><gpu dev="0" sm="80"/></pci>
      <pci busid="0000:00:11.0" class="0x020000"><nic><net name="mlx5_0"/></nic></pci>
      <pci busid="ffffffff:ff:03.0" class="0x060400">
        <pci busid="0000:00:12.0" class="0x020000"/>
      </pci>
    </pci>
    <pci busid="0000:00:13.0" class="0x020000"/>
  </cpu>
  <cpu numaid="1">
    <pci busid="ffffffff:ff:01.0" class="0x060400">
      <pci busid="0000:00:02.0" class="0x030200"/>
    </pci>
  </cpu>
</system>
"""
GPU, OTHER_GPU = "0000:00:01.0", "0000:00:02.0"


@pytest.fixture
def guest(tmp_path: Path) -> Host:
    return described(GUEST, tmp_path / "guest")


def file_of(host: Host) -> Path:
    path = Path(host.paths.nccl_topology)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def closeness_to(function: str, host: Host) -> dict[str, int]:
    near = Nearness(host)
    (location,) = near.locations([function])
    return {
        nic.name: closeness(location, near.location_of(nic))
        for nic in host.nics
        if nic.name != "lo"
    }


def test_without_a_file_sysfs_counts(guest: Host) -> None:
    expected = dict.fromkeys(("eth1", "eth2", "eth3", "eth4", "eth5"), SAME_ROOT)
    assert expected == closeness_to(GPU, guest)


def test_file_tells_what_is_near(guest: Host) -> None:
    """eth4 is the second function of a slot that the file knows, eth5 is not in the file."""
    file_of(guest).write_text(FILE)
    assert {
        "eth1": SAME_SWITCH,
        "eth2": SAME_SWITCH,
        "eth3": SAME_ROOT,
        "eth4": SAME_ROOT,
        "eth5": SAME_NUMA_NODE,
    } == closeness_to(GPU, guest)
    # A bridge has the same name there: it is another one.
    expected = dict.fromkeys(("eth1", "eth2", "eth3", "eth4", "eth5"), FAR)
    assert expected == closeness_to(OTHER_GPU, guest)


def test_file_of_an_azure_guest(tmp_path: Path) -> None:
    """Hyper-V gives each device a PCI domain: without the file, only NUMA nodes are shared."""
    host = machine("azure-nd", tmp_path)
    near = {name: each for name, each in closeness_to("0002:00:00.0", host).items() if each}
    assert {"ib0": SAME_SWITCH, "ib1": SAME_SWITCH} == {
        name: each for name, each in near.items() if each > SAME_NUMA_NODE
    }
    file_of(host).unlink()
    near = {name: each for name, each in closeness_to("0002:00:00.0", host).items() if each}
    assert {SAME_NUMA_NODE} == set(near.values())
    assert {"ib0", "ib1"} <= near.keys()


def test_numa_node_that_the_file_does_not_know_is_sysfs_own(guest: Host) -> None:
    file_of(guest).write_text(FILE.replace('numaid="0"', 'numaid="-1"'))
    (location,) = Nearness(guest).locations([GPU])
    assert 0 == location.numa


def test_function_that_is_not_on_the_node_is_nowhere(guest: Host) -> None:
    file_of(guest).write_text(FILE.replace("00000000:00:01.0", "0000:00:1f.0"))
    assert [] == Nearness(guest).locations(["0000:00:1f.0"])


def bomb() -> str:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    return f'<!DOCTYPE system [<!ENTITY e0 "x">{entities}]><system>&e9;</system>'


BROKEN = {
    "empty": "",
    "cut off": FILE[:400],
    "no XML": "{}",
    "another root": "<topology><cpu/></topology>",
    "DOCTYPE": FILE.replace("<system version", "<!DOCTYPE system>\n<system version"),
    "external entity": '<!DOCTYPE system [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    "<system>&x;</system>",
    "bomb": bomb(),
    "undefined entity": "<system>&lol;</system>",
    "too deep": "<system><cpu>" + "<pci>" * 63 + "</pci>" * 63 + "</cpu></system>",
    "too long": "<system>" + " " * (4 << 20) + "</system>",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_broken_file_is_ignored(
    guest: Host, content: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file_of(guest).write_text(content)
    assert SAME_ROOT == closeness_to(GPU, guest)["eth5"]
    logged = capfd.readouterr().err
    assert 1 == logged.count("the topology file")
    assert str(file_of(guest)) in logged


def test_file_that_is_a_folder_or_a_fifo(guest: Host, capfd: pytest.CaptureFixture[str]) -> None:
    file_of(guest).mkdir()
    assert SAME_ROOT == closeness_to(GPU, guest)["eth5"]
    file_of(guest).rmdir()
    os.mkfifo(file_of(guest))
    assert SAME_ROOT == closeness_to(GPU, guest)["eth5"]
    assert 2 == capfd.readouterr().err.count("it is no regular file")


@pytest.mark.parametrize(
    "content",
    [
        "<system/>",
        '<system><pci busid="0000:00:01.0"/></system>',  # below no CPU
        '<system><cpu><pci/><pci busid=""/><pci busid="0000:00:01"/></cpu></system>',
        '<system><cpu numaid="0"/><pci busid="0000:00:01.0"/></system>',
    ],
)
def test_file_that_says_nothing(content: str) -> None:
    assert {} == read_topology(content.encode())


def test_first_of_two_places_counts() -> None:
    content = b"""<system>
      <cpu numaid="0"><pci busid="0000:00:01.0"/></cpu>
      <cpu numaid="x"><pci busid="0000:00:01.1"/><pci busid="0000:00:02.0"/></cpu>
    </system>"""
    places = read_topology(content)
    assert {"0000:00:01": 0, "0000:00:02": None} == {slot: at.numa for slot, at in places.items()}


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(TopologyError):
        read_topology(b"\xff\xfe\x00<system/>")
