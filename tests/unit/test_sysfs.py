"""What sysfs says of NICs and their devices; the machines' facts stand in their descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from multinic_selectors.locations import FAR, SAME_NUMA_NODE, SAME_ROOT, SAME_SWITCH
from multinic_selectors.sysfs import Sysfs
from tests.closeness import closeness
from tests.unit.machines import described, machine

if TYPE_CHECKING:
    from pathlib import Path

    from multinic_selectors.locations import Location


def ports(sysfs: Sysfs, nic: str) -> list[tuple[str, int, str]]:
    return [(each.device, each.number, each.state) for each in sysfs.rdma_ports(nic)]


def location(sysfs: Sysfs, address: str) -> Location:
    found = sysfs.location(address)
    assert found is not None
    return found


def test_nic_of_a_gpu_server(tmp_path: Path) -> None:
    sysfs = machine("dgx-a100", tmp_path).sysfs
    assert "0000:8d:00.0" == sysfs.pci_address("enp141s0")
    assert ["enp141s0"] == sysfs.nics("0000:8d:00.0")
    assert ("15b3", "101b", "020000", "mlx5_core") == (
        sysfs.vendor("0000:8d:00.0"),
        sysfs.product("0000:8d:00.0"),
        sysfs.device_class("0000:8d:00.0"),
        sysfs.driver("enp141s0"),
    )
    assert (200_000, "full") == (sysfs.speed("enp141s0"), sysfs.duplex("enp141s0"))
    assert [("mlx5_6", 1, "ACTIVE")] == ports(sysfs, "enp141s0")
    assert False is sysfs.rdma_netns_exclusive()
    where = location(sysfs, "0000:8d:00.0")
    assert (1, "pci0000:80", "0000:8d:00.0") == (where.numa, where.root, where.address)
    assert ("0000:80:01.1", "0000:81:00.0", "0000:82:08.0") == where.bridges


def test_functions_are_all_listed(tmp_path: Path) -> None:
    sysfs = machine("dgx-a100", tmp_path).sysfs
    displays = [each for each in sysfs.functions() if sysfs.device_class(each) == "030200"]
    buses = ("07", "0f", "47", "4e", "87", "90", "b7", "bd")
    assert [f"0000:{bus}:00.0" for bus in buses] == displays
    assert {"nvidia"} == {sysfs.driver_of(each) for each in displays}
    assert 8 == len(displays)
    assert 8 + 2 + 1 == sum(sysfs.device_class(each) == "020000" for each in sysfs.functions())


@pytest.mark.parametrize(
    ("gpu", "nic", "expected"),
    [
        ("07", "0c", SAME_SWITCH + 1),  # the root port, and the switch's own bridge below it
        ("07", "12", SAME_SWITCH + 1),
        ("07", "4b", SAME_NUMA_NODE),
        ("07", "61", SAME_NUMA_NODE),
        ("07", "8d", FAR),
        ("bd", "cc", SAME_SWITCH + 1),
        ("bd", "94", SAME_NUMA_NODE),
        ("bd", "0c", FAR),
    ],
)
def test_closeness_on_a_gpu_server(tmp_path: Path, gpu: str, nic: str, expected: int) -> None:
    sysfs = machine("dgx-a100", tmp_path).sysfs
    one, other = (location(sysfs, f"0000:{bus}:00.0") for bus in (gpu, nic))
    assert expected == closeness(one, other) == closeness(other, one)


def test_network_cards_of_a_cloud(tmp_path: Path) -> None:
    """An EFA's function has an RDMA device and no NIC; the NIC is the ENA's beside it."""
    sysfs = machine("aws-p5", tmp_path).sysfs
    assert [] == sysfs.nics("0000:4f:00.0")
    assert ["enp71s0"] == sysfs.nics("0000:47:00.0")
    assert [] == ports(sysfs, "enp71s0")
    assert None is sysfs.speed("enp71s0")
    gpus = {f"0000:{bus}:00.0" for bus in ("53", "64", "75", "86", "97", "a8", "b9", "ca")}
    assert gpus == {each for each in sysfs.functions() if sysfs.device_class(each) == "030200"}
    assert 64 == sum(sysfs.device_class(each) == "020000" for each in sysfs.functions())
    one, other = location(sysfs, "0000:53:00.0"), location(sysfs, "0000:52:00.0")
    assert SAME_SWITCH + 1 == closeness(one, other)


def test_functions_that_hyper_v_gives_share_a_numa_node_at_most(tmp_path: Path) -> None:
    sysfs = machine("azure-nd", tmp_path).sysfs
    gpu, near, far = (location(sysfs, f"{domain}:00:00.0") for domain in ("0001", "0102", "0103"))
    assert [SAME_NUMA_NODE, FAR] == [closeness(gpu, near), closeness(gpu, far)]
    assert "020700" == sysfs.device_class("0102:00:00.0")
    assert [("mlx5_1", 1, "ACTIVE")] == ports(sysfs, "ib1")
    # Its synthetic NIC is a device of another bus.
    assert ("", "hv_netvsc", 50_000) == (
        sysfs.pci_address("eth0"),
        sysfs.driver("eth0"),
        sysfs.speed("eth0"),
    )


def test_virtio(tmp_path: Path) -> None:
    sysfs = machine("vpc-guest", tmp_path).sysfs
    assert "0000:00:0a.0" == sysfs.pci_address("ens10")
    assert ["ens10"] == sysfs.nics("0000:00:0a.0")
    assert ("1af4", "1000", "virtio-pci") == (
        sysfs.vendor("0000:00:0a.0"),
        sysfs.product("0000:00:0a.0"),
        sysfs.driver("ens10"),
    )
    assert (None, "unknown") == (sysfs.speed("ens10"), sysfs.duplex("ens10"))
    where = location(sysfs, "0000:00:0a.0")
    assert (None, "pci0000:00", ()) == (where.numa, where.root, where.bridges)
    # Its NUMA node is unknown, but its root is that of the others.
    assert SAME_ROOT == closeness(where, location(sysfs, "0000:00:03.0"))


def test_bond_and_its_vlans(tmp_path: Path) -> None:
    """One RDMA device, which hangs on the first port's function, sends by the bond."""
    sysfs = machine("bond-vlans", tmp_path).sysfs
    assert [("mlx5_bond_0", 1, "ACTIVE")] == ports(sysfs, "bond0")
    assert [[], []] == [ports(sysfs, "ens1f0"), ports(sysfs, "ens1f1")]
    assert [[], []] == [ports(sysfs, "bond0.100"), ports(sysfs, "eno1")]
    assert ["", ""] == [sysfs.pci_address("bond0"), sysfs.pci_address("bond0.100")]
    assert ["", ""] == [sysfs.driver("bond0"), sysfs.driver("bond0.100")]
    assert [50_000, None] == [sysfs.speed("bond0"), sysfs.speed("eno1")]
    one, other = location(sysfs, "0000:3b:00.0"), location(sysfs, "0000:3b:00.1")
    assert SAME_SWITCH == closeness(one, other)


