"""Write a machine's /sys and /proc: the kernel's layout, with relative links as it makes them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from scripts.machines.model import Device, Function, Machine, Netdev, Rdma

CARRIER_OPERSTATES = {"up": "up", "down": "down", "no-carrier": "down"}
LOOPBACK_TYPE, ETHERNET_TYPE, INFINIBAND_TYPE = 772, 1, 32


class Tree:
    """A folder that gets a machine's files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, machine: Machine) -> None:
        for function in machine.functions:
            self._function(function)
        for device in machine.devices:
            self._device(device)
        for function in machine.functions:
            self._virtual_functions(function, machine)
        self._cards(machine)
        for netdev in machine.netdevs:
            self._netdev(netdev)
        for netdev in machine.netdevs:
            self._relations(netdev, machine)
        self._loopback()
        for rdma in machine.rdma:
            self._rdma(rdma)
        if machine.rdma:
            shared = "N" if machine.rdma_netns == "exclusive" else "Y"
            self._file("sys/module/ib_core/parameters/netns_mode", shared)
        for path, text in machine.files.items():
            self._file(path, text.rstrip("\n"))

    def _file(self, path: str, text: object) -> None:
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def _link(self, path: str, target: str) -> None:
        link = self._folder / path
        link.parent.mkdir(parents=True, exist_ok=True)
        (self._folder / target).mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(self._folder / target, link.parent))

    def _function(self, function: Function) -> None:
        path = f"sys/devices/{function.path}"
        words = {
            "vendor": f"0x{function.vendor}",
            "device": f"0x{function.product}",
            "class": f"0x{function.device_class}",
            "numa_node": function.numa,
        }
        for name, text in words.items():
            self._file(f"{path}/{name}", text)
        self._link(f"sys/bus/pci/devices/{function.address}", path)
        self._link(f"{path}/subsystem", "sys/bus/pci")
        if function.driver:
            self._link(f"{path}/driver", f"sys/bus/pci/drivers/{function.driver}")
            self._link(f"sys/bus/pci/drivers/{function.driver}/{function.address}", path)

    def _device(self, device: Device) -> None:
        path = f"sys/devices/{device.path}"
        self._link(f"sys/bus/{device.bus}/devices/{os.path.basename(device.path)}", path)  # noqa: PTH119 - no file's path
        self._link(f"{path}/subsystem", f"sys/bus/{device.bus}")
        self._link(f"{path}/driver", f"sys/bus/{device.bus}/drivers/{device.driver}")

    def _virtual_functions(self, function: Function, machine: Machine) -> None:
        paths = {each.address: f"sys/devices/{each.path}" for each in machine.functions}
        path = paths[function.address]
        for number, address in enumerate(function.virtual):
            self._link(f"{path}/virtfn{number}", paths[address])
        if function.virtual:
            self._file(f"{path}/sriov_numvfs", len(function.virtual))
            self._file(f"{path}/sriov_totalvfs", max(8, len(function.virtual)))
        if function.physical:
            self._link(f"{path}/physfn", paths[function.physical])

    def _cards(self, machine: Machine) -> None:
        """Give NVIDIA's GPUs their files in /proc, and others their cards."""
        displays = [each for each in machine.functions if each.is_display]
        for minor, gpu in enumerate(each for each in displays if each.uuid):
            text = (
                f"Model: \t\t {gpu.model or 'NVIDIA A100-SXM4-40GB'}\nIRQ:   \t\t {100 + minor}\n"
                f"GPU UUID: \t {gpu.uuid}\nVideo BIOS: \t 92.00.19.00.01\nBus Type: \t PCIe\n"
                f"DMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\n"
                f"Bus Location: \t {gpu.address}\nDevice Minor: \t {minor}\nGPU Excluded:\t No"
            )
            self._file(f"proc/driver/nvidia/gpus/{gpu.address}/information", text)
        for number, gpu in enumerate(each for each in displays if not each.uuid):
            path = f"sys/devices/{gpu.path}"
            for card in (f"card{number}", f"renderD{128 + number}"):
                self._link(f"{path}/drm/{card}/device", path)
                self._link(f"sys/class/drm/{card}", f"{path}/drm/{card}")

    def _netdev(self, netdev: Netdev) -> None:
        device = f"sys/devices/{netdev.path}" if netdev.path else "sys/devices/virtual"
        path = f"{device}/net/{netdev.name}"
        words = {
            "address": netdev.mac,
            "carrier": int(netdev.state == "up"),
            "dev_port": netdev.dev_port,
            "duplex": netdev.line.word("duplex", "full" if _speed(netdev) > 0 else "unknown"),
            "ifindex": netdev.index,
            "mtu": netdev.mtu,
            "operstate": CARRIER_OPERSTATES[netdev.state],
            "speed": _speed(netdev),
            "type": INFINIBAND_TYPE if netdev.is_infiniband else ETHERNET_TYPE,
        }
        if netdev.state == "down":  # the kernel refuses to read these then
            del words["speed"], words["duplex"], words["carrier"]
        for name, text in words.items():
            self._file(f"{path}/{name}", text)
        self._link(f"sys/class/net/{netdev.name}", path)
        self._link(f"{path}/subsystem", "sys/class/net")
        if netdev.path:
            self._link(f"{path}/device", device)

    def _relations(self, netdev: Netdev, machine: Machine) -> None:
        here = f"sys/class/net/{netdev.name}"
        own = os.path.relpath((self._folder / here).resolve(), self._folder.resolve())
        upper = netdev.line.word("master")
        if upper:
            above = f"sys/class/net/{machine.netdev(upper).name}"
            target = os.path.relpath((self._folder / above).resolve(), self._folder.resolve())
            self._link(f"{own}/master", target)
            self._link(f"{own}/upper_{upper}", target)
            self._link(f"{target}/lower_{netdev.name}", own)
        lower = netdev.line.word("over")
        if lower:
            below = f"sys/class/net/{machine.netdev(lower).name}"
            target = os.path.relpath((self._folder / below).resolve(), self._folder.resolve())
            self._link(f"{own}/lower_{lower}", target)
            self._link(f"{target}/upper_{netdev.name}", own)

    def _loopback(self) -> None:
        path = "sys/devices/virtual/net/lo"
        words = {"address": "00:00:00:00:00:00", "ifindex": 1, "type": LOOPBACK_TYPE, "mtu": 65536}
        for name, text in words.items():
            self._file(f"{path}/{name}", text)
        self._link("sys/class/net/lo", path)

    def _rdma(self, rdma: Rdma) -> None:
        device = f"sys/devices/{rdma.path}"
        path = f"{device}/infiniband/{rdma.name}"
        self._file(f"{path}/ports/1/state", rdma.state)
        self._file(f"{path}/ports/1/link_layer", "InfiniBand" if rdma.is_infiniband else "Ethernet")
        # Of an InfiniBand port the kernel knows no such link, and refuses to read the file.
        if rdma.ndev and not rdma.is_infiniband:
            self._file(f"{path}/ports/1/gid_attrs/ndevs/0", rdma.ndev)
        self._link(f"{path}/device", device)
        self._link(f"sys/class/infiniband/{rdma.name}", path)


def _speed(netdev: Netdev) -> int:
    known = netdev.state == "up" and netdev.line.word("speed")
    return int(known) if known else -1
