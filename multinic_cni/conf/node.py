"""/etc/cni/multinic/node.json: what is true of this node alone."""

from __future__ import annotations

from multinic_cni.errors import BAD_CONF, CniError, io_failure
from multinic_cni.jsontext import decode
from multinic_cni.values import Value

PATH = "/etc/cni/multinic/node.json"
KEYS = ("hostIndex", "nodeName")


class Node(Value):
    """The node's own host index, and its name in a conf's `hosts`."""

    host_index: int | None = None
    name: str = ""


def read_node(path: str = PATH) -> Node:
    """Read the file; a missing one says nothing. CniError 5, 6 or 7 for one that is wrong."""
    try:
        with open(path, "rb") as file:
            document = decode(file.read(), path)
    except FileNotFoundError:
        return Node()
    except OSError as error:
        raise io_failure("read the node's file", error) from error
    if not isinstance(document, dict):
        raise CniError(BAD_CONF, f"{path} is not a JSON object")
    unknown = sorted(document.keys() - KEYS)
    if unknown:
        message = f"{path}: unknown keys {', '.join(unknown)}; it may have {', '.join(KEYS)}"
        raise CniError(BAD_CONF, message)
    index = document.get("hostIndex")
    if index is not None and (type(index) is not int or index < 0):
        raise CniError(BAD_CONF, f"{path}: hostIndex must be a whole number from 0, not {index!r}")
    name = document.get("nodeName") or ""
    if not isinstance(name, str):
        raise CniError(BAD_CONF, f"{path}: nodeName must be a string")
    return Node(host_index=index, name=name)
