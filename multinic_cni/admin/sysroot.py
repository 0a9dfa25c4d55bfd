"""Another node's NICs and devices, from a folder of its files: what `--sysroot DIR` reads.

Below the folder lie sys/, proc/ and etc/ as far as they were collected, and what the node's kernel
said of its links: ip-link.json (`ip -j -d link`), ip-addr.json (`ip -j addr`) and ip-route.json
(`ip -j route; ip -j -6 route`).
"""

from __future__ import annotations

from multinic_cni.admin.iproute import (
    MALFORMED,
    addresses_of,
    default_routes_of,
    documents_of,
    links_of,
)
from multinic_cni.errors import BAD_CONF, CniError, io_failure
from multinic_cni.host import Host
from multinic_selectors.inventory import inventory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Facts = TypeVar("Facts")

LINKS, ADDRESSES, ROUTES = "ip-link.json", "ip-addr.json", "ip-route.json"
COMMANDS = {
    LINKS: "ip -j -d link",
    ADDRESSES: "ip -j addr",
    ROUTES: "ip -j route; ip -j -6 route",
}
HOSTNAME = "proc/sys/kernel/hostname"
LONGEST_FILE = 64 << 20


def host_of_sysroot(folder: str) -> Host:
    """Return the node of a folder; CniError 5 or 7 says which file is missing or damaged."""
    links = _read(folder, LINKS, links_of)
    addresses = _read(folder, ADDRESSES, addresses_of)
    routes = _read(folder, ROUTES, lambda documents: default_routes_of(documents, links))
    root = folder.rstrip("/") or "/."
    return Host(root, nics=inventory(links, addresses, routes), name=_name(root))


def _read(folder: str, file: str, facts_of: Callable[[list[Any]], Facts]) -> Facts:
    path, command = f"{folder}/{file}", COMMANDS[file]
    try:
        with open(path, "rb") as opened:
            content = opened.read(LONGEST_FILE)
    except FileNotFoundError:
        message = f"no {path}: it is what `{command}` prints on the node"
        raise CniError(BAD_CONF, message) from None
    except OSError as error:
        raise io_failure(f"read {path}", error) from error
    try:
        return facts_of(documents_of(content))
    except MALFORMED as error:
        message = f"{path} is not what `{command}` prints: {type(error).__name__}: {error}"
        raise CniError(BAD_CONF, message) from None


def _name(root: str) -> str:
    """Return the node's own name, the folder's where it has not been collected."""
    try:
        with open(f"{root}/{HOSTNAME}", "rb") as file:
            name = file.read(256).decode("utf-8", "replace").strip()
    except OSError:
        name = ""
    return name or root.rpartition("/")[2]
