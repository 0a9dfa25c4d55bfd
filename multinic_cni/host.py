"""Facts of the node: its NICs, its name, its boot."""

from __future__ import annotations

import os
from _socket import AF_INET, AF_INET6
from errno import EAFNOSUPPORT, EOPNOTSUPP

from multinic_cni.errors import io_failure
from multinic_cni.netlink import Netlink
from multinic_selectors.inventory import inventory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.netlink import Link, Route
    from multinic_selectors.nics import Nic

BOOT_ID = "/proc/sys/kernel/random/boot_id"


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
