"""Where devices and NICs are plugged in: by the hypervisor's topology file, else by sysfs."""

from __future__ import annotations

from multinic_cni.log import log
from multinic_selectors.foreign_files import read_foreign
from multinic_selectors.locations import Location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.host import Host
    from multinic_cni.nccl_topology import Place
    from multinic_selectors.nics import Nic

MOST_BYTES = 4 << 20


class Nearness:
    """Locations on one node.

    The file names roots and bridges of its own, so that a function which it knows and one that
    sysfs alone knows are never nearer than by their NUMA nodes.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known_places: Mapping[str, Place] | None = None

    def locations(self, addresses: Sequence[str]) -> list[Location]:
        """Return the locations of PCI functions; those that are not there are left out."""
        found = (self._location(address) for address in addresses)
        return [location for location in found if location is not None]

    def location_of(self, nic: Nic) -> Location | None:
        address = self._host.sysfs.pci_address(nic.name)
        return self._location(address) if address else None

    def _location(self, address: str) -> Location | None:
        by_sysfs = self._host.sysfs.location(address)
        if by_sysfs is None or not self._places:
            return by_sysfs
        from multinic_cni.nccl_topology import slot_of  # noqa: PLC0415 - where there is a file

        place = self._places.get(slot_of(by_sysfs.address))
        if place is None:
            return by_sysfs
        return Location(
            address=by_sysfs.address,
            numa=by_sysfs.numa if place.numa is None else place.numa,
            root=place.root,
            bridges=place.bridges,
        )

    @property
    def _places(self) -> Mapping[str, Place]:
        if self._known_places is None:
            self._known_places = self._read_places()
        return self._known_places

    def _read_places(self) -> Mapping[str, Place]:
        path = self._host.paths.nccl_topology
        try:
            content = read_foreign(path, MOST_BYTES)
        except OSError as error:
            log.warning(f"the topology file cannot be read: {error.strerror}", file=path)
            return {}
        if content is None:
            return {}
        from multinic_cni.nccl_topology import TopologyError, read_topology  # noqa: PLC0415 - same

        try:
            return read_topology(content)
        except TopologyError as error:
            log.warning(f"the topology file is ignored: {error}", file=path)
            return {}
