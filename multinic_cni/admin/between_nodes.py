"""The node's routes to the other nodes' pods: compared, put in place, taken away, by an admin."""

from __future__ import annotations

import time

from multinic_cni.addressing import uses_store
from multinic_cni.errors import BAD_CONF, CniError
from multinic_cni.netlink import Netlink, NetlinkError
from multinic_cni.node_routes import not_listed, wanted_on
from multinic_cni.node_tables import (
    Difference,
    Standing,
    difference,
    forgotten,
    leads_to,
    our_rules,
    remove_routes,
    remove_rules,
    settle,
    standing,
)
from multinic_cni.peers import WantedRoutes, merged
from multinic_cni.reservations import with_store
from multinic_cni.values import Value
from multinic_ipam.networks import Network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from multinic_cni.conf.netconf import NetConf
    from multinic_cni.host import Host
    from multinic_cni.route_messages import KernelRoute, Rule

    T = TypeVar("T")

LOCK_SECONDS = 60.0


class Needs(Value):
    """What the networks of some confs need on this node, those of the same subnets as one."""

    families: Sequence[WantedRoutes]
    left_out: Sequence[str]
    errors: Sequence[CniError]
    data_dirs: Sequence[str]


class Compared(Value):
    """One family of a network beside what is in place."""

    wanted: WantedRoutes
    standing: Standing
    lack: Difference


class Others(Value):
    """What is ours and of no network that was asked about."""

    rules: Sequence[Rule]
    routes: Sequence[KernelRoute]


class Applied(Value):
    """What became of one family of a network; None of what is in place was changed at 0 and 0."""

    wanted: WantedRoutes
    table: int
    added: int
    removed: int
    errors: Sequence[CniError]


def needs_of(confs: Sequence[NetConf], host: Host) -> Needs:
    """Find out what is wanted; one network's mistake keeps no other from its routes."""
    families: list[WantedRoutes] = []
    left_out: list[str] = []
    errors: list[CniError] = []
    for conf in confs:
        try:
            wanted = wanted_on(conf, host)
        except CniError as error:
            message = f"network {conf.name}: {error.message}"
            errors.append(CniError(error.code, message, error.details))
            continue
        families += wanted.families
        left_out += [f"network {conf.name}: {note}" for note in wanted.left_out]
    return Needs(
        families=merged(families),
        left_out=left_out,
        errors=errors,
        data_dirs=sorted({conf.data_dir for conf in confs}),
    )


def compare(needs: Needs) -> tuple[list[Compared], Others]:
    """Compare with what is in place; raises CniError."""

    def look(netlink: Netlink) -> tuple[list[Compared], Others]:
        found = [(each, standing(netlink, each)) for each in needs.families]
        known = [rule for _, each in found for rule in each.rules]
        # What a table without a rule has, the next `apply` puts in order or away.
        tables = {(each.version, there.table) for each, there in found}
        others = Others(
            rules=[rule for rule in our_rules(netlink) if rule not in known],
            routes=[
                route for route in forgotten(netlink) if (route.version, route.table) not in tables
            ],
        )
        return [
            Compared(wanted=each, standing=there, lack=difference(each, there))
            for each, there in found
        ], others

    return _with_netlink(look)


def apply(needs: Needs) -> tuple[list[Applied], list[CniError]]:
    """Put all in place, and take away what killed calls have left; raises CniError.

    Errors of single routes come with their network; the list is of the others.
    """

    def work(netlink: Netlink) -> tuple[list[Applied], list[CniError]]:
        errors = remove_routes(netlink, list(forgotten(netlink)))
        applied = [_apply(netlink, each) for each in needs.families]
        return applied, [*errors, *remove_routes(netlink, list(forgotten(netlink)))]

    return _locked(needs.data_dirs, lambda: _with_netlink(work))


def _apply(netlink: Netlink, wanted: WantedRoutes) -> Applied:
    lack = difference(wanted, standing(netlink, wanted))
    errors = settle(netlink, wanted, lack)
    return Applied(
        wanted=wanted,
        table=lack.table,
        added=len(lack.missing) + len(lack.missing_rules),
        removed=len(lack.replaced) + len(lack.surplus) + len(lack.surplus_rules),
        errors=errors,
    )


def remove(confs: Sequence[NetConf]) -> tuple[int, list[CniError]]:
    """Take away what networks have on this node, by their subnets; no NIC need be there.

    Return how many rules and routes there were; raises CniError.
    """
    subnets = [subnet for conf in confs for subnet in subnets_of(conf)]
    data_dirs = sorted({conf.data_dir for conf in confs})
    return _remove(data_dirs, lambda rule: leads_to(rule, subnets))


def remove_all(data_dir: str) -> tuple[int, list[CniError]]:
    """Take away everything of ours, whatever network it is of; raises CniError."""
    return _remove([data_dir], lambda _: True)


def _remove(data_dirs: Sequence[str], wanted: Callable[[Rule], bool]) -> tuple[int, list[CniError]]:
    def work(netlink: Netlink) -> tuple[int, list[CniError]]:
        rules = list(filter(wanted, our_rules(netlink)))
        errors = remove_rules(netlink, rules)
        routes = list(forgotten(netlink))
        errors += remove_routes(netlink, routes)
        return len(rules) + len(routes) - len(errors), errors

    return _locked(data_dirs, lambda: _with_netlink(work))


def subnets_of(conf: NetConf) -> list[Network]:
    """Return what the rules of a network are for, as far as the conf alone says it."""
    ranges = conf.ipam.get("ranges") if uses_store(conf) else None  # a list is another plugin's
    subnets = list(conf.subnets) or [
        Network.parse(each.get("subnet") or master)
        for master, listed in (ranges or {}).items()
        for each in listed
    ]
    if not subnets and not conf.master_nets:
        message = f"network {conf.name}: the net conf does not say which subnets it has"
        raise CniError(BAD_CONF, message, "`multinic-cni routes remove --all` takes all away")
    return subnets or list(conf.master_nets)


def _with_netlink(work: Callable[[Netlink], T]) -> T:
    netlink = Netlink()
    try:
        return work(netlink)
    except NetlinkError as error:
        raise not_listed(error) from error
    finally:
        netlink.close()


def _locked(data_dirs: Sequence[str], work: Callable[[], T]) -> T:
    """Do something under the locks of all networks' stores: their ADDs change the same tables."""
    if not data_dirs:
        return work()
    first, *others = data_dirs
    return with_store(first, time.monotonic() + LOCK_SECONDS, lambda _: _locked(others, work))
