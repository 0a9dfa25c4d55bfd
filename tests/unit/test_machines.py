"""The machines of tests/machines: what scripts/sysroot.py writes, and the language they are in."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from multinic_cni.admin.sysroot import host_of_sysroot
from multinic_ipam.networks import split_cidr
from scripts.machines.description import DescriptionError, parse
from scripts.machines.model import Machine
from tests.unit.machines import FOLDER, NAMES, described, machine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from multinic_selectors.nics import Nic

SCRIPT = FOLDER.parent.parent / "scripts/sysroot.py"
ISSUE = {"aws-p5", "azure-nd", "bond-vlans", "dgx-a100", "laptop", "vpc-guest", "vpc-guest-small"}


def by_name(nics: Sequence[Nic]) -> dict[str, Nic]:
    return {nic.name: nic for nic in nics}


def test_machines_that_there_must_be() -> None:
    assert ISSUE <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_tree_are_relative_and_lead_within(tmp_path: Path, name: str) -> None:
    machine(name, tmp_path)
    links = [path for path in tmp_path.rglob("*") if path.is_symlink()]
    assert links
    for link in links:
        assert not os.readlink(link).startswith("/")  # noqa: PTH115 - the text of the link
        assert link.resolve(strict=True).is_relative_to(tmp_path / name)


@pytest.mark.parametrize("name", NAMES)
def test_sysfs_and_the_kernel_tell_the_same(tmp_path: Path, name: str) -> None:
    """Two files are written of each fact; each NIC's device leads back to it."""
    host = machine(name, tmp_path)
    net = tmp_path / name / "sys/class/net"
    assert sorted(nic.name for nic in host.nics) == sorted(each.name for each in net.iterdir())
    for nic in host.nics:
        words = {word: _word(net / nic.name / word) for word in ("address", "ifindex", "mtu")}
        assert {"address": nic.mac, "ifindex": str(nic.index), "mtu": str(nic.mtu)} == words
        assert _word(net / nic.name / "type") == str(nic.medium)
        address = host.sysfs.pci_address(nic.name)
        devices = [address, *(each.name for each in (net / nic.name).glob("device/mlx5_core.sf.*"))]
        own = (net / nic.name / "device").resolve().name
        assert not address or nic.name in host.sysfs.nics(own if ".sf." in own else devices[0])


def _word(file: Path) -> str:
    return file.read_text().strip()


def test_gpus_of_nvidia_have_files_in_proc(tmp_path: Path) -> None:
    machine("dgx-a100", tmp_path)
    gpus = sorted((tmp_path / "dgx-a100/proc/driver/nvidia/gpus").iterdir())
    assert 8 == len(gpus)
    facts = [
        dict(line.split(":", 1) for line in (gpu / "information").read_text().splitlines())
        for gpu in gpus
    ]
    assert [gpu.name for gpu in gpus] == [fact["Bus Location"].strip() for fact in facts]
    assert 8 == len({fact["GPU UUID"] for fact in facts})


def test_other_gpus_have_cards(tmp_path: Path) -> None:
    machine("sriov-host", tmp_path)
    drm = tmp_path / "sriov-host/sys/class/drm"
    devices = {card.name: (card / "device").resolve().name for card in drm.iterdir()}
    assert {"card0": "0000:86:00.0", "renderD128": "0000:86:00.0"} == devices


def test_gpu_server(tmp_path: Path) -> None:
    host = machine("dgx-a100", tmp_path)
    nics = by_name(host.nics)
    assert "dgx-a100" == host.name
    assert ("rail5",) == nics["enp148s0"].altnames
    own = [split_cidr("10.100.5.10/24"), split_cidr("fd00:100:0:5::10/64")]
    assert (own, 9000, True, True, "up") == (
        nics["enp148s0"].addresses,
        nics["enp148s0"].mtu,
        nics["enp148s0"].up,
        nics["enp148s0"].carrier,
        nics["enp148s0"].operstate,
    )
    assert ["enp226s0"] == [nic.name for nic in host.nics if nic.uplink]


def test_bond_with_vlans(tmp_path: Path) -> None:
    nics = by_name(machine("bond-vlans", tmp_path).nics)
    assert ["bond0", "bond0", "", "br0"] == [
        nics[name].enslaved_to for name in ("ens1f0", "ens1f1", "bond0", "bond0.400")
    ]
    assert [("vlan", "bond0")] * 4 == [
        (nics[name].kind, nics[name].stands_on)
        for name in ("bond0.100", "bond0.200", "bond0.300", "bond0.400")
    ]
    uppers = [(upper.name, upper.kind) for upper in nics["bond0"].uppers]
    assert [(f"bond0.{number}", "vlan") for number in (100, 200, 300, 400)] == uppers
    assert "b8:59:9f:00:00:01" == nics["ens1f1"].mac
    assert "b8:59:9f:00:00:02" == nics["ens1f1"].permanent_mac
    assert ("", False, "it has no carrier") == (
        nics["bond0"].permanent_mac,
        nics["eno1"].carrier,
        nics["eno1"].trouble,
    )
    leaves = "the node's IPv4 default route leaves by it"
    assert {"bond0.100": leaves, "bond0": f"{leaves} through bond0.100"} == {
        nic.name: nic.uplink for nic in nics.values() if nic.uplink
    }


