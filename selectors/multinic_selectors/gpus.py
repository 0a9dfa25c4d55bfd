"""GPUs in sysfs, by the names of their device files."""

from __future__ import annotations

from multinic_selectors.attributes import AttributeFiles
from multinic_selectors.devices import is_pci_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SUBSYSTEMS = {"card": "drm", "renderD": "drm", "accel": "accel"}
PARTITION = "amdgpu_xcp_"  # and a number: a partition of an AMD GPU, below no function
NODES = "class/kfd/kfd/topology/nodes"
DIGITS = "0123456789"


class GpuFiles(AttributeFiles):
    """The GPUs of sysfs or a copy of it."""

    def function_of(self, name: str) -> str:
        """Return the PCI function behind card1, renderD129, accel0 or amdgpu_xcp_7.

        Empty if there is none.
        """
        kind = name.rstrip(DIGITS)
        if kind == name or "/" in name:
            return ""
        if kind == PARTITION:
            files = self._names(f"devices/platform/{name}/drm")
            renders = (file for file in files if file.startswith("renderD"))
            return next(map(self._by_compute_driver, renders), "")
        subsystem = SUBSYSTEMS.get(kind)
        if subsystem is None:
            return ""
        path = self._real_path(f"class/{subsystem}/{name}/device").split("/")
        functions = [part for part in path if is_pci_address(part)]
        return functions[-1] if functions else self._by_compute_driver(name)

    def _by_compute_driver(self, render: str) -> str:
        """Ask AMD's driver, which lists what computes by the number of its render file."""
        minor = render.removeprefix("renderD")
        for node in self._names(NODES):
            lines = self._content(f"{NODES}/{node}/properties").splitlines()
            facts = {key: value for key, _, value in (line.partition(" ") for line in lines)}
            if facts.get("drm_render_minor") == minor:
                return self._function_at(facts)
        return ""

    def _function_at(self, facts: Mapping[str, str]) -> str:
        domain, place = facts.get("domain", "0"), facts.get("location_id", "")
        if not all(text.isascii() and text.isdecimal() for text in (domain, place)):
            return ""
        # Above its 16 bits, or in some releases in the last of them, is the partition.
        bus, device, function = int(place) >> 8 & 0xFF, int(place) >> 3 & 0x1F, int(place) & 7
        slot = f"{int(domain):04x}:{bus:02x}:{device:02x}"
        candidates = (f"{slot}.{function}", f"{slot}.0")
        there = (each for each in candidates if self._real_path(f"bus/pci/devices/{each}"))
        return next(there, "")
