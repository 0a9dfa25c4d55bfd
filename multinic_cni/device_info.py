"""Device information for who asks for it (Device Information Specification 1.1.0, of the NPWG).

The runtime names a file, which may stand there already: then a device plugin has filled it.
"""

from __future__ import annotations

import os

from multinic_cni.jsontext import encode
from multinic_cni.log import log
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.host import Host

FORMAT = "1.1.0"
FOLDER_MODE, FILE_MODE = 0o755, 0o644  # others read it, too


class DeviceInfo(Value):
    """A document, and the file that is to hold it, below `folder`."""

    folder: str
    path: str
    document: Mapping[str, object]

    def write(self) -> None:
        """Write the file if it is not there; where that fails, the log says so."""
        names = _names_below(self.folder, self.path)
        if not names:
            log.warning(
                f"device information is not written: CNIDeviceInfoFile is not below {self.folder}",
                file=self.path,
            )
            return
        content = encode(self.document).encode()
        try:
            _create(self.folder, names, content)
        except FileExistsError:
            log.debug("device information is there already", file=self.path)
        except OSError as error:
            log.warning(f"device information is not written: {error.strerror}", file=self.path)


def device_info(path: object, host: Host, nic: str, function: str) -> DeviceInfo | None:
    """Say what is known of a NIC that is a PCI function; None if nobody has named a file."""
    if not isinstance(path, str) or not path:
        return None
    facts: dict[str, object] = {"pci-address": function}
    rdma = [port.device for port in host.sysfs.rdma_ports(nic)]
    if rdma:
        facts["rdma-device"] = rdma[0]
    physical = host.sysfs.physical_function(function)
    if physical:
        facts["pf-pci-address"] = physical
    document = {"type": "pci", "version": FORMAT, "pci": facts}
    return DeviceInfo(folder=host.paths.device_info, path=path, document=document)


def _names_below(folder: str, path: str) -> Sequence[str]:
    """Return the names that lead from a folder to a path; none if it is not below the folder."""
    for beginning in (folder, os.path.realpath(folder)):
        names = path.removeprefix(f"{beginning.rstrip('/')}/").split("/")
        if path.startswith("/") and names[0]:
            return () if {"", ".", ".."}.intersection(names) or "\0" in path else names
    return ()


def _create(folder: str, names: Sequence[str], content: bytes) -> None:
    """Create a file; no symbolic link is followed below the folder."""
    *folders, name = names
    try:
        os.makedirs(folder, FOLDER_MODE)
    except FileExistsError:
        pass  # if it is no folder, it cannot be opened as one
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for each in folders:
            below = _sub_folder(descriptor, each)
            os.close(descriptor)
            descriptor = below
        _create_file(descriptor, name, content)
    finally:
        os.close(descriptor)


def _sub_folder(folder: int, name: str) -> int:
    try:
        os.mkdir(name, FOLDER_MODE, dir_fd=folder)
    except FileExistsError:
        pass
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, dir_fd=folder)


def _create_file(folder: int, name: str, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, FILE_MODE, dir_fd=folder)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)
