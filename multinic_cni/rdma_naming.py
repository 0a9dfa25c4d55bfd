"""The RDMA devices of a pod's NICs, as the log names them."""

from __future__ import annotations

from multinic_cni.log import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from multinic_cni.attachments.record import NicRecord
    from multinic_cni.host import Host
    from multinic_selectors.nics import Nic


def rdma_devices(host: Host, nics: Iterable[Nic]) -> dict[str, str]:
    """Return the RDMA devices of NICs by these, for those that have any."""
    ports = {nic.name: host.sysfs.rdma_ports(nic.name) for nic in nics}
    return {
        name: ",".join(dict.fromkeys(port.device for port in own))
        for name, own in ports.items()
        if own
    }


def log_attached(nics: Iterable[NicRecord], rdma: Mapping[str, str]) -> None:
    """Say what the pod got: each NIC's interface, its addresses, and its RDMA devices."""
    for nic in nics:
        addresses = [each.address for each in nic.result.ips] if nic.result else []
        log.info(
            "attached",
            nic=nic.nic,
            ifname=nic.ifname,
            addresses=",".join(addresses) or "none",
            rdma=rdma.get(nic.nic, "none"),
        )
