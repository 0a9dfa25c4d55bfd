"""NVIDIA's GPUs, as the driver lists them below /proc/driver/nvidia/gpus."""

from __future__ import annotations

import os

from multinic_cni.log import log
from multinic_cni.values import Value
from multinic_selectors.devices import normal_pci_address
from multinic_selectors.foreign_files import read_foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_BYTES = 1 << 16


class _Gpu(Value):
    address: str
    uuid: str
    minor: str
    model: str


class NvidiaGpus:
    """The GPUs of a node, read once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: Sequence[_Gpu] | None = None

    def with_uuid(self, uuid: str) -> str:
        """Return a GPU's PCI address; empty if there is none."""
        return next((gpu.address for gpu in self._gpus if gpu.uuid == uuid.lower()), "")

    def with_minor(self, minor: int | None) -> str:
        """Return the PCI address of /dev/nvidia<minor>; empty if there is none."""
        return next((gpu.address for gpu in self._gpus if gpu.minor == str(minor)), "")

    def model_of(self, address: str) -> str:
        """Return what the driver calls the GPU at a PCI address; empty if there is none."""
        return next((gpu.model for gpu in self._gpus if gpu.address == address), "")

    @property
    def _gpus(self) -> Sequence[_Gpu]:
        if self._known is None:
            self._known = list(self._read())
        return self._known

    def _read(self) -> Iterator[_Gpu]:
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return  # no driver of NVIDIA's
        for name in names:
            path = f"{self._folder}/{name}/information"
            try:
                content = read_foreign(path, MOST_BYTES) or b""
            except OSError as error:
                log.warning(f"a GPU cannot be read: {error.strerror}", file=path)
                continue
            facts = _facts(content.decode("utf-8", "replace"))
            address = normal_pci_address(facts.get("Bus Location", "")) or normal_pci_address(name)
            if address:
                yield _Gpu(
                    address=address,
                    uuid=facts.get("GPU UUID", "").lower(),
                    minor=facts.get("Device Minor", ""),
                    model=facts.get("Model", ""),
                )


def _facts(text: str) -> dict[str, str]:
    """Read lines such as "Bus Location:   0000:07:00.0"."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
