"""Pods that ask for addresses or a MAC, through each of the ways in which runtimes send them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.pytest_netns import Attachment, Document, Namespace, Runtime

SOURCES = ["runtimeConfig", "CNI_ARGS", "args.cni"]


def asking(
    runtime: Runtime,
    pod: Namespace,
    conf: Document,
    *ips: str,
    mac: str = "",
    sources: tuple[str, ...] = ("args.cni",),
) -> Attachment:
    """Return an attachment whose runtime sends a pod's requests from these sources."""
    asked: dict[str, Any] = ({"ips": [*ips]} if ips else {}) | ({"mac": mac} if mac else {})
    sent: dict[str, Any] = {}
    cni_args = "IgnoreUnknown=true;K8S_POD_NAME=a"
    if "runtimeConfig" in sources:
        sent |= {"capabilities": dict.fromkeys(asked, True), "runtimeConfig": asked}
    if "args.cni" in sources:
        sent |= {"args": {"cni": asked}}
    if "CNI_ARGS" in sources:
        cni_args += f";IP={','.join(ips)}" if ips else ""
        cni_args += f";MAC={mac}" if mac else ""
    return runtime.attachment(pod, conf | sent, cni_args=cni_args)