def test_addresses_of_vlans_make_them_rdmas_too(tmp_path: Path) -> None:
    sysfs = machine("bond-vlans", tmp_path).sysfs
    ndevs = tmp_path / "bond-vlans/sys/class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs"
    for index, link in ((2, "bond0.100"), (10, "bond0.200")):
        (ndevs / str(index)).write_text(f"{link}\n")
    found = [ports(sysfs, link) for link in ("bond0", "bond0.100", "bond0.200", "bond0.300")]
    assert [[("mlx5_bond_0", 1, "ACTIVE")]] * 3 + [[]] == found


def test_physical_and_virtual_functions(tmp_path: Path) -> None:
    sysfs = machine("sriov-host", tmp_path).sysfs
    virtual = [f"0000:3b:00.{function}" for function in (2, 3, 4, 5)]
    assert virtual == sysfs.virtual_functions("0000:3b:00.0")
    assert ["0000:3b:00.0"] * 4 == [sysfs.physical_function(each) for each in virtual]
    assert [[], ""] == [
        sysfs.virtual_functions("0000:3b:00.1"),
        sysfs.physical_function("0000:3b:00.1"),
    ]
    assert [["ens1f0v0"], ["ens1f0v1"], ["ens1f0v2"], []] == [sysfs.nics(each) for each in virtual]
    assert "vfio-pci" == sysfs.driver_of("0000:3b:00.5")
    assert [("mlx5_3", 1, "ACTIVE")] == ports(sysfs, "ens1f0v1")


