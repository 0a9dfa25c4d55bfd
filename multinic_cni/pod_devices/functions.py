"""From the ids of device plugins and DRA drivers to PCI functions.

Each vendor has ids of its own: UUIDs, names of device files, or PCI addresses in some disguise.
"""

from __future__ import annotations

from multinic_cni.log import log
from multinic_cni.pod_devices.nvidia import NvidiaGpus
from multinic_selectors.devices import normal_pci_address
from multinic_selectors.foreign_files import small_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from multinic_cni.host import Host

    # The resource ("nvidia.com/gpu") or the DRA driver ("gpu.nvidia.com"), and its device's id.
    Given = tuple[str, str]

# What plugins append where several pods share a device: NVIDIA and others, AMD.
REPLICAS = ("::", "-slice-")
DIGITS = "0123456789"
DEVICE_FILES = ("card", "renderD", "accel", "amdgpu_xcp_")
NVIDIA_DRIVER, AMD_DRIVER = "gpu.nvidia.com", "gpu.amd.com"
ADDRESS_PARTS = 4


class Functions:
    """Finds functions on one node, whose files are read when the first id needs them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._nvidia = NvidiaGpus(host.paths.nvidia)

    def all_of(self, given: Iterable[Given]) -> list[str]:
        """Return what can be found; GPUs that cannot are in the log."""
        found: dict[str, None] = {}
        for owner, name in given:
            function = self._function(owner, name)
            if function:
                found[function] = None
        return list(found)

    def called(self, name: str) -> str:
        """Return the function that goes by an id of whatever device plugin; empty if none does."""
        return self._function("", name)

    def why_unknown(self, name: str) -> str:
        """Return why nobody here can know an id's function; empty where it could be known."""
        if name.startswith("MIG-") and not _gpu_of(name).startswith("GPU-"):
            return f"the GPU of {name} is not known: only NVIDIA's library knows it"
        return ""

    def _function(self, owner: str, name: str) -> str:
        for separator in REPLICAS:
            name = name.partition(separator)[0]
        address = normal_pci_address(name) or _address_with_dashes(name)
        if address:
            return address
        if name.startswith(("GPU-", "MIG-")):
            return self._by_uuid(name)
        if owner == NVIDIA_DRIVER:
            # Of 2-mig-1g.10gb-0 it is the number that counts: on that GPU it lies.
            number = small_number(name.removeprefix("gpu-").partition("-")[0])
            return self._found(name, self._nvidia.with_minor(number))
        if owner == AMD_DRIVER:
            # gpu-1-129: of card1 and renderD129
            return self._by_file(f"renderD{name.rpartition('-')[2]}")
        file = name.partition("-")[0]  # card0-1 is one of those who share card0
        if file.rstrip(DIGITS) in DEVICE_FILES and file[-1] in DIGITS:
            return self._by_file(file)
        log.debug("a device that is no PCI function, as far as can be seen", id=name, of=owner)
        return ""

    def _by_uuid(self, name: str) -> str:
        why = self.why_unknown(name)
        if why:
            log.warning(why)
            return ""
        gpu = _gpu_of(name)
        return self._found(gpu, self._nvidia.with_uuid(gpu))

    def _by_file(self, name: str) -> str:
        return self._found(name, self._host.sysfs.function_of_file(name))

    def _found(self, name: str, function: str) -> str:
        if not function:
            log.warning(
                f"the pod has {name}, which no PCI function of this node goes by: is its driver"
                " loaded? Its place does not count"
            )
        return function


def _gpu_of(uuid: str) -> str:
    """Return the UUID of a GPU, or of the one that a MIG device's old name begins with."""
    return uuid.removeprefix("MIG-").partition("/")[0]


def _address_with_dashes(name: str) -> str:
    """Read 0000-03-00-0-0x56a0 and pci-0000-03-00-0, as DRA drivers must write an address."""
    parts = name.removeprefix("pci-").split("-")
    if len(parts) < ADDRESS_PARTS:
        return ""
    domain, bus, device, function = parts[:ADDRESS_PARTS]
    return normal_pci_address(f"{domain}:{bus}:{device}.{function}")
