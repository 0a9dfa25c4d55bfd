"""RDMA devices in sysfs: which of their ports send by a NIC."""

from __future__ import annotations

from multinic_selectors.attributes import AttributeFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class RdmaPort:
    """A port of an RDMA device that belongs to a NIC; `state` is the kernel's ("ACTIVE")."""

    __slots__ = ("device", "number", "state")

    def __init__(self, device: str, number: int, state: str) -> None:
        self.device = device
        self.number = number
        self.state = state


class RdmaFiles(AttributeFiles):
    """The RDMA devices of sysfs or a copy of it."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self._known_ports_by_link: dict[str, list[tuple[str, int]]] | None = None

    def ports(self, nic: str) -> Sequence[RdmaPort]:
        """Return the RDMA ports that send by a NIC, a bond's, VLAN's or software device's too."""
        number = (self._number(f"class/net/{nic}/dev_port") or 0) + 1
        own = self._names(f"class/net/{nic}/device/infiniband")
        ports = [(device, number) for device in own if self._serves(device, number, nic)]
        return [
            RdmaPort(device, port, self._port_state(device, port))
            for device, port in ports or self._ports_by_link.get(nic, [])
        ]

    def ports_of(self, address: str) -> Sequence[RdmaPort]:
        """Return the RDMA ports of a PCI function, which may have no NIC (EFA)."""
        return [
            RdmaPort(device, int(port), self._port_state(device, int(port)))
            for device in self._names(f"bus/pci/devices/{address}/infiniband")
            for port in self._names(f"class/infiniband/{device}/ports")
            if port.isdecimal()
        ]

    def _serves(self, device: str, number: int, nic: str) -> bool:
        """Tell whether a port of a NIC's own device sends by it, and not by its bond, say."""
        if str(number) not in self._names(f"class/infiniband/{device}/ports"):
            return False
        if self._text(f"class/infiniband/{device}/ports/{number}/link_layer") == "InfiniBand":
            return True
        others = False
        for link in self._links_of_port(device, str(number)):
            if link == nic:
                return True
            others = True
        return not others

    @property
    def _ports_by_link(self) -> dict[str, list[tuple[str, int]]]:
        """The ports of all RDMA devices; it takes reading hundreds of files, and is done once."""
        if self._known_ports_by_link is None:
            found: dict[str, list[tuple[str, int]]] = {}
            for device in self._names("class/infiniband"):
                for port in filter(str.isdecimal, self._names(f"class/infiniband/{device}/ports")):
                    for link in set(self._links_of_port(device, port)):
                        found.setdefault(link, []).append((device, int(port)))
            self._known_ports_by_link = found
        return self._known_ports_by_link

    def _links_of_port(self, device: str, port: str) -> Iterator[str]:
        """Name the links that a port sends by; the first is that of its default address."""
        folder = f"class/infiniband/{device}/ports/{port}/gid_attrs/ndevs"
        indexes = [name for name in self._names(folder) if name.isdecimal()]
        for index in sorted(indexes, key=int):
            link = self._content(f"{folder}/{index}")
            if link:
                yield link

    def _port_state(self, device: str, number: int) -> str:
        # "4: ACTIVE"
        return self._text(f"class/infiniband/{device}/ports/{number}/state").rpartition(": ")[2]
