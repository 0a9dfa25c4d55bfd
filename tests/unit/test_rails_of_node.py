"""Which NIC of a node is rail k, whatever names it, and what is not certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_ipam.networks import Network
from multinic_selectors.candidates import SelectionError
from multinic_selectors.rails import find_rails
from multinic_selectors.sysfs import Sysfs
from tests.unit.machines import described, machine
from tests.unit.nics import nic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from multinic_cni.host import Host
    from multinic_selectors.rails import Rails

# NICs of a function each: eth0 to eth3 at 01:00.0 to 04:00.0, by two drivers.
FOUR = """
root 0000:00 numa=0
  repeat n=0..3 driver=mlx5_core,mlx5_core,igb,ena
    nic {n+1}:00.0 id=15b3:101b driver={driver} name=eth{n} altnames=en{n},port{n} \
addr=10.{n}.0.5/24,fd00:{n}::5/64
"""


def rails(host: Host, *alternatives: str | Sequence[str]) -> Rails:
    listed = [[each] if isinstance(each, str) else each for each in alternatives]
    return find_rails(listed, host.nics, host.sysfs, Network.parse)


def failure(host: Host, *alternatives: str | Sequence[str]) -> str:
    with pytest.raises(SelectionError) as raised:
        rails(host, *alternatives)
    return str(raised.value)


@pytest.fixture
def four(tmp_path: Path) -> Host:
    return described(FOUR.replace("nic {n+1}", "nic 0{n+1}"), tmp_path)


@pytest.mark.parametrize(
    "texts",
    [
        ("0000:03:00.0", "0000:01:00.0"),
        ("eth2", "eth0"),
        ("en2", "port0"),
        ("et?2", "*[0]"),
        ("driver:igb", "10.0.0.0/24"),
        ("fd00:2::/64", "10.0.0.0/16"),
        ("10.2.0.5/32", "fd00::/33"),
    ],
    ids=["function", "name", "altname", "glob", "driver", "subnet", "single address"],
)
def test_two_rails(four: Host, texts: tuple[str, str]) -> None:
    found = rails(four, *texts)
    assert {"eth2": 0, "eth0": 1} == found.places
    assert [] == found.missing


def test_address_of_a_function_is_read_in_both_cases(tmp_path: Path) -> None:
    host = described("root 0000:3a\n  nic 3b:1f.0 name=eth0", tmp_path)
    assert {"eth0": 0} == rails(host, "0000:3B:1F.0").places


def test_first_alternative_that_is_there_counts(four: Host) -> None:
    found = rails(four, ["0000:99:00.0", "eth9", "eth3", "eth2"], ["driver:igb", "eth3"])
    assert {"eth3": 0, "eth2": 1} == found.places


def test_missing_rails_leave_holes(four: Host) -> None:
    found = rails(four, ["eth9", "driver:bnxt_en"], "eth1", "0000:99:00.0", "10.9.0.0/24")
    assert {"eth1": 1} == found.places
    assert [
        ("rail 0", "this node has no eth9 or driver:bnxt_en"),
        ("rail 2", "this node has no 0000:99:00.0"),
        ("rail 3", "this node has no 10.9.0.0/24"),
    ] == found.missing


def test_no_rails(four: Host) -> None:
    found = rails(four)
    assert ({}, []) == (found.places, found.missing)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("driver:mlx5_core", "eth0, eth1"),
        ("eth*", "eth0, eth1, eth2, eth3"),
        ("10.0.0.0/8", "eth0, eth1, eth2, eth3"),
        ("port[23]", "eth2, eth3"),
    ],
)
def test_rail_that_is_not_one_nic(four: Host, text: str, names: str) -> None:
    message = f"rail 1 is not certain: {text} fits the NICs {names}"
    assert message == failure(four, "eth3", ["eth9", text])


def test_nic_that_is_two_rails(four: Host) -> None:
    assert "NIC eth2 would be rail 0 and rail 2" == failure(four, "en2", "eth1", "0000:03:00.0")


def test_uncertain_alternative_that_is_not_reached(four: Host) -> None:
    assert {"eth0": 0} == rails(four, ["eth0", "eth*"]).places


def test_order_of_nics_does_not_matter(four: Host) -> None:
    texts = [["eth2"], ["0000:01:00.0"], ["driver:ena"]]
    one = find_rails(texts, four.nics, four.sysfs, Network.parse)
    other = find_rails(texts, four.nics[::-1], four.sysfs, Network.parse)
    assert one.places == other.places == {"eth2": 0, "eth0": 1, "eth3": 2}


def test_names_need_no_sysfs(tmp_path: Path) -> None:
    nics = [nic("eth0", "10.1.0.1/24"), nic("eth1", "10.2.0.1/24", altnames=("rail1",))]
    absent = Sysfs(str(tmp_path / "absent"))
    found = find_rails([["rail1"], ["10.1.0.0/24"]], nics, absent, Network.parse)
    assert {"eth1": 0, "eth0": 1} == found.places


def test_function_whose_nic_is_elsewhere_is_missing(four: Host) -> None:
    """Its name may stand in sysfs for a moment; the dump of links decides."""
    nics = [each for each in four.nics if each.name != "eth0"]
    found = find_rails([["0000:01:00.0"], ["eth1"]], nics, four.sysfs, Network.parse)
    assert {"eth1": 1} == found.places
    assert ["rail 0"] == [rail for rail, _ in found.missing]


# On machines.


def test_rails_of_a_gpu_server_by_three_ways(tmp_path: Path) -> None:
    host = machine("dgx-a100", tmp_path)
    buses = ("0c", "12", "4b", "54", "8d", "94", "ba", "cc")
    expected = {f"enp{int(bus, 16)}s0": rail for rail, bus in enumerate(buses)}
    by_function = rails(host, *(f"0000:{bus}:00.0" for bus in buses))
    by_altname = rails(host, *(f"rail{rail}" for rail in range(8)))
    by_subnet = rails(host, *(f"10.100.{rail}.0/24" for rail in range(8)))
    assert expected == by_function.places == by_altname.places == by_subnet.places


def test_one_list_for_two_kinds_of_servers(tmp_path: Path) -> None:
    """Alternatives of one conf: the NICs of the first kind sit elsewhere than the second's."""
    alternatives = [
        ["0000:0c:00.0", "0000:3b:00.0"],
        ["0000:8d:00.0", "driver:mlx4_core", "ens5"],
    ]
    host = machine("dgx-a100", tmp_path)
    assert {"enp12s0": 0, "enp141s0": 1} == rails(host, *alternatives).places
    other = machine("sriov-host", tmp_path)
    # The second kind's driver has two ports on its function.
    assert "driver:mlx4_core fits the NICs ens5, ens5d1" in failure(other, *alternatives)
    alternatives[1].remove("driver:mlx4_core")
    assert {"ens1f0np0": 0, "ens5": 1} == rails(other, *alternatives).places


