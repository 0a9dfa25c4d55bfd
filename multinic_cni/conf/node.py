"""/etc/cni/multinic/node.json: what is true of this node alone."""

from __future__ import annotations

import os

from multinic_cni.conf.checker import check
from multinic_cni.errors import BAD_CONF, CniError, io_failure
from multinic_cni.jsontext import decode
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from multinic_cni.conf.checker import Schema

PATH = "/etc/cni/multinic/node.json"
MOST_BYTES = 1 << 20


class Paths(Value):
    """Where the node keeps what the plugin only reads; any may be missing.

    Folders: `classes` has files with classes of devices, `health` what probers say of NICs,
    `nvidia` a folder for each GPU; `device_info` is where runtimes want device information.
    """

    classes: str = "/etc/cni/multinic/classes.d"
    health: str = "/run/multinic-cni/health"
    kubelet_checkpoint: str = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
    pod_resources: str = "/var/lib/kubelet/pod-resources/kubelet.sock"
    nvidia: str = "/proc/driver/nvidia/gpus"
    nccl_topology: str = "/var/run/nvidia-topologyd/virtualTopology.xml"
    device_info: str = "/var/run/k8s.cni.cncf.io/devinfo"

    def below(self, root: str) -> Paths:
        """Return the same paths of a node whose files lie in a folder."""
        return Paths(**{field: f"{root}{path}" for field, path in self._items()})


PATH_KEYS = {
    "classes": "classes",
    "health": "health",
    "kubeletCheckpoint": "kubelet_checkpoint",
    "podResources": "pod_resources",
    "nvidia": "nvidia",
    "ncclTopology": "nccl_topology",
    "deviceInfo": "device_info",
}
RAIL: Schema = ("format", "rail")
ADDRESS: Schema = ("format", "ip-address")
PEER: Schema = (
    "object",
    {
        "hostIndex": (False, ("integer", 0, None)),
        "addresses": (True, ("map", ("either", ADDRESS, ("list", ADDRESS, 1, None)))),
    },
    True,
)
SCHEMA: Schema = (
    "object",
    {
        "hostIndex": (False, ("nullable", ("integer", 0, None))),
        "nodeName": (False, ("nullable", ("string",))),
        "rails": (False, ("list", ("either", RAIL, ("list", RAIL, 1, None)), 1, 256)),
        "railPciAddresses": (
            False,
            ("list", ("list", ("format", "pci-address"), 1, None), 1, 256),
        ),
        "peers": (False, ("map", PEER)),
        "keepOnPrimary": (False, ("list", ("format", "cidr"), 0, 256)),
        "speeds": (False, ("map", ("format", "bandwidth"))),
        "paths": (
            False,
            ("object", dict.fromkeys(PATH_KEYS, (False, ("format", "absolute-path"))), True),
        ),
    },
    True,
)


class Peer(Value):
    """Another node: its index, None where the conf's `hosts` has it, and its NICs' addresses.

    `addresses` are by the entry of masterNets, masters or rails that stands for the NIC; the first
    one of each family counts.
    """

    host_index: int | None
    addresses: Mapping[str, Sequence[str]]


class NodeFile(Value):
    """The node's own host index, its name in a conf's `hosts`, its rails, and its paths.

    `speeds` are Mbit/s by NIC, for NICs that do not tell theirs (virtio). `peers` are other nodes
    by name. `keep_on_primary` are networks that pods reach by their primary interface, None where
    the file says nothing of them.
    """

    host_index: int | None = None
    name: str = ""
    rails: Sequence[Sequence[str]] = ()
    speeds: Mapping[str, int] = {}  # never changed: a Value is frozen
    peers: Mapping[str, Peer] = {}  # the same
    keep_on_primary: tuple[str, ...] | None = None
    paths: Paths = Paths()


def read_node(path: str = PATH) -> NodeFile:
    """Read the file; a missing one says nothing. CniError 5, 6 or 7 for one that is wrong."""
    try:
        content = _content(path)
    except OSError as error:
        raise io_failure("read the node's file", error) from error
    if content is None:
        return NodeFile()
    document = decode(content, path)
    problems = check(document, SCHEMA)
    if isinstance(document, dict) and "rails" in document and "railPciAddresses" in document:
        raise CniError(BAD_CONF, f"{path}: rails and railPciAddresses: keep one of them")
    if problems or not isinstance(document, dict):
        raise CniError(BAD_CONF, f"{path}: {'; '.join(map(str, problems))}")
    return _typed(document)


def _content(path: str) -> bytes | None:
    if not os.path.exists(path):
        return None
    from multinic_selectors.foreign_files import read_foreign  # noqa: PLC0415 - where there is one

    return read_foreign(path, MOST_BYTES)


def _typed(document: Mapping[str, Any]) -> NodeFile:
    from multinic_cni.conf.nic_rules import rails_in  # noqa: PLC0415 - for nodes with a file
    from multinic_selectors.bandwidth import parse_bandwidth  # noqa: PLC0415 - the same

    own_paths, keep = document.get("paths") or {}, document.get("keepOnPrimary")
    return NodeFile(
        host_index=document.get("hostIndex"),
        name=document.get("nodeName") or "",
        rails=rails_in(document),
        speeds={nic: parse_bandwidth(text) for nic, text in document.get("speeds", {}).items()},
        peers={node: _peer(peer) for node, peer in document.get("peers", {}).items()},
        keep_on_primary=None if keep is None else tuple(keep),
        paths=Paths(**{PATH_KEYS[key]: path for key, path in own_paths.items()}),
    )


def _peer(words: Mapping[str, Any]) -> Peer:
    addresses = {
        entry: (listed,) if isinstance(listed, str) else tuple(listed)
        for entry, listed in words["addresses"].items()
    }
    return Peer(host_index=words.get("hostIndex"), addresses=addresses)
