"""The kubelet's checkpoint of what device plugins have given to pods."""

from __future__ import annotations

from multinic_cni.errors import CniError
from multinic_cni.jsontext import parse
from multinic_cni.log import log
from multinic_selectors.foreign_files import read_foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_cni.pod_devices.functions import Given

MOST_BYTES = 4 << 20  # 16 KiB for each of 250 pods


def given_by_checkpoint(path: str, pod_uid: str) -> list[Given]:
    """Return a pod's devices; none without a UID or a file, and with a warning if it is broken."""
    if not pod_uid:
        return []
    try:
        content = read_foreign(path, MOST_BYTES)
        document = None if content is None else parse(content, path)
    except OSError as error:
        log.warning(f"the kubelet's checkpoint cannot be read: {error.strerror}", file=path)
        return []
    except CniError as error:
        log.warning(f"the kubelet's checkpoint cannot be read: {error.message}")
        return []
    return [
        (_text(entry.get("ResourceName")), device)
        for entry in _entries(document)
        if entry.get("PodUID") == pod_uid
        for device in _devices(entry.get("DeviceIDs"))
    ]


def _entries(document: object) -> Iterator[dict[str, object]]:
    data = document.get("Data") if isinstance(document, dict) else None
    entries = data.get("PodDeviceEntries") if isinstance(data, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            yield entry


def _devices(listed: object) -> Iterator[str]:
    """Return ids: by NUMA node, or before Kubernetes 1.20 in one list."""
    for ids in listed.values() if isinstance(listed, dict) else [listed]:
        for each in ids if isinstance(ids, list) else ():
            if _text(each):
                yield each


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
