"""Give a NIC back what it had on the node: state, addresses, routes and rules, as far as it can be.

Each step may have been done before, by a DEL that was killed: what is there already is right. What
the kernel refuses is logged with its reason, and the rest goes on: a gateway may have gone.
"""

from __future__ import annotations

from errno import EEXIST

from multinic_cni.handover.dumps import IFA_F_NODAD, IFA_LABEL, IFA_RT_PRIORITY
from multinic_cni.log import log
from multinic_cni.messages import (
    IFA_ADDRESS,
    IFA_LOCAL,
    IFADDRMSG,
    IFF_MODES,
    IFINFOMSG,
    IFLA_ADDRESS,
    IFLA_IFALIAS,
    U32,
)
from multinic_cni.netlink import RTM_NEWADDR, RTM_NEWROUTE
from multinic_cni.route_messages import (
    FAMILIES,
    IFA_BROADCAST,
    IFA_FLAGS,
    LARGEST_OCTET,
    Hop,
    attribute,
    encode_route,
    packed,
)
from multinic_cni.route_netlink import (
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REPLACE,
    RTM_NEWLINK,
    add_route,
    add_rule,
    set_down,
    set_mtu,
    set_up,
)
from multinic_ipam.networks import Network, format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from multinic_cni.attachments.record import NicRecord
    from multinic_cni.handover.former import Former, FormerAddress, FormerRoute
    from multinic_cni.messages import Link
    from multinic_cni.netlink import Netlink

    Home = tuple[NicRecord, Former, Link]


def settle(netlink: Netlink, homes: Sequence[Home]) -> None:
    """Give NICs that are home what they had; those at once that share a multipath route."""
    for nic, former, link in homes:
        _as_it_was(netlink, nic, former, link)
    wanted = [home for home in homes if home[1].restore]
    for nic, former, link in wanted:
        _state_and_addresses(netlink, nic.nic, former, link)
    if any(former.routes or former.rules for _, former, _ in wanted):
        links = {link.name: link.index for link in netlink.links()}
        for nic, former, _ in wanted:
            _routes_and_rules(netlink, nic.nic, former, links)


def _as_it_was(netlink: Netlink, nic: NicRecord, former: Former, link: Link) -> None:
    """Take back what a pod, or a delegate for it, may have set on the device itself."""
    if former.mtu and link.mtu != former.mtu:
        _tried(nic.nic, f"mtu {former.mtu}", set_mtu, netlink, link.index, former.mtu)
    if former.device and link.mac != nic.mac:
        body = IFINFOMSG.pack(0, 0, link.index, 0, 0)
        body += attribute(IFLA_ADDRESS, bytes.fromhex(nic.mac.replace(":", "")))
        _tried(nic.nic, f"MAC {nic.mac}", netlink.change, RTM_NEWLINK, body)


def _state_and_addresses(netlink: Netlink, nic: str, former: Former, link: Link) -> None:
    if link.alias != former.alias:
        # host-device has written the NIC's name there; and anything a pod that may.
        alias = attribute(IFLA_IFALIAS, former.alias.encode())
        body = IFINFOMSG.pack(0, 0, link.index, 0, 0) + alias
        _tried(nic, "alias", netlink.change, RTM_NEWLINK, body)
    if link.modes != former.modes:
        # Without ARP, say, as a pod may have set it, the node would not find its neighbours.
        body = IFINFOMSG.pack(0, 0, link.index, former.modes, IFF_MODES)
        _tried(nic, "ARP, promiscuous and multicast mode", netlink.change, RTM_NEWLINK, body)
    if former.up and not link.up:
        _tried(nic, "up", set_up, netlink, link.index)
    elif link.up and not former.up:
        _tried(nic, "down", set_down, netlink, link.index)
    sources = {(each.route.version, each.route.source) for each in former.routes}
    for address in _in_order(former.addresses):
        text = f"address {format_address(address.version, address.number)}/{address.length}"
        if (address.version, address.number) in sources:
            _tried(nic, text, _add_as_source, netlink, link.index, address)
        else:
            _tried(nic, text, _add_address, netlink, link.index, address)


