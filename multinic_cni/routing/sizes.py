"""The size of frames, `mtu`, of interfaces whose delegates have no word for it, such as NICs."""

from __future__ import annotations

from multinic_cni.errors import ROUTING_FAILED, CniError, join_errors
from multinic_cni.messages import IFINFOMSG, U32, attributes_within
from multinic_cni.netlink import RTM_GETLINK, RTM_NEWLINK
from multinic_cni.route_netlink import set_mtu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.attachments.record import NicRecord
    from multinic_cni.messages import Link
    from multinic_cni.netlink import Netlink

IFLA_MIN_MTU, IFLA_MAX_MTU = 50, 51


def set_mtus(nics: Sequence[NicRecord], mtu: int, netlink: Netlink) -> None:
    """Give each interface of the pod the size, where it has another; CniError 106 names those.

    `netlink` is a socket in the pod's netns. Before routes are set: some of them have a size, too.
    """
    links = {link.name: link for link in netlink.links()}
    errors = []
    for nic in nics:
        link = links.get(nic.ifname)
        if link is not None and link.mtu != mtu:
            try:
                set_mtu(netlink, link.index, mtu)
            except OSError as error:
                errors.append(_refused(nic, link, mtu, netlink, error))
    if errors:
        raise join_errors(errors)


def _refused(nic: NicRecord, link: Link, mtu: int, netlink: Netlink, error: OSError) -> CniError:
    """Word what the kernel calls an invalid argument, whatever it is."""
    message = (
        f"NIC {nic.nic}: {nic.ifname} has mtu {link.mtu}, and cannot have {mtu} (mtu of the net"
        f" conf): {error.strerror}"
    )
    least, most = _bounds(netlink, link.index)
    details = (
        f"its driver takes {least} to {most}" if most else "see `ip -d link` for what it takes"
    )
    return CniError(ROUTING_FAILED, message, details)


def _bounds(netlink: Netlink, index: int) -> tuple[int, int]:
    """Return what a link's driver takes; 0 for a bound that the kernel does not tell."""
    bodies = netlink.dump(RTM_GETLINK, RTM_NEWLINK, IFINFOMSG.pack(0, 0, 0, 0, 0))
    for body in bodies:
        if IFINFOMSG.unpack_from(body)[2] == index:
            values = attributes_within(body, IFINFOMSG.size)
            found = [values.get(kind) for kind in (IFLA_MIN_MTU, IFLA_MAX_MTU)]
            least, most = (U32.unpack(value)[0] if value else 0 for value in found)
            return least, most
    return 0, 0
