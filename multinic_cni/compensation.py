"""What delegates leave in the pod when their DEL fails or they were killed, and how it goes."""

from __future__ import annotations

from multinic_cni.delegate_types import (
    FIND_THE_FUNCTION,
    LEAVE_NOTHING,
    MAKE_A_LINK,
)
from multinic_cni.host import Host, links_of_node
from multinic_cni.log import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_cni.messages import Link
    from multinic_cni.netns import PodNetns

# The main plugins make a link under a random name first: "veth" and eight hexadecimal digits.
TEMPORARY_PREFIX, TEMPORARY_LENGTH = "veth", 12
HEXADECIMAL = frozenset("0123456789abcdef")
NO_INDEX = -1


def delete_own_links(nics: Sequence[NicRecord], links: Sequence[Link], pod: PodNetns) -> set[str]:
    """Delete the links of NICs whose delegates could not; return the inner names that are gone.

    macvlan and vlan refuse a DEL when their master has another name by now, any plugin when it has
    been removed from the node. Only what such a delegate has made is deleted: never a NIC.
    """
    by_name = {link.name: link for link in links}
    below = _indexes_below(nics)
    gone = set()
    for nic in nics:
        link = by_name.get(nic.ifname)
        kind = nic.confs[0]["type"]
        made_here = link is not None and (link.kind, link.lower_elsewhere) == (
            kind,
            below[nic.ifname],
        )
        if link is not None and made_here and kind in MAKE_A_LINK and _delete(link, pod):
            gone.add(nic.ifname)
    return gone


def delete_temporary_links(record: Record, pod: PodNetns) -> None:
    """Delete what a main plugin that was killed half-way has made on one of the record's NICs."""
    makers = [nic for nic in record.nics if nic.confs and nic.confs[0]["type"] in MAKE_A_LINK]
    below = _indexes_below(makers)
    made_on = {(nic.confs[0]["type"], below[nic.ifname]) for nic in makers}
    for link in pod.netlink.links() if made_on else ():
        if _is_temporary(link.name) and (link.kind, link.lower_elsewhere) in made_on:
            _delete(link, pod)


def _indexes_below(nics: Sequence[NicRecord]) -> dict[str, int]:
    """Return the index of what each inner name's link stands on: the NIC, or a VLAN on it.

    A VLAN that has gone has taken the links on it along: it has the index of none.
    """
    if not any(nic.master for nic in nics):
        return {nic.ifname: nic.index for nic in nics}
    on_node = {link.name: link.index for link in links_of_node()}
    return {
        nic.ifname: on_node.get(nic.master, NO_INDEX) if nic.master else nic.index for nic in nics
    }


def may_have_left(kind: str, nic: NicRecord) -> bool:
    """Tell whether a delegate whose DEL has failed may have left something outside of its link.

    The RDMA device that rdma has moved is either in the pod, or here again. Its releases before
    2024 fail for ever once it is here, and after an ADD that failed.
    """
    if kind in FIND_THE_FUNCTION:
        return not _has_its_rdma_device_here(nic)
    return kind not in LEAVE_NOTHING


def _has_its_rdma_device_here(nic: NicRecord) -> bool:
    from multinic_selectors.devices import normal_pci_address  # noqa: PLC0415 - after an error

    named = [str(each.get("deviceID")) for each in nic.confs if each["type"] in FIND_THE_FUNCTION]
    functions = [address for address in map(normal_pci_address, named) if address]
    return bool(functions) and all(map(Host().sysfs.rdma_ports_of, functions))


def _is_temporary(name: str) -> bool:
    return (
        len(name) == TEMPORARY_LENGTH
        and name.startswith(TEMPORARY_PREFIX)
        and HEXADECIMAL.issuperset(name.removeprefix(TEMPORARY_PREFIX))
    )


def _delete(link: Link, pod: PodNetns) -> bool:
    try:
        pod.netlink.delete_link(link.index)
    except OSError as error:
        log.warning("link cannot be deleted", ifname=link.name, reason=error.strerror)
        return False
    log.warning("link deleted, which its delegate did not", ifname=link.name)
    return True
