"""A described machine: its PCI functions and its network interfaces.

| line | what it says |
|---|---|
| `node NAME` | the machine's name |
| `root 0000:00 numa=0 at=FOLDER` | a host bridge, below a folder of /sys/devices |
| `bridge ADDRESS id=1000:c010` | a bridge; what is below it, is indented |
| `gpu`, `function ADDRESS id= class= driver= uuid= model=` | a function without a NIC |
| `nic ADDRESS …` | a function with a NIC, or `nic - at=FOLDER driver=` a device without PCI |
| below a nic: `vf ADDRESS …`, `port …`, `sf NUMBER …` | its VFs, further ports, auxiliary devices |
| `link NAME kind=bond …` | a link without a device |
| `default GATEWAY dev=NAME metric=` | a default route |
| `rdma-netns exclusive` | the mode of RDMA devices; else shared |
| `file PATH` | a file of the node, with the text below |

A NIC's words: name, altnames, mac, permaddr, mtu, speed, duplex, state (up, down or no-carrier),
addr, master, over (the link below), peer (a veth's), mode, medium (infiniband), virtio (its
number), rdma (its RDMA device), rdma-state, ndev (the link that the RDMA device sends by). `addr`
lists addresses with their prefix lengths; "*" after one marks it as secondary.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scripts.machines.description import DescriptionError
from scripts.machines.words import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.machines.description import Line

ETHERNET, DISPLAY_3D, BRIDGE, IB = "020000", "030200", "060400", "020700"
NVIDIA = "10de"


@dataclass
class Function:
    """A PCI function; `path` is its folder below /sys/devices."""

    address: str
    path: str
    vendor: str
    product: str
    device_class: str
    driver: str
    numa: str
    physical: str = ""
    virtual: list[str] = field(default_factory=list)
    uuid: str = ""
    model: str = ""

    @property
    def is_display(self) -> bool:
        return self.device_class.startswith("03")


@dataclass
class Rdma:
    """An RDMA device with one port, in the folder of its parent."""

    name: str
    path: str
    state: str
    is_infiniband: bool
    ndev: str


@dataclass
class Netdev:
    """A network interface; `path` is its device's folder below /sys/devices, if it has one."""

    index: int
    name: str
    line: Line
    path: str = ""
    dev_port: int = 0

    @property
    def state(self) -> str:
        return self.line.word("state", "up")

    @property
    def is_infiniband(self) -> bool:
        return self.line.word("medium") == "infiniband"

    @property
    def kind(self) -> str:
        return self.line.word("kind")

    @property
    def mac(self) -> str:
        octets = 20 if self.is_infiniband else 6
        number = f"{0x02 << 8 * (octets - 1) | self.index:0{2 * octets}x}"
        return self.line.word(
            "mac", ":".join(number[at : at + 2] for at in range(0, len(number), 2))
        )

    @property
    def mtu(self) -> int:
        return int(self.line.word("mtu", "2044" if self.is_infiniband else "1500"))


@dataclass
class Device:
    """A device that is no PCI function: a folder with a driver of a bus."""

    path: str
    bus: str
    driver: str


class Machine:
    """Everything that a description says, in its order; raises DescriptionError."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.name = "node"
        self.functions: list[Function] = []
        self.devices: list[Device] = []
        self.netdevs: list[Netdev] = []
        self.rdma: list[Rdma] = []
        self.defaults: list[Line] = []
        self.files: dict[str, str] = {}
        self.rdma_netns = ""
        check(lines)
        for line in lines:
            self._take(line)

    def netdev(self, name: str) -> Netdev:
        for each in self.netdevs:
            if each.name == name:
                return each
        message = f"no line names the link {name}"
        raise DescriptionError(message)

    def _take(self, line: Line) -> None:
        match line.kind:
            case "node":
                self.name = line.subject
            case "root":
                at = f"{line.word('at')}/" if line.word("at") else ""
                self._below(line, f"{at}pci{line.subject}", line.word("numa", "-1"))
            case "nic":
                self.devices.append(Device(line.word("at"), line.word("bus"), line.word("driver")))
                self._add_netdev(line, line.word("at"))
            case "link":
                self._add_netdev(line, "")
            case "default":
                self.defaults.append(line)
            case "rdma-netns":
                self.rdma_netns = line.subject
            case _:  # a file: what else there may be, has been checked
                self.files[line.subject] = line.text

    def _below(self, parent: Line, path: str, numa: str, domain: str = "") -> None:
        domain = domain or parent.subject.partition(":")[0]
        for line in parent.children:
            numa_here = line.word("numa", numa)
            function = self._function(line, path, numa_here, domain)
            if line.kind == "nic":
                self._nic(line, function, path)
            elif line.kind == "bridge":
                self._below(line, function.path, numa_here, domain)

    def _function(self, line: Line, path: str, numa: str, domain: str) -> Function:
        classes = {"bridge": BRIDGE, "gpu": DISPLAY_3D, "nic": ETHERNET, "vf": ETHERNET}
        drivers = {"bridge": "pcieport", "gpu": "nvidia"}
        address = line.subject if line.subject.count(":") > 1 else f"{domain}:{line.subject}"
        device_class = IB if line.word("medium") == "infiniband" else classes.get(line.kind, "")
        vendor, _, product = line.word("id", "8086:0000").partition(":")
        made = Function(
            address=address,
            path=f"{path}/{address}",
            vendor=vendor,
            product=product,
            device_class=line.word("class", device_class),
            driver=line.word("driver", drivers.get(line.kind, "")),
            numa=numa,
            uuid=line.word("uuid"),
            model=line.word("model"),
        )
        if made.is_display and vendor == NVIDIA and not made.uuid:
            made.uuid = f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{self.name} {address}')}"
        self.functions.append(made)
        return made

    def _nic(self, line: Line, function: Function, bus: str) -> None:
        self._add_netdev(line, self._holder(line, function))
        for below in line.children:
            if below.kind == "vf":
                virtual = self._function(below, bus, function.numa, function.address[:4])
                virtual.physical = function.address
                function.virtual.append(virtual.address)
                self._add_netdev(below, self._holder(below, virtual))
            elif below.kind == "sf":
                path = f"{function.path}/mlx5_core.sf.{below.subject}"
                self.devices.append(Device(path, "auxiliary", "mlx5_core.sf"))
                self._add_netdev(below, path)
            else:
                self._add_netdev(below, function.path)

    def _holder(self, line: Line, function: Function) -> str:
        """Return the folder that holds the NIC: a virtio device's, or the function's own."""
        if not line.word("virtio"):
            return function.path
        path = f"{function.path}/virtio{line.word('virtio')}"
        self.devices.append(Device(path, "virtio", "virtio_net"))
        return path

    def _add_netdev(self, line: Line, path: str) -> None:
        name = line.word("name", line.subject if line.kind == "link" else "")
        if name:
            port = int(line.word("dev-port", "1" if line.kind == "port" else "0"))
            self.netdevs.append(Netdev(len(self.netdevs) + 2, name, line, path, port))
        if line.word("rdma"):
            self.rdma.append(
                Rdma(
                    name=line.word("rdma"),
                    path=path,
                    state=line.word("rdma-state", "4: ACTIVE"),
                    is_infiniband=line.word("medium") == "infiniband",
                    ndev=line.word("ndev", name),
                )
            )