def test_function_with_two_ports_is_no_rail(tmp_path: Path) -> None:
    host = machine("sriov-host", tmp_path)
    message = "rail 0 is not certain: 0000:87:00.0 fits the NICs ens5, ens5d1"
    assert message == failure(host, "0000:87:00.0")


def test_virtual_and_scalable_functions_are_no_part_of_their_pf(tmp_path: Path) -> None:
    host = machine("sriov-host", tmp_path)
    found = rails(host, "0000:3b:00.0", "0000:3b:00.3", "0000:3b:00.1", "0000:3b:00.5")
    assert {"ens1f0np0": 0, "ens1f0v1": 1, "ens1f1np1": 2} == found.places
    assert [("rail 3", "this node has no 0000:3b:00.5")] == found.missing


def test_representors_do_not_make_a_rail_uncertain(tmp_path: Path) -> None:
    host = machine("sriov-host", tmp_path)
    net = tmp_path / "sriov-host/sys/class/net"
    for name, port in (("ens5", "p0"), ("ens5d1", "pf0vf0")):
        (net / name / "phys_port_name").write_text(f"{port}\n")
    assert {"ens5": 0} == rails(host, "0000:87:00.0").places


def test_subnet_of_a_vlan_is_the_vlan(tmp_path: Path) -> None:
    host = machine("bond-vlans", tmp_path)
    assert {"bond0.300": 0, "bond0.200": 1} == rails(host, "10.3.0.0/24", "10.2.0.0/24").places


def test_virtio_by_driver_is_not_certain(tmp_path: Path) -> None:
    host = machine("vpc-guest-small", tmp_path)
    assert "fits the NICs ens3, ens4" in failure(host, "driver:virtio-pci")


def test_infiniband_virtual_functions_of_a_cloud(tmp_path: Path) -> None:
    host = machine("azure-nd", tmp_path)
    functions = [f"010{number}:00:00.0" for number in range(1, 9)]
    assert {f"ib{rail}": rail for rail in range(8)} == rails(host, *functions).places


def test_256_rails(tmp_path: Path) -> None:
    description = """
    repeat bus=00+1*256
      root 00{bus}:00
        nic 01:00.0 name=eth{bus:d}
    """
    host = described(description, tmp_path)
    found = rails(host, *(f"00{bus:02x}:01:00.0" for bus in range(255, -1, -1)))
    assert {f"eth{bus}": 255 - bus for bus in range(256)} == found.places


@pytest.mark.parametrize("name", ["e*0", "et?0", "[x]", "driver", "\udc80", "\u00fc"])
def test_odd_names(tmp_path: Path, name: str) -> None:
    nics = [nic("eth0", "10.1.0.1/24"), nic(name, "10.2.0.1/24")]
    found = find_rails([[name], ["10.1.0.0/24"]], nics, Sysfs(str(tmp_path)), Network.parse)
    assert {name: 0, "eth0": 1} == found.places