def _in_order(addresses: Sequence[FormerAddress]) -> list[FormerAddress]:
    """Return addresses so that the kernel's order, added one by one, is the former one.

    IPv4's later address of a network is the secondary one; IPv6's list begins with the latest.
    """
    old = [each for each in addresses if FAMILIES[each.version] == FAMILIES[4]]
    return [*old, *(each for each in reversed(addresses) if each not in old)]


def _add_address(netlink: Netlink, link: int, address: FormerAddress) -> None:
    body = _encode(link, address, address.flags)
    netlink.change(RTM_NEWADDR, body, NLM_F_CREATE | NLM_F_EXCL)


def _add_as_source(netlink: Netlink, link: int, address: FormerAddress) -> None:
    """Add an address that a route prefers: the kernel takes no route by an IPv6 one in doubt.

    So it goes without duplicate address detection; it was this NIC's before. IPv4 ignores that.
    """
    if FAMILIES[address.version] == FAMILIES[4]:
        _add_address(netlink, link, address)
        return
    body = _encode(link, address, address.flags | IFA_F_NODAD)
    netlink.change(RTM_NEWADDR, body, NLM_F_CREATE | NLM_F_REPLACE)
    if not address.flags & IFA_F_NODAD:
        netlink.change(RTM_NEWADDR, _encode(link, address, address.flags), NLM_F_REPLACE)


def _encode(link: int, address: FormerAddress, flags: int) -> bytes:
    version = address.version
    body = IFADDRMSG.pack(
        FAMILIES[version], address.length, flags & LARGEST_OCTET, address.scope, link
    )
    body += attribute(IFA_LOCAL, packed(version, address.number))
    body += attribute(IFA_ADDRESS, packed(version, address.peer or address.number))
    if address.broadcast:
        body += attribute(IFA_BROADCAST, packed(version, address.broadcast))
    if address.label:
        body += attribute(IFA_LABEL, address.label.encode("utf-8", "surrogateescape") + b"\0")
    if address.metric:
        body += attribute(IFA_RT_PRIORITY, U32.pack(address.metric))
    return body + attribute(IFA_FLAGS, U32.pack(flags))


def _routes_and_rules(netlink: Netlink, nic: str, former: Former, links: Mapping[str, int]) -> None:
    # Those on the link first: gateways of others may be reached by them.
    for each in sorted(former.routes, key=_by_gateway):
        network = Network(each.route.version, each.route.destination, each.route.prefix_length)
        text = f"route {network} table {each.route.table}"
        gone = [hop.dev for hop in each.hops if hop.dev not in links]
        if gone:
            log.warning(f"{text} is not put back", nic=nic, reason=f"there is no link {gone[0]}")
            continue
        _tried(nic, text, _add_route, netlink, each, links)
    for rule in former.rules:
        text = f"rule {rule.priority} table {rule.table}"
        _tried(nic, text, add_rule, netlink, rule)


def _by_gateway(each: FormerRoute) -> bool:
    return any(hop.gateway for hop in each.hops)


def _add_route(netlink: Netlink, each: FormerRoute, links: Mapping[str, int]) -> None:
    hops = tuple(
        Hop(link=links[hop.dev], gateway=hop.gateway, weight=hop.weight, onlink=hop.onlink)
        for hop in each.hops
    )
    route = each.route.but(hops=hops)
    if len({hop.link for hop in hops}) > 1:
        # What is left of it stands there, with the other NICs' next hops.
        netlink.change(RTM_NEWROUTE, encode_route(route), NLM_F_CREATE | NLM_F_REPLACE)
    else:
        add_route(netlink, route)


def _tried(nic: str, what: str, step: Callable[..., None], *given: object) -> None:
    try:
        step(*given)
    except OSError as error:
        if error.errno != EEXIST:
            log.warning(f"{what} is not put back", nic=nic, reason=error.strerror)
