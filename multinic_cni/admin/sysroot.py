"""Another node's NICs and devices, from a folder of its files: what `--sysroot DIR` reads.

Below the folder lie sys/, proc/ and etc/ as far as they were collected, and what the node's kernel
said of its links: ip-link.json (`ip -j -d link`), ip-addr.json (`ip -j addr`) and ip-route.json
(`ip -j route; ip -j -6 route`).
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_ISREG

from multinic_cni.admin.iproute import (
    MALFORMED,
    addresses_of,
    default_routes_of,
    documents_of,
    links_of,
)
from multinic_cni.errors import BAD_CONF, CniError, io_failure
from multinic_cni.host import Host
from multinic_selectors.foreign_files import read_foreign
from multinic_selectors.inventory import inventory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Facts = TypeVar("Facts")

COPIED = "trees of scripts/collect.sh have no such thing; copy them with `cp -a` or tar"
LINKS, ADDRESSES, ROUTES = "ip-link.json", "ip-addr.json", "ip-route.json"
COMMANDS = {
    LINKS: "ip -j -d link",
    ADDRESSES: "ip -j addr",
    ROUTES: "ip -j route; ip -j -6 route",
}
HOSTNAME = "proc/sys/kernel/hostname"
LONGEST_FILE = 64 << 20
LONGEST_NAME = 256


def host_of_sysroot(folder: str) -> Host:
    """Return the node of a folder; CniError 5 or 7 says which file is missing or damaged."""
    refuse_ways_out(folder)
    links = _read(folder, LINKS, links_of)
    addresses = _read(folder, ADDRESSES, addresses_of)
    routes = _read(folder, ROUTES, lambda documents: default_routes_of(documents, links))
    root = folder.rstrip("/") or "/."
    return Host(root, nics=inventory(links, addresses, routes), name=_name(root))


def refuse_ways_out(folder: str) -> None:
    """Raise CniError 7 for what a collected tree never has: a link to elsewhere, a device, a FIFO.

    Whoever made the tree is not to choose which other files are read here, and nothing may wait
    for a writer. In the root folder nothing leads elsewhere.
    """
    root = os.path.realpath(folder)
    if root == "/":
        return
    for path, folders, files in os.walk(root):
        for name in (*folders, *files):
            own = f"{path}/{name}"
            mode = os.lstat(own).st_mode
            if S_ISLNK(mode):
                target = os.path.realpath(own)
                if not f"{target}/".startswith(f"{root}/"):
                    raise CniError(BAD_CONF, f"{own} leads out of {folder}, to {target}", COPIED)
            elif not S_ISREG(mode) and not S_ISDIR(mode):
                raise CniError(BAD_CONF, f"{own} is no file, folder or link", COPIED)


def _read(folder: str, file: str, facts_of: Callable[[list[Any]], Facts]) -> Facts:
    path, command = f"{folder}/{file}", COMMANDS[file]
    try:
        content = read_foreign(path, LONGEST_FILE)
    except OSError as error:
        raise io_failure(f"read {path}", error) from error
    if content is None:
        message = f"no {path}: it is what `{command}` prints on the node"
        raise CniError(BAD_CONF, message)
    try:
        return facts_of(documents_of(content))
    except MALFORMED as error:
        message = f"{path} is not what `{command}` prints: {type(error).__name__}: {error}"
        raise CniError(BAD_CONF, message) from None


def _name(root: str) -> str:
    """Return the node's own name, the folder's where it has not been collected."""
    try:
        name = read_foreign(f"{root}/{HOSTNAME}", LONGEST_NAME) or b""
    except OSError:
        name = b""
    return name.decode("utf-8", "replace").strip() or root.rpartition("/")[2]
