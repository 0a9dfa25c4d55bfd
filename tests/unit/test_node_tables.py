"""What is missing or too much in a table of routes between nodes, and what the kernel refuses.

What the kernel makes of it all, tests/netns/test_node_routes.py looks at.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, cast

import pytest

from multinic_cni import node_tables
from multinic_cni.errors import ROUTING_FAILED, CniError
from multinic_cni.netlink import Netlink, NetlinkError
from multinic_cni.node_tables import (
    PRIORITY,
    PROTOCOL,
    Difference,
    Standing,
    difference,
    forgotten,
    settle,
    standing,
)
from multinic_cni.peers import NodeRoute, WantedRoutes
from multinic_cni.route_messages import Hop, KernelRoute, Rule
from multinic_ipam.networks import Network, parse_address

if TYPE_CHECKING:
    from collections.abc import Callable

SUBNET = Network.parse("172.16.0.0/15")
OTHER = Network.parse("172.30.0.0/16")
RAIL0, RAIL1 = 3, 4
DENIED = "Operation not permitted"
CANNOT = "NIC rail0: the route 172.16.2.0/24 via 10.1.0.2 dev rail0 to node-b cannot be added:"


def number(text: str) -> int:
    return parse_address(text)[1]


def route(block: str, gateway: str, link: int = RAIL0) -> NodeRoute:
    return NodeRoute(
        destination=Network.parse(block),
        gateway=number(gateway),
        nic=f"rail{link - RAIL0}",
        link=link,
        node="node-b",
    )


def there(
    block: str, gateway: str, link: int = RAIL0, *, protocol: int = PROTOCOL, table: int = 2000
) -> KernelRoute:
    network = Network.parse(block)
    return KernelRoute(
        version=4,
        table=table,
        destination=network.first,
        prefix_length=network.length,
        hops=(Hop(link=link, gateway=number(gateway)),),
        protocol=protocol,
    )


def rule(subnet: Network = SUBNET, table: int = 2000, protocol: int = PROTOCOL) -> Rule:
    return Rule(
        version=4,
        priority=PRIORITY,
        table=table,
        destination=(subnet.first, subnet.length),
        protocol=protocol,
    )


def wanted(*routes: NodeRoute, subnets: tuple[Network, ...] = (SUBNET,)) -> WantedRoutes:
    return WantedRoutes(network="rails", version=4, subnets=subnets, routes=routes)


def in_place(*routes: KernelRoute, rules: tuple[Rule, ...] = (rule(),)) -> Standing:
    return Standing(table=2000, rules=rules, routes=routes)


B0, B1 = route("172.16.2.0/24", "10.1.0.2"), route("172.17.2.0/24", "10.2.0.2", RAIL1)
HAS_B0 = there("172.16.2.0/24", "10.1.0.2")
HAS_B1 = there("172.17.2.0/24", "10.2.0.2", RAIL1)


def test_nothing_is_in_place() -> None:
    lack = difference(wanted(B0, B1), in_place(rules=()))
    assert ((B0, B1), (rule(),), 3) == (lack.missing, lack.missing_rules, lack.count)


def test_all_is_in_place() -> None:
    assert 0 == difference(wanted(B0, B1), in_place(HAS_B1, HAS_B0)).count


def test_route_that_somebody_else_has_set_will_do_and_his_others_stay() -> None:
    same = there("172.16.2.0/24", "10.1.0.2", protocol=4)
    more = there("172.16.9.0/24", "10.1.0.9", protocol=4)
    assert 0 == difference(wanted(B0), in_place(same, more)).count


@pytest.mark.parametrize(
    "before", [there("172.16.2.0/24", "10.1.0.22"), there("172.16.2.0/24", "10.1.0.2", RAIL1)]
)
def test_other_way_to_a_block_is_replaced(before: KernelRoute) -> None:
    lack = difference(wanted(B0), in_place(before))
    assert ((B0,), (before,), ()) == (lack.missing, lack.replaced, lack.surplus)


def test_what_is_ours_and_not_wanted_is_too_much_within_the_subnet() -> None:
    """Another network of ours may use the same table."""
    others = there("172.30.2.0/24", "10.1.0.2")
    lack = difference(wanted(B0), in_place(HAS_B0, HAS_B1, others))
    assert ((HAS_B1,), (), ()) == (lack.surplus, lack.replaced, lack.missing)


def test_rule_to_another_table_is_replaced() -> None:
    elsewhere = rule(table=2005)
    lack = difference(wanted(B0), in_place(HAS_B0, rules=(rule(), elsewhere)))
    assert ((), (elsewhere,)) == (lack.missing_rules, lack.surplus_rules)


def test_network_without_routes_needs_no_rule() -> None:
    lack = difference(wanted(), in_place(HAS_B0))
    assert ((rule(),), (HAS_B0,), ()) == (lack.surplus_rules, lack.surplus, lack.missing_rules)


def test_each_subnet_has_a_rule_to_the_one_table() -> None:
    lack = difference(wanted(B0, subnets=(SUBNET, OTHER)), in_place(HAS_B0))
    assert (rule(OTHER),) == lack.missing_rules


class Kernel:
    """A kernel whose rules and routes are lists; it does what it is told, and remembers it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rules: list[Rule] = []
        self.routes: list[KernelRoute] = []
        self.refusals: dict[str, int] = {}
        self.said: list[str] = []
        monkeypatch.setattr(node_tables, "rules_of", lambda _: self.rules)
        monkeypatch.setattr(node_tables, "routes_of", self._routes_of)
        for name in ("add_route", "delete_route", "add_rule", "delete_rule"):
            monkeypatch.setattr(node_tables, name, self._doing(name))

    def _routes_of(self, _: Netlink, version: int, table: int = 0) -> list[KernelRoute]:
        own = [each for each in self.routes if each.version == version]
        return [each for each in own if table in (0, each.table)]

    def _doing(self, name: str) -> Callable[[Netlink, object], None]:
        def do(_: Netlink, __: object) -> None:
            if name in self.refusals:
                raise NetlinkError(self.refusals[name], os.strerror(self.refusals[name]))
            self.said.append(name)

        return do


