"""Routes and rules that go into a pod with a NIC that has its own addresses there."""

from __future__ import annotations

from typing import Any

import netaddr

from multinic_cni.attachments.record import NicRecord
from multinic_cni.handover.documents import to_document
from multinic_cni.handover.former import Former, FormerAddress, FormerHop, FormerRoute
from multinic_cni.route_messages import KernelRoute, Rule
from multinic_cni.routing.carried import carried_steps
from multinic_cni.routing.steps import NamedHop, RouteStep, RuleStep
from multinic_ipam.networks import Network

MAIN = 254


def number(text: str) -> int:
    return int(netaddr.IPAddress(text))


def route(network: str, table: int, *hops: FormerHop, **words: Any) -> FormerRoute:  # noqa: ANN401 - fields of any type
    parsed = netaddr.IPNetwork(network)
    kernel = KernelRoute(
        version=parsed.version,
        table=table,
        destination=parsed.first,
        prefix_length=parsed.prefixlen,
        **words,
    )
    return FormerRoute(route=kernel, hops=hops)


def nic(former: Former) -> NicRecord:
    return NicRecord(
        nic="rail1",
        index=3,
        kind="",
        mac="02:00:00:00:00:03",
        ifname="net1",
        confs=(),
        former=to_document(former.but(mtu=1500)),
    )


GATEWAY = FormerHop(dev="rail1", gateway=number("10.1.0.254"))


def test_nothing_noted() -> None:
    assert carried_steps(nic(Former()).but(former={})) == []
    assert carried_steps(nic(Former())) == []


def test_routes_of_all_tables_with_the_inner_name() -> None:
    """Those on the link come first: a gateway may be reached by one."""
    former = Former(
        addresses=(FormerAddress(version=4, number=number("10.1.0.1"), length=24),),
        routes=(
            route("10.9.0.0/16", MAIN, GATEWAY, metric=50, mtu=1300, source=number("10.1.0.1")),
            route("192.0.2.1/32", 1001, FormerHop(dev="rail1"), scope=253, protocol=3),
            route("fd09::/48", 101, FormerHop(dev="rail1", gateway=number("fe80::1"), onlink=True)),
        ),
    )
    on_link, old, new = carried_steps(nic(former))
    assert on_link == RouteStep(
        nic="rail1",
        network=Network.parse("192.0.2.1/32"),
        table=1001,
        hops=(NamedHop(ifname="net1"),),
        scope=253,
        protocol=3,
    )
    assert old == RouteStep(
        nic="rail1",
        network=Network.parse("10.9.0.0/16"),
        table=MAIN,
        hops=(NamedHop(ifname="net1", gateway=number("10.1.0.254")),),
        metric=50,
        mtu=1300,
        source=number("10.1.0.1"),
    )
    assert new == RouteStep(
        nic="rail1",
        network=Network.parse("fd09::/48"),
        table=101,
        hops=(NamedHop(ifname="net1", gateway=number("fe80::1"), onlink=True),),
    )


def test_source_that_is_another_nics_stays_there() -> None:
    """The kernel would take no route by an address that the pod has not."""
    theirs = route("10.9.0.0/16", MAIN, GATEWAY, source=number("10.2.0.1"))
    (step,) = carried_steps(nic(Former(routes=(theirs,))))
    assert isinstance(step, RouteStep)
    assert step.source == 0


def test_default_route_of_the_pod_stays() -> None:
    former = Former(
        routes=(
            route("0.0.0.0/0", MAIN, GATEWAY),
            route("::/0", MAIN, GATEWAY),
            route("0.0.0.0/0", 101, GATEWAY),
        )
    )
    (step,) = carried_steps(nic(former))
    assert isinstance(step, RouteStep)
    assert (str(step.network), step.table) == ("0.0.0.0/0", 101)


def test_next_hops_of_other_nics_are_theirs() -> None:
    other = FormerHop(dev="rail2", gateway=number("10.2.0.254"))
    (step,) = carried_steps(nic(Former(routes=(route("10.9.0.0/16", MAIN, GATEWAY, other),))))
    assert isinstance(step, RouteStep)
    assert step.hops == (NamedHop(ifname="net1", gateway=number("10.1.0.254")),)


def test_rules_by_source() -> None:
    """Others would be wider in the pod than they were on the node."""
    own = (number("10.1.0.1"), 32)
    rule = Rule(version=4, priority=5000, table=101, source=own)
    former = Former(
        rules=(
            rule,
            rule.but(oif="rail1", priority=5001),
            rule.but(oif="rail2"),
            rule.but(iif="rail1"),
            rule.but(destination=(number("10.9.0.0"), 16)),
            rule.but(source=None, oif="rail1"),
        )
    )
    step = RuleStep(
        nic="rail1", version=4, priority=5000, table=101, source=Network.parse("10.1.0.1/32")
    )
    assert carried_steps(nic(former)) == [step, step.but(oif="net1", priority=5001)]
