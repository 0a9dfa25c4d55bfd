"""From the kernel's links, addresses and default routes to the node's NICs."""

from __future__ import annotations

from multinic_selectors.nics import Nic, Upper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    class Link(Protocol):
        """What rtnetlink says of a link; indexes of other links are 0 where there is none."""

        @property
        def index(self) -> int: ...

        @property
        def name(self) -> str: ...

        @property
        def altnames(self) -> Sequence[str]: ...

        @property
        def mac(self) -> str: ...

        @property
        def permanent_mac(self) -> str: ...

        @property
        def device(self) -> str: ...

        @property
        def mtu(self) -> int: ...

        @property
        def medium(self) -> int: ...

        @property
        def operstate(self) -> str: ...

        @property
        def mode(self) -> str: ...

        @property
        def kind(self) -> str: ...

        @property
        def loopback(self) -> bool: ...

        @property
        def up(self) -> bool: ...

        @property
        def carrier(self) -> bool: ...

        @property
        def master(self) -> int: ...

        @property
        def lower(self) -> int: ...

        @property
        def group(self) -> int: ...

    class Address(Protocol):
        """An address of a link."""

        @property
        def link(self) -> int: ...

        @property
        def version(self) -> int: ...

        @property
        def number(self) -> int: ...

        @property
        def prefix_length(self) -> int: ...

        @property
        def primary(self) -> bool: ...

    class DefaultRoute(Protocol):
        """One next hop of a default route of the main table."""

        @property
        def version(self) -> int: ...

        @property
        def metric(self) -> int: ...

        @property
        def link(self) -> int: ...


def inventory(
    links: Iterable[Link], addresses: Iterable[Address], default_routes: Iterable[DefaultRoute]
) -> list[Nic]:
    """Join the three dumps; what vanished between two of them is left out."""
    links = list(links)
    names = {link.index: link.name for link in links}
    uplinks = _uplinks({link.index: link for link in links}, list(default_routes))
    by_link: dict[int, list[tuple[int, int, int]]] = {}
    passing: dict[int, list[tuple[int, int, int]]] = {}
    uppers: dict[int, list[Upper]] = {}
    for link in links:
        if link.lower:
            uppers.setdefault(link.lower, []).append(Upper(link.name, link.kind, link.mode))
    for address in addresses:
        place = (address.version, address.number, address.prefix_length)
        by_link.setdefault(address.link, []).append(place)
        if not address.primary:
            passing.setdefault(address.link, []).append(place)
    return [
        Nic(
            index=link.index,
            name=link.name,
            altnames=link.altnames,
            mac=link.mac,
            permanent_mac=link.permanent_mac,
            device=link.device,
            mtu=link.mtu,
            kind=link.kind,
            medium=link.medium,
            loopback=link.loopback,
            up=link.up,
            carrier=link.carrier,
            operstate=link.operstate,
            addresses=by_link.get(link.index, []),
            passing=passing.get(link.index, []),
            enslaved_to=names.get(link.master, "?") if link.master else "",
            stands_on=names.get(link.lower, "?") if link.lower else "",
            uppers=uppers.get(link.index, ()),
            uplink=uplinks.get(link.index, ""),
            group=link.group,
        )
        for link in links
    ]


def _uplinks(links: dict[int, Link], default_routes: Sequence[DefaultRoute]) -> dict[int, str]:
    """Say for each link below a default route how the route leaves by it.

    Only the route of the lowest metric counts, per family; all its next hops do. What a VLAN or
    another link stands on carries its traffic too.
    """
    uplinks: dict[int, str] = {}
    for version in (4, 6):
        routes = [route for route in default_routes if route.version == version]
        lowest = min((route.metric for route in routes), default=0)
        for route in routes:
            link = links.get(route.link)
            if route.metric != lowest or link is None:
                continue
            leaves = f"the node's IPv{version} default route leaves by it"
            uplinks.setdefault(link.index, leaves)
            for below in _below(link, links):
                uplinks.setdefault(below.index, f"{leaves} through {link.name}")
    return uplinks


def _below(link: Link, links: dict[int, Link]) -> list[Link]:
    """Return the links that a link stands on, from above."""
    found: list[Link] = []
    below = links.get(link.lower)
    # A dump that is torn between two changes may show a circle.
    while below is not None and below not in found:
        found.append(below)
        below = links.get(below.lower)
    return found
