"""One result of many: the prevResult's parts, then each NIC's in order. Pure."""

from __future__ import annotations

from multinic_cni.result import Interface, IpConfig, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    class PodLink(Protocol):
        """What the kernel says of a link in the pod."""

        @property
        def mac(self) -> str: ...

        @property
        def mtu(self) -> int: ...


DEFAULT_ROUTES = {"0.0.0.0/0": "4", "::/0": "6"}
MAC_BYTES = (6, 8, 20)  # Ethernet, EUI-64, InfiniBand


def merge(
    previous: Result,
    parts: Sequence[tuple[str, Result]],
    netns: str,
    pod_links: Mapping[str, PodLink],
    dns: Mapping[str, object],
    *,
    functions: Mapping[str, str],
) -> Result:
    """Join (inner name, result) of each NIC behind the prevResult.

    Indexes are counted anew. Every interface in the pod gets CNI_NETNS as its sandbox and the
    kernel's mac and mtu: Multus drops what has no sandbox, and some delegates put other numbers in
    those fields. `dns` is the conf's, used where the prevResult has none. `functions` are, by inner
    names, the PCI addresses of the NICs, where there are any.
    """
    interfaces = list(previous.interfaces)
    ips = list(previous.ips)
    routes = list(previous.routes)
    for ifname, part in parts:
        offset = len(interfaces)
        own = _completed_all(part.interfaces, ifname, netns, pod_links)
        if not any(each.name == ifname and each.sandbox for each in own):
            own.append(_completed(Interface(name=ifname), netns, pod_links, in_pod=True))
        own = [_with_function(each, ifname, functions.get(ifname, "")) for each in own]
        interfaces += own
        inner = next(i for i, each in enumerate(own) if each.name == ifname and each.sandbox)
        ips += [
            ip.but(interface=offset + _index(ip, len(part.interfaces), inner)) for ip in part.ips
        ]
        routes += [
            route
            for route in (_with_gateway(route, part.ips) for route in part.routes)
            if route not in routes
        ]
    from_delegates = next((part.dns for _, part in parts if part.dns), {})
    return Result(
        interfaces=tuple(interfaces),
        ips=tuple(ips),
        routes=tuple(routes),
        dns=previous.dns or dict(dns) or from_delegates,
    )


def _completed_all(
    interfaces: Sequence[Interface], ifname: str, netns: str, pod_links: Mapping[str, PodLink]
) -> list[Interface]:
    """Complete a delegate's interfaces; the inner name is the pod's, whatever it said of it.

    If it names one such in the pod and another elsewhere, only the first is.
    """
    named = any(each.name == ifname and each.sandbox == netns for each in interfaces)
    return [
        _completed(
            each,
            netns,
            pod_links,
            in_pod=each.sandbox == netns or (each.name == ifname and not named),
        )
        for each in interfaces
    ]


def _completed(
    interface: Interface, netns: str, pod_links: Mapping[str, PodLink], *, in_pod: bool
) -> Interface:
    link = pod_links.get(interface.name) if in_pod else None
    if link is not None:
        return interface.but(sandbox=netns, mac=link.mac, mtu=link.mtu)
    return interface.but(
        sandbox=netns if in_pod else "", mac=interface.mac if _is_mac(interface.mac) else ""
    )


def _with_function(interface: Interface, ifname: str, function: str) -> Interface:
    """Say on which PCI function the pod's interface is, unless its delegate has."""
    if interface.name != ifname or not interface.sandbox or interface.pci_id:
        return interface
    return interface.but(pci_id=function)


def _is_mac(text: str) -> bool:
    try:
        return len(bytes.fromhex(text.replace(":", ""))) in MAC_BYTES
    except ValueError:
        return False


def _index(ip: IpConfig, count: int, inner: int) -> int:
    """Return an address's interface within its part; absent or impossible means the inner one."""
    return ip.interface if ip.interface is not None and 0 <= ip.interface < count else inner


def _with_gateway(route: dict[str, object], ips: Sequence[IpConfig]) -> dict[str, object]:
    """Say a default route's gateway, which may stand in the address alone: Multus prints it."""
    family = DEFAULT_ROUTES.get(str(route.get("dst")))
    if family is None or route.get("gw"):
        return route
    gateway = next((ip.gateway for ip in ips if ip.gateway and ip.version == family), "")
    return {**route, "gw": gateway} if gateway else route
