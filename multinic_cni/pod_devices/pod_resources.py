"""The kubelet's pod-resources socket: what device plugins and DRA drivers have given to pods."""

from __future__ import annotations

import os
import time

from multinic_cni.log import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from multinic_cni.pod_devices.functions import Given
    from multinic_cni.pod_devices.protobuf import Reader

METHOD = "/v1.PodResourcesLister/List"
SECONDS = 1.0  # it holds a pod's start
MOST_BYTES = 4 << 20  # 16 KiB for each of 250 pods
UUID_FIELDS = (8, 4, 4, 4, 12)


def given_by_socket(path: str, namespace: str, name: str) -> list[Given]:
    """Return a pod's devices; none without a name or a socket, and a warning if it fails."""
    if not namespace or not name or not os.path.exists(path):
        return []
    from multinic_cni.pod_devices.grpc import GrpcError, call  # noqa: PLC0415 - if there is one
    from multinic_cni.pod_devices.protobuf import ProtobufError, Reader  # noqa: PLC0415 - the same

    deadline = time.monotonic() + SECONDS
    try:
        answer = call(path, METHOD, deadline=deadline, most=MOST_BYTES)
        return list(_given_to(namespace, name, answer, Reader(deadline)))
    except TimeoutError:
        reason = f"it does not answer within {SECONDS:g} s"
    except OSError as error:
        reason = error.strerror or str(error)
    except (GrpcError, ProtobufError) as error:
        reason = str(error)
    log.warning(f"the kubelet cannot be asked for the pod's devices: {reason}", socket=path)
    return []


def _given_to(namespace: str, name: str, answer: bytes, reader: Reader) -> Iterator[Given]:
    """Read a ListPodResourcesResponse (kubelet, pkg/apis/podresources/v1); raises as the reader."""
    sub_messages, text = reader.sub_messages, reader.text
    for pod in sub_messages(answer, 1):
        if (text(pod, 2), text(pod, 1)) != (namespace, name):
            continue
        for container in sub_messages(pod, 3):
            for devices in sub_messages(container, 2):
                resource = text(devices, 1)
                for device in reader.texts(devices, 2):
                    yield resource, device
            for dynamic in sub_messages(container, 5):
                for claimed in sub_messages(dynamic, 4):
                    yield from _claimed(claimed, reader)


def _claimed(resource: bytes, reader: Reader) -> Iterator[Given]:
    """Return what a claim has allocated: by the driver's name for it, or before 1.34 by CDI's."""
    driver, device = reader.text(resource, 2), reader.text(resource, 4)
    if device:
        yield driver, device
        return
    for cdi in reader.sub_messages(resource, 1):
        # k8s.gpu.nvidia.com/claim=<the claim's UID>-gpu-0
        kind, _, name = reader.text(cdi, 1).partition("=")
        yield kind.partition("/")[0].removeprefix("k8s."), _without_uuid(name)


def _without_uuid(name: str) -> str:
    parts = name.split("-")
    begins = tuple(len(part) for part in parts[: len(UUID_FIELDS)]) == UUID_FIELDS
    return "-".join(parts[len(UUID_FIELDS) :]) if begins and len(parts) > len(UUID_FIELDS) else name