def test_virtual_functions_come_by_number(tmp_path: Path) -> None:
    description = """
    root 0000:3a
      nic 3b:00.0 name=pf
        repeat slot=01+1*2
          repeat function=0..7
            vf 3b:{slot}.{function}
    """
    sysfs = described(description, tmp_path).sysfs
    expected = [f"0000:3b:{slot}.{function}" for slot in ("01", "02") for function in range(8)]
    assert expected == sysfs.virtual_functions("0000:3b:00.0")


def test_scalable_function(tmp_path: Path) -> None:
    sysfs = machine("sriov-host", tmp_path).sysfs
    assert "0000:3b:00.1" == sysfs.pci_address("en3b00f1s88")
    assert ["en3b00f1s88"] == sysfs.nics("mlx5_core.sf.2")
    assert ["ens1f1np1"] == sysfs.nics("0000:3b:00.1")
    assert [("mlx5_5", 1, "ACTIVE")] == ports(sysfs, "en3b00f1s88")
    assert "mlx5_core" == sysfs.driver("en3b00f1s88")


def test_two_ports_of_one_function(tmp_path: Path) -> None:
    host = machine("sriov-host", tmp_path)
    assert ["ens5", "ens5d1"] == host.sysfs.nics("0000:87:00.0")
    rdma = tmp_path / "sriov-host/sys/devices/pci0000:85/0000:85:00.0/0000:87:00.0/infiniband"
    for port, state in ((1, "4: ACTIVE"), (2, "1: DOWN")):
        folder = rdma / "mlx4_0" / "ports" / str(port)
        folder.mkdir(parents=True)
        (folder / "state").write_text(f"{state}\n")
    by_class = tmp_path / "sriov-host/sys/class/infiniband/mlx4_0"
    by_class.symlink_to(rdma / "mlx4_0")
    assert [("mlx4_0", 1, "ACTIVE")] == ports(host.sysfs, "ens5")
    assert [("mlx4_0", 2, "DOWN")] == ports(host.sysfs, "ens5d1")


@pytest.mark.parametrize("port", ["pf0vf0", "pf0sf88", "c1pf0vf3", "pf0hpf"])
def test_representors_are_not_the_functions_nic(tmp_path: Path, port: str) -> None:
    """With its embedded switch in charge, a PF has a NIC for each VF, too, that leads to it."""
    description = """
    root 0000:3a
      nic 3b:00.0 name=uplink rdma=mlx5_0
        port name=another
    """
    sysfs = described(description, tmp_path).sysfs
    assert ["another", "uplink"] == sysfs.nics("0000:3b:00.0")
    for nic, name in (("uplink", "p0"), ("another", port)):
        (tmp_path / "sys/class/net" / nic / "phys_port_name").write_text(f"{name}\n")
    assert ["uplink"] == sysfs.nics("0000:3b:00.0")
    assert [("mlx5_0", 1, "ACTIVE")] == ports(sysfs, "uplink")
    assert [] == ports(sysfs, "another")


