"""What delegates leave in the pod when their DEL fails or they were killed, and how it goes."""

from __future__ import annotations

import os

from multinic_cni.delegate_types import LEAVE_THE_NIC, MAKE_A_LINK
from multinic_cni.errors import TRY_AGAIN, CniError
from multinic_cni.host import links_of_node
from multinic_cni.log import log
from multinic_cni.netns import OWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from multinic_cni.attachments.record import NicRecord, Record
    from multinic_cni.messages import Link
    from multinic_cni.netns import PodNetns

# The main plugins make a link under a random name first: "veth" and eight hexadecimal digits.
TEMPORARY_PREFIX, TEMPORARY_LENGTH = "veth", 12
HEXADECIMAL = frozenset("0123456789abcdef")


def delete_own_links(nics: Sequence[NicRecord], links: Sequence[Link], pod: PodNetns) -> set[str]:
    """Delete the links of NICs whose delegates could not; return the inner names that are gone.

    macvlan and vlan refuse a DEL when their master has another name by now, any plugin when it has
    been removed from the node. Only what such a delegate has made is deleted: never a NIC.
    """
    by_name = {link.name: link for link in links}
    gone = set()
    for nic in nics:
        link = by_name.get(nic.ifname)
        kind = nic.confs[0]["type"]
        made_here = link is not None and (link.kind, link.lower_elsewhere) == (kind, nic.index)
        if link is not None and made_here and kind in MAKE_A_LINK and _delete(link, pod):
            gone.add(nic.ifname)
    return gone


def delete_temporary_links(record: Record, pod: PodNetns) -> None:
    """Delete what a main plugin that was killed half-way has made on one of the record's NICs."""
    made_on = {
        (nic.confs[0]["type"], nic.index)
        for nic in record.nics
        if nic.confs and nic.confs[0]["type"] in MAKE_A_LINK
    }
    for link in pod.netlink.links() if made_on else ():
        if _is_temporary(link.name) and (link.kind, link.lower_elsewhere) in made_on:
            _delete(link, pod)


def bring_nics_back(record: Record, pod: PodNetns) -> list[CniError]:
    """Move NICs that are still in the pod back to the node, under their own names.

    host-device moves, then renames; killed between the two, it finds the NIC no more. The pod may
    have links of its own making under any name, with any MAC: so the kind must be the NIC's, too,
    and a NIC that is on the node already is not looked for.
    """
    taken = [nic for nic in record.nics if nic.confs and nic.confs[0]["type"] in LEAVE_THE_NIC]
    in_pod = pod.netlink.links() if taken else []
    found = [(nic, [link for link in in_pod if _is_nic(link, nic)]) for nic in taken]
    if not any(links for _, links in found):
        return []
    on_node = {link.name: link for link in links_of_node()}
    errors = []
    for nic, links in found:
        at_home = on_node.get(nic.nic)
        if not links or (at_home is not None and at_home.mac == nic.mac):
            continue
        if at_home is not None or len(links) > 1:
            other = "the node has another link of that name" if at_home else "it is there twice"
            message = f"NIC {nic.nic} is still in the pod as {links[0].name}, and {other}"
            errors.append(CniError(TRY_AGAIN, message))
            continue
        errors += _move_back(nic, links[0], pod)
    return errors


def _is_nic(link: Link, nic: NicRecord) -> bool:
    return (link.mac, link.kind) == (nic.mac, nic.kind) and link.name in {nic.ifname, nic.nic}


def _move_back(nic: NicRecord, link: Link, pod: PodNetns) -> list[CniError]:
    own = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pod.netlink.move_link(link.index, own, nic.nic)
    except OSError as error:
        message = f"NIC {nic.nic} cannot be brought back from the pod: {error.strerror}"
        return [CniError(TRY_AGAIN, message)]
    finally:
        os.close(own)
    log.warning("NIC brought back, which its delegate did not", nic=nic.nic)
    return []


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
