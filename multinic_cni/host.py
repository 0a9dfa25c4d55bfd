"""Facts of the node: its NICs, its devices, its own file, its name, its boot."""

from __future__ import annotations

import os
from _socket import AF_INET, AF_INET6
from errno import EAFNOSUPPORT, EOPNOTSUPP

from multinic_cni.conf.node import PATH, read_node
from multinic_cni.errors import io_failure
from multinic_cni.netlink import Netlink
from multinic_selectors.inventory import inventory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from multinic_cni.conf.node import NodeFile, Paths
    from multinic_cni.messages import Link, Route
    from multinic_selectors.nics import Nic
    from multinic_selectors.sysfs import Sysfs

BOOT_ID = "/proc/sys/kernel/random/boot_id"
VERBS = "/dev/infiniband"  # the files by which programs use RDMA devices


class Host:
    """A node. Each fact is read when it is first asked for, and once.

    `root` is the folder below which its files lie, empty for this node itself; the NICs of another
    one must be given, since no kernel tells them.
    """

    def __init__(
        self, root: str = "", *, nics: Sequence[Nic] | None = None, name: str | None = None
    ) -> None:
        self._root = root
        self._nics = nics
        self._name = name
        self._file: NodeFile | None = None
        self._sysfs: Sysfs | None = None

    @property
    def is_this_node(self) -> bool:
        """Tell whether its pods are here, too: which of them live, only their own node can say."""
        return not self._root

    @property
    def nics(self) -> Sequence[Nic]:
        """The links of the plugin's own netns; CniError 5 if they cannot be read."""
        if self._nics is None:
            self._nics = nics()
        return self._nics

    @property
    def sysfs(self) -> Sysfs:
        if self._sysfs is None:
            from multinic_selectors.attributes import SYSFS  # noqa: PLC0415 - for who asks it
            from multinic_selectors.sysfs import Sysfs  # noqa: PLC0415 - the same

            self._sysfs = Sysfs(f"{self._root}{SYSFS}", self._indexes)
        return self._sysfs

    def _indexes(self) -> Mapping[str, int]:
        return {nic.name: nic.index for nic in self.nics}

    @property
    def has_rdma(self) -> bool:
        """Tell whether programs can use RDMA here, without a look at any device."""
        return os.access(f"{self._root}{VERBS}", os.F_OK)

    @property
    def file(self) -> NodeFile:
        """What node.json says; raises CniError as read_node."""
        if self._file is None:
            self._file = read_node(f"{self._root}{PATH}")
        return self._file

    @property
    def paths(self) -> Paths:
        return self.file.paths.below(self._root) if self._root else self.file.paths

    def speed(self, nic: Nic) -> int | None:
        """Return a NIC's Mbit/s, as node.json or else the kernel says; None if neither knows."""
        return self.file.speeds.get(nic.name) or self.sysfs.speed(nic.name)

    @property
    def name(self) -> str:
        return name() if self._name is None else self._name


def nics() -> list[Nic]:
    """Return the links of the plugin's own netns as NICs; CniError 5 if they cannot be read."""
    try:
        netlink = Netlink()
        try:
            links, addresses = netlink.links(), netlink.addresses()
            routes = [*netlink.default_routes(AF_INET), *_ipv6_routes(netlink)]
        finally:
            netlink.close()
    except OSError as error:
        raise io_failure("list the node's NICs", error) from error
    return inventory(links, addresses, routes)


def links_of_node() -> list[Link]:
    """Return the links of the plugin's own netns as the kernel has them; raises OSError."""
    netlink = Netlink()
    try:
        return netlink.links()
    finally:
        netlink.close()


def _ipv6_routes(netlink: Netlink) -> list[Route]:
    try:
        return netlink.default_routes(AF_INET6)
    except OSError as error:
        if error.errno not in {EAFNOSUPPORT, EOPNOTSUPP}:
            raise
        return []  # the node was booted without IPv6


def boot_id() -> str:
    """Return the kernel's random name of this boot."""
    with open(BOOT_ID, "rb") as file:
        return file.read().decode().strip()


def name() -> str:
    return os.uname().nodename
