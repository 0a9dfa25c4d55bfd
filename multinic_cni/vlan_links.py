"""VLANs on the node's NICs that pods share: made, recognised, deleted.

Deleting a link takes the links on it along, in whatever pod they are, so only one of ours is
deleted. Its group says that it is: the kernel sets that in the moment in which it makes the link,
so that no crash comes between.
"""

from __future__ import annotations

import errno
import os

from multinic_cni.delegates import link_for_delegate
from multinic_cni.errors import NO_NICS, CniError, io_failure
from multinic_cni.link_netlink import VLAN, add_vlan, all_links, link_named
from multinic_cni.log import log
from multinic_cni.netlink import Netlink, NetlinkError
from multinic_cni.route_netlink import set_mtu, set_up
from multinic_selectors.nics import PODS_VLANS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from multinic_cni.link_netlink import LinkFound
    from multinic_selectors.nics import Nic

SETTINGS = "/proc/sys/net"
# A tenant must not come into the node by its VLAN. As links begin, the node answers ARP there for
# any address that it has, takes packets for them and forwards others, and gives itself IPv6
# addresses as a router on the VLAN says. Without IPv6 addresses it would still take and forward
# IPv6 packets, for which there is no rp_filter, and forwarding is the whole node's; but a
# disable_ipv6 of `all` may undo this one. Pods' links take their frames before. (Linux 6.1 refuses
# an addr_gen_mode in the request that makes the link; before it is up for the first time, a link
# has no addresses.)
CLOSED = (
    ("ipv6", "addr_gen_mode", "1"),
    ("ipv6", "accept_ra", "0"),
    ("ipv6", "disable_ipv6", "1"),
    ("ipv4", "arp_ignore", "8"),
    ("ipv4", "rp_filter", "1"),
    ("ipv4", "forwarding", "0"),
)


def group_of(data_dir: str) -> int:
    """Return the link group of the VLANs whose users stand below a data directory.

    Another directory's attachments are not counted there: they must not use the same link.
    """
    digest = 0x811C9DC5  # FNV-1a, see link_for_delegate
    for byte in os.path.realpath(data_dir).encode("utf-8", "surrogateescape"):
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return PODS_VLANS << 16 | (digest >> 16 ^ digest & 0xFFFF)


def make_links(nics: Sequence[Nic], vlan_id: int, group: int) -> None:
    """Make the VLANs that NICs do not have, and take those that are right; raises CniError."""
    netlink = Netlink()
    try:
        for nic in nics:
            try:
                _make_or_take(netlink, nic, vlan_id, group)
            except NetlinkError as error:
                raise _unmade(nic, vlan_id, error) from error
    finally:
        netlink.close()


def delete_link(name: str, group: int) -> bool:
    """Delete a link if it is ours; a failure must keep no pod, since `gc` tries again."""
    netlink = Netlink()
    try:
        found = link_named(netlink, name)
        if found is None or not _is_of(found, group):
            return False
        netlink.delete_link(found.link.index)
    except NetlinkError as error:
        if error.errno != errno.ENODEV:  # it has just gone, with its NIC
            log.warning("VLAN not deleted", vlan=name, reason=error.strerror)
        return False
    finally:
        netlink.close()
    log.info("VLAN deleted, which nobody uses any more", vlan=name)
    return True


def links_without(needed: Container[tuple[int, int]], group: int) -> list[str]:
    """Name the VLANs of ours that are none of (index of the NIC, id); raises OSError."""
    netlink = Netlink()
    try:
        return sorted(
            each.link.name
            for each in all_links(netlink)
            if _is_of(each, group) and (each.link.lower, each.vlan_id) not in needed
        )
    finally:
        netlink.close()


def fault_of(netlink: Netlink, name: str, nic: str, index: int, vlan_id: int) -> str:
    """Return what is wrong with a VLAN on a NIC, empty if nothing is; raises NetlinkError."""
    found = link_named(netlink, name)
    if found is None:
        return f"VLAN {name} of NIC {nic} is not on the node"
    if not _is_right(found, index, vlan_id):
        return f"link {name} is not VLAN {vlan_id} of NIC {nic}"
    return "" if found.link.up else f"VLAN {name} of NIC {nic} is down"


