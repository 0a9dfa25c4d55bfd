"""The devices that the kubelet has given to a pod: its GPUs, and what else is plugged in."""

from __future__ import annotations

from multinic_cni.log import log
from multinic_cni.pod_devices.checkpoint import given_by_checkpoint
from multinic_cni.pod_devices.functions import Functions
from multinic_cni.pod_devices.pod_resources import given_by_socket
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from multinic_cni.host import Host

NETWORK_CLASS = "02"


class Pod(Value):
    """A pod by the names that the runtime gives; each may be empty."""

    uid: str = ""
    namespace: str = ""
    name: str = ""


def devices_of_pod(pod: Pod, host: Host) -> Sequence[str]:
    """Return the PCI addresses of a pod's devices that are not NICs; none where nobody knows.

    The kubelet's checkpoint knows what device plugins gave. Only its socket knows of DRA, and of
    pods whose UID the runtime does not say; it is asked where the checkpoint leads to nothing.
    """
    functions = Functions(host)
    given = given_by_checkpoint(host.paths.kubelet_checkpoint, pod.uid)
    found = not_nics(functions.all_of(given), host)
    if not found:
        by_socket = given_by_socket(host.paths.pod_resources, pod.namespace, pod.name)
        more = [each for each in by_socket if each not in given]
        found = not_nics(functions.all_of(more), host)
    if found:
        log.info("the pod's devices", devices=",".join(found))
    return found


def not_nics(functions: Iterable[str], host: Host) -> list[str]:
    """Return those functions that are there and that are no NICs."""
    classes = {function: host.sysfs.device_class(function) for function in functions}
    return sorted(
        function
        for function, device_class in classes.items()
        if device_class and not device_class.startswith(NETWORK_CLASS)
    )