def test_laptop(tmp_path: Path) -> None:
    nics = by_name(machine("laptop", tmp_path).nics)
    assert [split_cidr("2001:db8:1::d00d/64")] == nics["wlp1s0"].passing
    assert 4 == len(nics["wlp1s0"].addresses)
    veth = nics["veth1a2b3c4"]
    assert ("veth", "docker0", "") == (veth.kind, veth.enslaved_to, veth.stands_on)
    assert (True, False, 772) == (nics["lo"].loopback, nics["wlp1s0"].loopback, nics["lo"].medium)


def test_infiniband(tmp_path: Path) -> None:
    nics = by_name(machine("azure-nd", tmp_path).nics)
    assert [32, 20] == [nics["ib0"].medium, nics["ib0"].mac.count(":") + 1]


def test_256_nics(tmp_path: Path) -> None:
    description = """
    repeat bus=00+1*256
      root 00{bus}:00 numa=0
        nic 01:00.0 name=eth{bus:d} speed=25000 addr=10.0.{bus:d}.1/24
    """
    host = described(description, tmp_path)
    assert 257 == len(host.nics)
    for number in (0, 99, 255):
        assert f"00{number:02x}:01:00.0" == host.sysfs.pci_address(f"eth{number}")
        assert 25_000 == host.sysfs.speed(f"eth{number}")


# What the language says.


def test_repetition_and_references() -> None:
    lines = parse(
        """
        repeat a=0a,ff b=0..1 c=47+11*2
          nic {a}:{a+b}:{a+1}:{c+10:d} name=x{b} {c}
            vf "{c} d" key="a b=c"
        """
    )
    assert ["0a:0a:0b:87", "ff:100:100:104"] == [line.subject for line in lines]
    assert [{"name": "x0"}, {"name": "x1"}] == [line.words for line in lines]
    assert [("vf", "47 d"), ("vf", "58 d")] == [
        (below.kind, below.subject) for line in lines for below in line.children
    ]
    assert {"key": "a b=c"} == lines[0].children[0].words


def test_text_of_a_file_is_left_as_it_is() -> None:
    (line,) = parse('file etc/x\n    {"a": [\n      {no}\n      "b"]}\n')
    assert '{"a": [\n  {no}\n  "b"]}\n' == line.text


def test_text_of_a_file_may_have_comments_and_empty_lines() -> None:
    first, second = parse("file etc/x\n  # of the file\n\n  a\n\n# of the description\nnode x\n")
    assert ("# of the file\n\na\n", "node") == (first.text, second.kind)


MISTAKES = [
    ("root 0000:00\n  nci 00:03.0 name=eth0", "nci 00:03.0: there are no lines of kind nci"),
    ("root 0000:00\n  vf 00:03.0", "a line of kind vf cannot stand below a root"),
    ("root 0000:00\n  nic 00:03.0 nmae=eth0", "nic 00:03.0: nmae is no word of such a line"),
    ("root 0000:00\n  gpu 00:03.0 name=eth0", "gpu 00:03.0: name is no word of such a line"),
    ("root 0000:00\n  nic 00:03.0\n    junk 1", "there are no lines of kind junk"),
    ("root 0000:00\n  nic 00:03.0\n    gpu 1", "a line of kind gpu cannot stand below a nic"),
    ("root 0000:00\n  gpu 00:03.0\n    gpu 1", "a line of kind gpu cannot stand below a gpu"),
    ("nic - name=eth0 at=x bus=vmbus\n  vf 1", "below a nic that is not on PCI nothing can stand"),
    ("link x mtu=large", "link x: mtu=large is no number"),
    ("link x state=gone", "link x: state is one of up, down, no-carrier"),
    ("link x addr=10.1.0.300/24", "link x: '10.1.0.300/24' does not appear to be"),
    ("file etc/x\nnode y", "file etc/x: no text stands below it"),
    ("repeat 07,0f\n  node x", "repeat 07,0f: a list is to have a name"),
    ("repeat a=x\n  node {a+1}", "{a+1} adds what is no hexadecimal number: node {a+1}"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *MISTAKES,
        ("repeat a=1,2 b=3\n  node {a}", "different lengths"),
        ("node {a}", "no repeat has named a: node {a}"),
        ("link x master=y kind=bond", "no line names the link y"),
        ("vf 00:01.0", "a line of kind vf stands in no place of its own"),
        ('node "x', 'node "x: No closing quotation'),
    ],
)
def test_descriptions_that_say_nothing(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as raised:
        described(text, tmp_path)
    assert message in str(raised.value)


def test_new_machine_takes_ten_lines() -> None:
    text = (FOLDER / "aws-p5.machine").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert 12 >= len(lines)
    assert 32 == sum(each.line.kind == "nic" for each in Machine(parse(text)).netdevs)


@pytest.mark.process
def test_script(tmp_path: Path) -> None:
    words = [sys.executable, str(SCRIPT), str(FOLDER / "laptop.machine"), str(tmp_path)]
    subprocess.run(words, check=True)
    assert "laptop" == host_of_sysroot(str(tmp_path)).name
    missing = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "no.machine"), str(tmp_path / "other")],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (1, "sysroot: ") == (missing.returncode, missing.stderr[:9])
    assert "Traceback" not in missing.stderr
    again = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (1, f"sysroot: {tmp_path} is not empty\n") == (again.returncode, again.stderr)