NETLINK = cast("Netlink", None)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    return Kernel(monkeypatch)


def lacking(**parts: Any) -> Difference:  # noqa: ANN401 - those of Difference
    nothing = dict.fromkeys(
        ("missing", "missing_rules", "replaced", "surplus", "surplus_rules"), ()
    )
    return Difference(table=2000, **{**nothing, **parts})


def test_rules_come_last(kernel: Kernel) -> None:
    lack = lacking(missing=(B0,), missing_rules=(rule(),), replaced=(HAS_B1,))
    assert [] == settle(NETLINK, wanted(B0), lack)
    assert ["delete_route", "add_route", "add_rule"] == kernel.said


def test_rules_go_first(kernel: Kernel) -> None:
    assert [] == settle(NETLINK, wanted(), lacking(surplus=(HAS_B0,), surplus_rules=(rule(),)))
    assert ["delete_rule", "delete_route"] == kernel.said


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ESRCH, errno.ENODEV])
def test_what_has_gone_already_is_no_error(kernel: Kernel, number: int) -> None:
    kernel.refusals = {"delete_rule": number, "delete_route": number}
    assert [] == settle(NETLINK, wanted(), lacking(surplus=(HAS_B0,), surplus_rules=(rule(),)))


def test_what_another_call_has_set_meanwhile_is_no_error(kernel: Kernel) -> None:
    kernel.refusals = {"add_rule": errno.EEXIST, "add_route": errno.EEXIST}
    kernel.routes = [HAS_B0]
    lack = lacking(missing=(B0,), missing_rules=(rule(),))
    assert [] == settle(NETLINK, wanted(B0), lack)


@pytest.mark.parametrize(
    ("refusals", "expected"),
    [
        (
            {"add_route": errno.EEXIST},
            [
                f"{CANNOT} somebody else has a route to 172.16.2.0/24 in table 2000",
            ],
        ),
        (
            {"add_route": errno.ENETUNREACH},
            [
                f"{CANNOT} Network is unreachable (is the gateway in a network of rail0?)",
            ],
        ),
        (
            dict.fromkeys(("add_rule", "delete_rule", "delete_route"), errno.EPERM),
            [
                f"the route to 172.17.2.0/24 in table 2000 cannot be removed: {DENIED}",
                f"the rule to 172.16.0.0/15 lookup 2000 cannot be added: {DENIED}",
                f"the rule to 172.30.0.0/16 lookup 2000 cannot be removed: {DENIED}",
            ],
        ),
    ],
    ids=["in the way", "out of reach", "not allowed"],
)
def test_refusals_are_gathered(
    kernel: Kernel, refusals: dict[str, int], expected: list[str]
) -> None:
    kernel.refusals = refusals
    lack = lacking(
        missing=(B0,),
        missing_rules=(rule(),),
        replaced=(HAS_B1,),
        surplus_rules=(rule(OTHER),),
    )
    errors = settle(NETLINK, wanted(B0), lack)
    assert expected == [error.message for error in errors]
    assert {ROUTING_FAILED} == {error.code for error in errors}


def test_table_is_that_of_our_rule_whoever_else_uses_it(kernel: Kernel) -> None:
    kernel.rules = [rule(table=2007), rule(OTHER, table=2007)]
    kernel.routes = [there("172.16.2.0/24", "10.1.0.2", table=2007)]
    found = standing(NETLINK, wanted(B0))
    assert (2007, (rule(table=2007),), 1) == (found.table, found.rules, len(found.routes))


def test_table_is_the_first_that_nobody_uses(kernel: Kernel) -> None:
    """One is named by a rule, one has somebody's route; the third has what a killed call left."""
    kernel.rules = [rule(OTHER, table=2000)]
    left = there("172.16.2.0/24", "10.1.0.2", table=2002)
    kernel.routes = [there("1.2.3.0/24", "10.1.0.2", table=2001, protocol=4), left]
    found = standing(NETLINK, wanted(B0))
    assert (2002, (), (left,)) == (found.table, found.rules, found.routes)


def test_rule_of_somebody_else_to_our_subnet_is_his(kernel: Kernel) -> None:
    kernel.rules = [rule(table=254, protocol=4)]
    assert () == standing(NETLINK, wanted(B0)).rules


def test_no_table_is_free(kernel: Kernel) -> None:
    kernel.rules = [rule(OTHER, table=table) for table in range(2000, 3000)]
    with pytest.raises(CniError, match="no routing table is free on this node: 2000 to 2999"):
        standing(NETLINK, wanted(B0))


def test_forgotten_are_routes_of_ours_that_no_rule_of_ours_reads(kernel: Kernel) -> None:
    kernel.rules = [rule(table=2000), rule(OTHER, table=2001, protocol=4)]
    kept = [HAS_B0, there("172.16.2.0/24", "10.1.0.2", table=2003, protocol=4)]
    lost = [there("172.16.2.0/24", "10.1.0.2", table=table) for table in (2001, 2002)]
    kernel.routes = [*kept, *lost]
    assert lost == list(forgotten(NETLINK))
