"""Devices in sysfs: read one attribute at a time, and only when a policy asks for it."""

from __future__ import annotations

from multinic_selectors.attributes import SYSFS, AttributeFiles, split_path
from multinic_selectors.devices import is_auxiliary, is_pci_address
from multinic_selectors.locations import Location
from multinic_selectors.nics import MOST_MEGABITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from multinic_selectors.rdma import RdmaFiles, RdmaPort


class Sysfs(AttributeFiles):
    """A tree with sysfs's layout, the kernel's own or a copy of another node's.

    NICs go by name, PCI functions by address ("0000:3b:00.0", lower case). `indexes` returns those
    that the kernel has for its NICs; what the tree says of a NIC with another one is not believed.
    """

    def __init__(
        self, folder: str = SYSFS, indexes: Callable[[], Mapping[str, int]] | None = None
    ) -> None:
        super().__init__(folder)
        self._indexes = indexes
        self._known_indexes: Mapping[str, int] | None = None
        self._believed: dict[str, bool] = {}
        self._rdma: RdmaFiles | None = None

    def pci_address(self, nic: str) -> str:
        """Return a NIC's PCI function, above virtioN and auxiliary devices; empty if none.

        A NIC on another bus (USB) has none, though its controller is a function.
        """
        # One call instead of a dozen: the text of the link is the NIC's place below its device.
        functions, below = split_path(self._link_text(f"class/net/{nic}"))
        mere_layers = all(_is_virtio(each) or is_auxiliary(each) for each in below[:-2])
        found = functions[-1] if below[-2:] == ["net", nic] and mere_layers else ""
        return found if found and self._is_the_kernels(nic) else ""

    def auxiliary_device(self, nic: str) -> str:
        """Return the auxiliary device that a NIC hangs on (mlx5_core.sf.2); empty if none."""
        _, below = split_path(self._link_text(f"class/net/{nic}"))
        found = next((each for each in below if is_auxiliary(each)), "")
        return found if found and self._is_the_kernels(nic) else ""

    def speed(self, nic: str) -> int | None:
        """Return Mbit/s; None where the driver does not know, or the link is down."""
        number = self._number(f"class/net/{nic}/speed")
        # Some drivers say that they do not know with -1, some with 4294967295.
        is_known = number is not None and 0 < number <= MOST_MEGABITS
        return number if is_known and self._is_the_kernels(nic) else None

    def duplex(self, nic: str) -> str:
        return self._text(f"class/net/{nic}/duplex") if self._is_the_kernels(nic) else ""

    def rdma_ports(self, nic: str) -> Sequence[RdmaPort]:
        """Return the RDMA ports that send by a NIC, a bond's, VLAN's or software device's too."""
        return self._rdma_files.ports(nic) if self._is_the_kernels(nic) else []

    def rdma_ports_of(self, address: str) -> Sequence[RdmaPort]:
        """Return the RDMA ports of a PCI function, which may have no NIC (EFA)."""
        return self._rdma_files.ports_of(address)

    @property
    def _rdma_files(self) -> RdmaFiles:
        if self._rdma is None:
            from multinic_selectors.rdma import RdmaFiles  # noqa: PLC0415 - where RDMA is wanted

            self._rdma = RdmaFiles(self._folder)
        return self._rdma

    def rdma_netns_exclusive(self) -> bool | None:
        """Tell whether each netns has RDMA devices of its own; None without RDMA."""
        word = self._text("module/ib_core/parameters/netns_mode")
        return {"Y": False, "N": True}.get(word)

    def nics(self, device: str) -> list[str]:
        """Return the NICs of a PCI function or an auxiliary device; none if it has none here."""
        if is_pci_address(device):
            folder = f"bus/pci/devices/{device.lower()}"
        elif is_auxiliary(device):
            folder = f"bus/auxiliary/devices/{device}"
        else:
            return []
        # A virtio NIC hangs on the virtioN device below its function.
        below = [f"{folder}/{name}" for name in self._names(folder) if _is_virtio(name)]
        nics = [nic for holder in (folder, *below) for nic in self._names(f"{holder}/net")]
        nics = [nic for nic in nics if self._is_the_kernels(nic)]
        return [nic for nic in nics if not self._is_representor(nic)] if len(nics) > 1 else nics

    def functions(self) -> list[str]:
        """Return the addresses of all PCI functions."""
        return [name for name in self._names("bus/pci/devices") if is_pci_address(name)]

    def exists(self, address: str) -> bool:
        return is_pci_address(address) and bool(self._real_path(f"bus/pci/devices/{address}"))

    def vendor(self, address: str) -> str:
        """Return four hexadecimal digits."""
        return self._digits(f"bus/pci/devices/{address}/vendor", 4)

    def product(self, address: str) -> str:
        """Return four hexadecimal digits."""
        return self._digits(f"bus/pci/devices/{address}/device", 4)

    def device_class(self, address: str) -> str:
        """Return six hexadecimal digits; those of network controllers begin with 02."""
        return self._digits(f"bus/pci/devices/{address}/class", 6)

    def driver(self, nic: str) -> str:
        """Return the driver of the NIC's device: of the function, not of the virtioN on it."""
        address = self.pci_address(nic)
        if address:
            return self.driver_of(address)
        found = self._link_name(f"class/net/{nic}/device/driver")
        return found if found and self._is_the_kernels(nic) else ""

    def driver_of(self, address: str) -> str:
        return self._link_name(f"bus/pci/devices/{address}/driver")

    def physical_function(self, address: str) -> str:
        """Return the function that a VF belongs to; empty for any other."""
        return self._link_name(f"bus/pci/devices/{address}/physfn")

    def virtual_functions(self, address: str) -> list[str]:
        folder = f"bus/pci/devices/{address}"
        numbers = [
            name.removeprefix("virtfn")
            for name in self._names(folder)
            if name.startswith("virtfn") and name[len("virtfn") :].isdecimal()
        ]
        found = (self._link_name(f"{folder}/virtfn{n}") for n in sorted(numbers, key=int))
        return [address for address in found if address]

    def function_of_file(self, name: str) -> str:
        """Return the PCI function of a GPU by its device file (card1); empty if nobody knows it."""
        from multinic_selectors.gpus import GpuFiles  # noqa: PLC0415 - for few devices' names

        return GpuFiles(self._folder).function_of(name)

    def location(self, address: str) -> Location | None:
        """Return where a PCI function is plugged in; None if it is not there."""
        # Here too the link's text says it all, in one call: there may be hundreds of functions.
        path = self._link_text(f"bus/pci/devices/{address}")
        functions, below = split_path(path)
        roots = [part for part in path.split("/") if part.startswith("pci") and ":" in part]
        if not functions or below or not roots:
            return None
        return Location(
            numa=self._numa_node(functions),
            root=roots[0],  # what Intel VMD drives has a second one, below VMD's own function
            bridges=tuple(functions[:-1]),
            address=functions[-1],
        )

    def _numa_node(self, functions: Sequence[str]) -> int | None:
        """Read a function's NUMA node; the firmware may have told that of a bridge above only."""
        for function in reversed(functions):
            number = self._number(f"bus/pci/devices/{function}/numa_node")
            if number is not None and number >= 0:
                return number
        return None

    def _is_the_kernels(self, nic: str) -> bool:
        """Tell whether the tree shows the kernel's NIC, not another netns's of the same name.

        A tree shows the netns of whoever mounted it. One that says no index is taken at its word.
        """
        if self._indexes is None:
            return True
        if nic not in self._believed:
            if self._known_indexes is None:
                self._known_indexes = self._indexes()
            shown = self._number(f"class/net/{nic}/ifindex")
            self._believed[nic] = shown is None or shown == self._known_indexes.get(nic)
        return self._believed[nic]

    def _is_representor(self, nic: str) -> bool:
        """Tell whether a NIC stands for a function of an embedded switch ("pf0vf1", "c1pf0sf2")."""
        port = self._text(f"class/net/{nic}/phys_port_name")
        if port.startswith("c"):
            port = port[1:].lstrip("0123456789")
        return port.startswith("pf")


def _is_virtio(name: str) -> bool:
    return name.startswith("virtio") and name[len("virtio") :].isdecimal()
