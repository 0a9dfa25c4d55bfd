"""A pod for planning: interfaces of ours, and a primary one as cluster networks make it."""

from __future__ import annotations

from typing import Any

import netaddr
import pytest

from multinic_cni.conf.routing import routing_in
from multinic_cni.errors import CniError
from multinic_cni.messages import Address, Link
from multinic_cni.route_messages import Hop, KernelRoute, Rule
from multinic_cni.routing.planning import Planner
from multinic_cni.routing.pod import PodNow, RoutedNic
from multinic_cni.routing.steps import NeighborStep, RouteStep, RuleStep, Step, SysctlStep
from multinic_ipam.networks import Network, format_address

MAIN, ETH0 = 254, 3


def number(text: str) -> int:
    return int(netaddr.IPAddress(text))


def nic(
    place: int, *addresses: str, gateways: tuple[str, ...] = (), words: tuple[str, ...] = ()
) -> RoutedNic:
    """Return rail1 at place 0 as net1, rail2 at place 1 as net1-1, and so on."""
    name = f"rail{place + 1}"
    return RoutedNic(
        nic=name,
        words={name, *words},
        place=place,
        ifname=f"net1-{place}" if place else "net1",
        addresses=[
            (each.version, int(each.ip), each.prefixlen)
            for each in map(netaddr.IPNetwork, addresses)
        ],
        gateways={netaddr.IPAddress(each).version: number(each) for each in gateways},
    )


RAIL1 = nic(0, "10.1.0.5/24", gateways=("10.1.0.254",))
RAIL2 = nic(1, "10.2.0.5/24", gateways=("10.2.0.254",))


def link(name: str, index: int) -> Link:
    return Link(
        index=index,
        name=name,
        altnames=(),
        mac="",
        mtu=1500,
        kind="",
        loopback=False,
        up=True,
        carrier=True,
        master=0,
        lower=0,
    )


LINKS = {name: link(name, index) for name, index in (("eth0", ETH0), ("net1", 4), ("net1-1", 5))}


def route(text: str, gateway: str = "", *, link: int = ETH0, **fields: Any) -> KernelRoute:  # noqa: ANN401
    """Return a route as the kernel lists it, of the main table by eth0 unless it is said."""
    network = netaddr.IPNetwork(text)
    hop = Hop(link=link, gateway=number(gateway) if gateway else 0, onlink="169" in gateway)
    words = {
        "version": network.version,
        "table": MAIN,
        "destination": int(network.network),
        "prefix_length": network.prefixlen,
        "hops": (hop,),
        "protocol": 3,
    }
    return KernelRoute(**{**words, **fields})


def pod(
    *routes: KernelRoute, rules: tuple[Rule, ...] = (), addresses: tuple[str, ...] = ()
) -> PodNow:
    parsed = [netaddr.IPNetwork(each) for each in addresses]
    return PodNow(
        links=LINKS,
        addresses=[
            Address(
                link=ETH0, version=each.version, number=int(each.ip), prefix_length=each.prefixlen
            )
            for each in parsed
        ],
        routes=routes,
        rules=rules,
    )


# As Calico leaves it: the gateway answers for everything, and no network holds it.
CLUSTER = pod(
    route("169.254.1.1/32", scope=253),
    route("0.0.0.0/0", "169.254.1.1"),
    addresses=("10.244.1.7/32",),
)


def planned(
    routing: dict[str, Any],
    *nics: RoutedNic,
    now: PodNow | None = None,
    keep: tuple[str, ...] | None = (),
    ipam: dict[str, Any] | None = None,
) -> list[str]:
    """Return the steps in words, in their order."""
    conf = routing_in({"routing": routing, "ipam": ipam})
    assert conf is not None
    networks = None if keep is None else [Network.parse(each) for each in keep]
    planner = Planner(conf, nics or (RAIL1, RAIL2), now or pod(), networks)
    return [in_words(step) for step in planner.steps()]


def refusal(routing: dict[str, Any], *nics: RoutedNic, **words: Any) -> CniError:  # noqa: ANN401
    with pytest.raises(CniError) as raised:
        planned(routing, *nics, **words)
    return raised.value


def in_words(step: Step) -> str:
    """Return all of a step, as its own words do not."""
    match step:
        case RouteStep():
            return _route_in_words(step)
        case RuleStep():
            what = f"from {step.source}" if step.source else f"oif {step.oif}"
            return f"rule {step.priority} v{step.version} {what} table {step.table} ({step.nic})"
        case SysctlStep():
            return f"{step.path}={step.value} ({step.nic})"
        case NeighborStep():
            address = format_address(step.version, step.number)
            return f"neighbour {address} {step.mac} dev {step.ifname} ({step.nic})"


def _route_in_words(step: RouteStep) -> str:
    version = step.network.version
    hops = [
        f"via {format_address(version, hop.gateway)} dev {hop.ifname}{' onlink' * hop.onlink}"
        if hop.gateway
        else f"dev {hop.ifname}"
        for hop in step.hops
    ]
    more = {
        "kind": step.kind if step.kind != 1 else 0,
        "scope": step.scope,
        "metric": step.metric,
        "mtu": step.mtu,
    }
    words = [f"{key} {value}" for key, value in more.items() if value]
    source = [f"src {format_address(version, step.source)}"] if step.source else []
    gone = ["goes"] if step.goes else []
    text = " ".join([str(step.network), " + ".join(hops), *words, *source, *gone]).replace(
        "  ", " "
    )
    return f"{text} table {step.table} ({step.nic})"
