"""RDMA devices in sysfs: which of their ports send by a NIC."""

from __future__ import annotations

from multinic_selectors.attributes import AttributeFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


DEFAULT = "0"  # the place of a port's default address, which is of the link that it sends by
LOWER = "lower_"  # begins the names of a link's entries for those that it stands on


class RdmaPort:
    """A port of an RDMA device that belongs to a NIC; `state` is the kernel's ("ACTIVE")."""

    __slots__ = ("device", "number", "state")

    def __init__(self, device: str, number: int, state: str) -> None:
        self.device = device
        self.number = number
        self.state = state


class RdmaFiles(AttributeFiles):
    """The RDMA devices of sysfs or a copy of it.

    A port's table of addresses names links of pods, too, by names that pods choose. So only its
    first entry is believed, the default address, and what stands on that link in this netns.
    """

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self._known_ports_by_link: dict[str, list[tuple[str, int]]] | None = None

    def ports(self, nic: str) -> Sequence[RdmaPort]:
        """Return the RDMA ports that send by a NIC, a bond's, VLAN's or software device's too."""
        return [
            RdmaPort(device, port, self._port_state(device, port))
            for device, port in self._own_ports(nic) or self._ports_below(nic)
        ]

    def ports_of(self, address: str) -> Sequence[RdmaPort]:
        """Return the RDMA ports of a PCI function, which may have no NIC (EFA)."""
        return [
            RdmaPort(device, int(port), self._port_state(device, int(port)))
            for device in self._names(f"bus/pci/devices/{address}/infiniband")
            for port in self._names(f"class/infiniband/{device}/ports")
            if port.isdecimal()
        ]

    def _own_ports(self, nic: str) -> Sequence[tuple[str, int]]:
        number = (self._number(f"class/net/{nic}/dev_port") or 0) + 1
        own = self._names(f"class/net/{nic}/device/infiniband")
        ports = [(device, number) for device in own if self._serves(device, number, nic)]
        return ports or self._ports_by_link.get(nic, [])

    def _ports_below(self, nic: str) -> list[tuple[str, int]]:
        """Return the ports by which a VLAN sends: its link's, if it has an address among theirs."""
        names = self._names(f"class/net/{nic}")
        below = [name.removeprefix(LOWER) for name in names if name.startswith(LOWER)]
        return [
            (device, port)
            for link in below
            for device, port in self._own_ports(link)
            if nic in self._links_of_port(device, port)
        ]

    def _serves(self, device: str, number: int, nic: str) -> bool:
        """Tell whether a port of a NIC's own device sends by it, and not by its bond, say."""
        if str(number) not in self._names(f"class/infiniband/{device}/ports"):
            return False
        if self._text(f"class/infiniband/{device}/ports/{number}/link_layer") == "InfiniBand":
            return True
        return self._link_of_port(device, number, DEFAULT) in {"", nic}

    @property
    def _ports_by_link(self) -> dict[str, list[tuple[str, int]]]:
        """The ports of all RDMA devices by the link of their default address."""
        if self._known_ports_by_link is None:
            found: dict[str, list[tuple[str, int]]] = {}
            for device in self._names("class/infiniband"):
                for port in filter(str.isdecimal, self._names(f"class/infiniband/{device}/ports")):
                    link = self._link_of_port(device, int(port), DEFAULT)
                    if link and self._is_here(device, link):
                        found.setdefault(link, []).append((device, int(port)))
            self._known_ports_by_link = found
        return self._known_ports_by_link

    def _is_here(self, device: str, link: str) -> bool:
        """Tell whether the link by which a device sends is of this netns: a bond of its NIC's.

        The NIC may be in a pod, under any name. A device in software has none, and would have gone.
        """
        hardware = f"class/infiniband/{device}/device"
        nics = self._names(f"{hardware}/net")
        return not self._names(hardware) or any(
            f"{LOWER}{nic}" in self._names(f"class/net/{link}") for nic in nics
        )

    def _links_of_port(self, device: str, port: int) -> set[str]:
        """Name all links with addresses of a port: hundreds of files, most of them empty."""
        indexes = self._names(f"class/infiniband/{device}/ports/{port}/gid_attrs/ndevs")
        return {self._link_of_port(device, port, index) for index in indexes}

    def _link_of_port(self, device: str, port: int, index: str) -> str:
        return self._content(f"class/infiniband/{device}/ports/{port}/gid_attrs/ndevs/{index}")

    def _port_state(self, device: str, number: int) -> str:
        # "4: ACTIVE"
        return self._text(f"class/infiniband/{device}/ports/{number}/state").rpartition(": ")[2]