def test_nic_on_usb_has_no_function_of_its_own(tmp_path: Path) -> None:
    description = """
    root 0000:00
      function 00:14.0 class=0c0330 driver=xhci_hcd
    nic - name=enx1 at=pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0 bus=usb driver=cdc_ether speed=1000
    """
    sysfs = described(description, tmp_path).sysfs
    assert ("", "cdc_ether", 1000) == (
        sysfs.pci_address("enx1"),
        sysfs.driver("enx1"),
        sysfs.speed("enx1"),
    )
    assert [] == sysfs.nics("0000:00:14.0")


def test_software_rdma_sends_by_a_nic_without_hardware(tmp_path: Path) -> None:
    sysfs = machine("laptop", tmp_path).sysfs
    assert [] == ports(sysfs, "wlp1s0")
    rxe = tmp_path / "laptop/sys/devices/virtual/infiniband/rxe0/ports/1"
    (rxe / "gid_attrs/ndevs").mkdir(parents=True)
    (rxe / "state").write_text("4: ACTIVE\n")
    (rxe / "gid_attrs/ndevs/0").write_text("wlp1s0\n")
    (tmp_path / "laptop/sys/class/infiniband").mkdir()
    link = tmp_path / "laptop/sys/class/infiniband/rxe0"
    link.symlink_to("../../devices/virtual/infiniband/rxe0")
    again = Sysfs(str(tmp_path / "laptop/sys"))
    assert [("rxe0", 1, "ACTIVE")] == ports(again, "wlp1s0")
    assert [] == ports(again, "enp0s31f6")


def test_numa_node_of_a_bridge_above_counts(tmp_path: Path) -> None:
    """Firmware may tell it for the bridge alone: -1 is no node."""
    description = """
    root 0000:3a numa=-1
      bridge 3a:00.0 numa=1
        bridge 3b:00.0 numa=-1
          nic 3c:00.0 name=eth0
      nic 3a:01.0 name=eth1
    """
    sysfs = described(description, tmp_path).sysfs
    assert 1 == location(sysfs, "0000:3c:00.0").numa
    assert None is location(sysfs, "0000:3a:01.0").numa


@pytest.mark.parametrize(
    ("mode", "exclusive"),
    [("rdma-netns exclusive", True), ("rdma-netns shared", False), ("", False)],
)
def test_netns_mode_of_rdma(tmp_path: Path, mode: str, *, exclusive: bool) -> None:
    description = f"root 0000:3a\n  nic 3b:00.0 name=eth0 rdma=mlx5_0\n{mode}"
    assert exclusive is described(description, tmp_path).sysfs.rdma_netns_exclusive()


def test_netns_mode_without_rdma(tmp_path: Path) -> None:
    assert None is machine("laptop", tmp_path).sysfs.rdma_netns_exclusive()


def test_disk_behind_intel_vmd(tmp_path: Path) -> None:
    """VMD is a function with a PCI domain of five digits below it, which has a root of its own."""
    vmd = "devices/pci0000:e0/0000:e0:05.5"
    places = {
        "0000:e0:05.5": vmd,
        "10000:e0:01.0": f"{vmd}/pci10000:e0/10000:e0:01.0",
        "10000:e1:00.0": f"{vmd}/pci10000:e0/10000:e0:01.0/10000:e1:00.0",
        "0000:e1:00.0": "devices/pci0000:e0/0000:e0:02.0/0000:e1:00.0",
    }
    folder = tmp_path / "bus/pci/devices"
    folder.mkdir(parents=True)
    for address, place in places.items():
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (folder / address).symlink_to(f"../../../{place}")
    (tmp_path / vmd / "numa_node").write_text("1\n")
    sysfs = Sysfs(str(tmp_path))
    assert sorted(places) == sysfs.functions()
    disk, nic = location(sysfs, "10000:e1:00.0"), location(sysfs, "0000:e1:00.0")
    assert (1, "pci0000:e0", ("0000:e0:05.5", "10000:e0:01.0")) == (
        disk.numa,
        disk.root,
        disk.bridges,
    )
    assert SAME_ROOT == closeness(disk, nic)
