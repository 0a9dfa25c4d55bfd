"""VLANs of the plugin's own netns, by route socket: found, made, deleted (linux/if_link.h)."""

from __future__ import annotations

import errno

from multinic_cni.messages import (
    IFINFOMSG,
    IFLA_GROUP,
    IFLA_IFNAME,
    IFLA_INFO_DATA,
    IFLA_INFO_KIND,
    IFLA_LINK,
    IFLA_LINKINFO,
    IFLA_MTU,
    U16,
    U32,
    attributes_within,
    read_link,
)
from multinic_cni.netlink import (
    IFLA_EXT_MASK,
    RTEXT_FILTER_SKIP_STATS,
    RTM_GETLINK,
    RTM_NEWLINK,
    NetlinkError,
)
from multinic_cni.route_messages import attribute
from multinic_cni.route_netlink import NLM_F_CREATE, NLM_F_EXCL
from multinic_cni.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from multinic_cni.messages import Link
    from multinic_cni.netlink import Netlink

VLAN = "vlan"
IFLA_VLAN_ID, IFLA_VLAN_PROTOCOL = 1, 5
DOT1Q = b"\x81\x00"  # IEEE 802.1Q, in network order; a provider's tag (802.1ad) is another


class LinkFound(Value):
    """A link, and what is particular to a VLAN: its id, 0 for another kind or another tag."""

    link: Link
    vlan_id: int


def link_named(netlink: Netlink, name: str) -> LinkFound | None:
    """Ask for one link by its name; None where there is none. Raises NetlinkError."""
    request = IFINFOMSG.pack(0, 0, 0, 0, 0) + attribute(IFLA_IFNAME, name.encode() + b"\0")
    request += attribute(IFLA_EXT_MASK, U32.pack(RTEXT_FILTER_SKIP_STATS))
    try:
        body = netlink.get(RTM_GETLINK, RTM_NEWLINK, request)
    except NetlinkError as error:
        if error.errno == errno.ENODEV:
            return None
        raise
    return _read(body)


def all_links(netlink: Netlink) -> list[LinkFound]:
    """Dump the links as Netlink.links does, with the ids of VLANs."""
    request = IFINFOMSG.pack(0, 0, 0, 0, 0)
    request += attribute(IFLA_EXT_MASK, U32.pack(RTEXT_FILTER_SKIP_STATS))
    return [_read(body) for body in netlink.dump(RTM_GETLINK, RTM_NEWLINK, request)]


def encode_vlan(name: str, *, nic: int, vlan_id: int, mtu: int, group: int) -> bytes:
    """Return the body of RTM_NEWLINK for a VLAN on a NIC, which is down at first."""
    data = attribute(IFLA_VLAN_ID, U16.pack(vlan_id))
    info = attribute(IFLA_INFO_KIND, VLAN.encode() + b"\0") + attribute(IFLA_INFO_DATA, data)
    return (
        IFINFOMSG.pack(0, 0, 0, 0, 0)
        + attribute(IFLA_IFNAME, name.encode() + b"\0")
        + attribute(IFLA_LINK, U32.pack(nic))
        + attribute(IFLA_MTU, U32.pack(mtu))
        + attribute(IFLA_GROUP, U32.pack(group))
        + attribute(IFLA_LINKINFO, info)
    )


def add_vlan(netlink: Netlink, name: str, *, nic: int, vlan_id: int, mtu: int, group: int) -> None:
    """Make a VLAN; NetlinkError EEXIST where the NIC has that id, or the node that name."""
    body = encode_vlan(name, nic=nic, vlan_id=vlan_id, mtu=mtu, group=group)
    netlink.change(RTM_NEWLINK, body, NLM_F_CREATE | NLM_F_EXCL)


def _read(body: memoryview) -> LinkFound:
    link = read_link(body)
    if link.kind != VLAN:
        return LinkFound(link=link, vlan_id=0)
    info = attributes_within(attributes_within(body, IFINFOMSG.size)[IFLA_LINKINFO], 0)
    data = attributes_within(info.get(IFLA_INFO_DATA, memoryview(b"")), 0)
    tagged = IFLA_VLAN_ID in data and bytes(data.get(IFLA_VLAN_PROTOCOL, DOT1Q)) == DOT1Q
    return LinkFound(link=link, vlan_id=U16.unpack(data[IFLA_VLAN_ID])[0] if tagged else 0)