def _make_or_take(netlink: Netlink, nic: Nic, vlan_id: int, group: int) -> None:
    name = link_for_delegate(nic.name, vlan_id)
    found = link_named(netlink, name)
    if found is None:
        try:
            add_vlan(netlink, name, nic=nic.index, vlan_id=vlan_id, mtu=nic.mtu, group=group)
        except NetlinkError as error:
            if error.errno != errno.EEXIST:
                raise
        found = link_named(netlink, name)
    if found is None:
        raise _elsewhere(netlink, nic, name, vlan_id)
    if not _is_right(found, nic.index, vlan_id):
        raise _wrong(netlink, nic, found, vlan_id)
    if _is_of(found, group):
        _open_for_pods(netlink, found, nic)
    elif found.link.group >> 16 == PODS_VLANS:
        message = f"NIC {nic.name}: VLAN {name} was made for networks with another dataDir"
        raise CniError(NO_NICS, message, "give all networks of a VLAN the same dataDir")
    elif not found.link.up:
        message = f"NIC {nic.name}: link {name}, which is there already, is down"
        raise CniError(NO_NICS, message, f"ip link set {name} up")


def _open_for_pods(netlink: Netlink, found: LinkFound, nic: Nic) -> None:
    """Set a link of ours up, once it is closed for the tenant's way into the node.

    That one is up says nothing: with its NIC the kernel sets up a link, too, that a killed call has
    not come to close.
    """
    if found.link.mtu < nic.mtu:
        set_mtu(netlink, found.link.index, nic.mtu)
    for family, setting, value in CLOSED:
        _set(f"{SETTINGS}/{family}/conf/{found.link.name}/{setting}", value)
    if found.link.up:
        return
    try:
        set_up(netlink, found.link.index)
    except NetlinkError as error:
        if error.errno != errno.ENETDOWN:
            raise
        # The kernel sets it up together with its NIC.
        log.warning("VLAN stays down until its NIC is up", vlan=found.link.name)


def _set(path: str, value: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return  # a kernel without IPv6
    except OSError as error:
        error.filename = path
        raise io_failure("close the node for a VLAN", error) from error


def _is_of(found: LinkFound, group: int) -> bool:
    return (found.link.kind, found.link.group) == (VLAN, group)


def _is_right(found: LinkFound, nic: int, vlan_id: int) -> bool:
    return (found.link.kind, found.link.lower, found.vlan_id) == (VLAN, nic, vlan_id)


def _wrong(netlink: Netlink, nic: Nic, found: LinkFound, vlan_id: int) -> CniError:
    link, what = found.link, f"no VLAN but a {found.link.kind or 'device'}"
    if link.kind == VLAN:
        names = {each.link.index: each.link.name for each in all_links(netlink)}
        tag = found.vlan_id or "of another tag"
        what = f"VLAN {tag} on {names.get(link.lower, 'a link elsewhere')}"
    message = f"NIC {nic.name}: link {link.name} is {what}, not VLAN {vlan_id} on {nic.name}"
    return CniError(NO_NICS, message, "rename or delete that link, or choose another vlan.id")


def _elsewhere(netlink: Netlink, nic: Nic, name: str, vlan_id: int) -> CniError:
    """Say where the NIC has the id, if not under the name that it should have."""
    same = [each.link.name for each in all_links(netlink) if _is_right(each, nic.index, vlan_id)]
    where = f"as link {same[0]}" if same else "in another netns, such as a pod's of plugin vlan"
    message = f"NIC {nic.name}: it has VLAN {vlan_id} already, {where}"
    details = f"rename it to {name}" if same else "choose another vlan.id"
    return CniError(NO_NICS, message, details)


def _unmade(nic: Nic, vlan_id: int, error: NetlinkError) -> CniError:
    failure = io_failure(f"make VLAN {vlan_id} on NIC {nic.name}", error)
    if error.errno == errno.EOPNOTSUPP:
        failure.details = "the kernel knows no VLANs: modprobe 8021q"
    return failure
