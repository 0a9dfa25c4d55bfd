"""Set the steps in a pod's netns, take them back, and find what is not in place any more."""

from __future__ import annotations

import errno
import os
import time

from multinic_cni.errors import ROUTING_FAILED, CniError
from multinic_cni.log import log
from multinic_cni.messages import RTN_UNICAST
from multinic_cni.route_messages import Hop, KernelNeighbor, KernelRoute, Rule
from multinic_cni.route_netlink import (
    add_route,
    add_rule,
    delete_neighbor,
    delete_route,
    delete_rule,
    set_neighbor,
)
from multinic_cni.routing.pod import DEFAULT_METRIC
from multinic_cni.routing.steps import NeighborStep, RouteStep, RuleStep, SysctlStep
from multinic_ipam.networks import format_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from multinic_cni.messages import Link
    from multinic_cni.netlink import Netlink
    from multinic_cni.routing.steps import Step

PROC_SYS = "/proc/sys"
LONGEST_VALUE = 4096
# Duplicate address detection: up to a second before the question, and one for an answer.
DETECTION_SECONDS, PAUSE = 3.0, 0.05
# Of what is to go, these say that it has gone: the route, the rule or neighbour, the link.
GONE = frozenset({errno.ESRCH, errno.ENOENT, errno.ENODEV})


class Setter:
    """Sets steps by a netlink socket in the pod's netns, in which the process is, too."""

    def __init__(self, netlink: Netlink) -> None:
        """Look at the links; raises OSError."""
        self._netlink = netlink
        self._links: Mapping[str, Link] = {link.name: link for link in netlink.links()}

    def set(self, steps: Iterable[Step]) -> None:
        """Do the steps in order; CniError 106 names the NIC, the step and the kernel's reason.

        What stands already is right: a step may have been done by a call that was killed.
        """
        for step in steps:
            try:
                self._do(step)
            except OSError as error:
                if error.errno == errno.EEXIST and isinstance(step, RuleStep):
                    continue
                raise _failure(step, error) from error

    def take_back(self, steps: Sequence[Step]) -> None:
        """Undo the steps in reverse, as far as their links are still there.

        What the kernel refuses is logged. The pod may have made it so, by taking an interface down
        or a gateway away, and must be deletable all the same: its netns takes with it what is left.
        """
        for step in reversed(steps):
            try:
                self._undo(step)
            except OSError as error:
                if error.errno not in GONE:
                    why = error.strerror
                    log.warning(f"{_who(step)}{in_words(step)} is not taken back: {why}")

    def _do(self, step: Step) -> None:
        match step:
            case RouteStep(goes=True):
                self._delete_if_there(step)
            case RouteStep():
                self._add(step)
            case RuleStep():
                add_rule(self._netlink, as_rule(step))
            case SysctlStep():
                write_setting(step.path, step.value)
            case NeighborStep():
                set_neighbor(self._netlink, self._neighbor(step))

    def _add(self, step: RouteStep) -> None:
        """Add a route. By an IPv6 source in doubt the kernel takes none; that has an end."""
        by_ipv6 = bool(step.source) and step.network.version == 6  # noqa: PLR2004 - IPv6
        until = time.monotonic() + (DETECTION_SECONDS if by_ipv6 else 0)
        while True:
            try:
                add_route(self._netlink, self._route(step))
            except OSError as error:
                if error.errno != errno.EINVAL or time.monotonic() >= until:
                    raise
                time.sleep(PAUSE)
            else:
                return

    def _undo(self, step: Step) -> None:
        match step:
            case RouteStep(goes=True):
                self._put_back(step)
            case RouteStep():
                self._delete_rest(step)
            case RuleStep():
                delete_rule(self._netlink, as_rule(step))
            case SysctlStep():
                # One that never could be written still is as it was.
                if step.former and read_setting(step.path) != step.former.strip():
                    write_setting(step.path, step.former)
            case NeighborStep():
                if step.ifname in self._links:
                    delete_neighbor(self._netlink, self._neighbor(step))

    def _delete_rest(self, step: RouteStep) -> None:
        """Delete a route, if its interfaces have not taken it with them.

        One of several is found without its next hops: some of them may have gone.
        """
        if len(step.hops) > 1:
            step = step.but(hops=())
        if all(hop.ifname in self._links for hop in step.hops):
            delete_route(self._netlink, self._route(step))

    def _delete_if_there(self, step: RouteStep) -> None:
        try:
            delete_route(self._netlink, self._route(step))
        except OSError as error:
            if error.errno not in GONE:
                raise

    def _put_back(self, step: RouteStep) -> None:
        if not all(hop.ifname in self._links for hop in step.hops):
            return
        try:
            add_route(self._netlink, self._route(step))
        except OSError as error:
            if error.errno != errno.EEXIST:
                raise

    def _route(self, step: RouteStep) -> KernelRoute:
        network = step.network
        return KernelRoute(
            version=network.version,
            table=step.table,
            destination=network.first,
            prefix_length=network.length,
            hops=tuple(
                Hop(link=self._index(hop.ifname), gateway=hop.gateway, onlink=hop.onlink)
                for hop in step.hops
            ),
            kind=step.kind,
            protocol=step.protocol,
            scope=step.scope,
            # Said in any case: IPv6 deletes the first that fits, of whatever metric, else.
            metric=step.metric or DEFAULT_METRIC[network.version],
            mtu=step.mtu,
            source=step.source,
        )

    def _neighbor(self, step: NeighborStep) -> KernelNeighbor:
        return KernelNeighbor(
            version=step.version,
            link=self._index(step.ifname),
            number=step.number,
            mac=step.mac,
        )

    def _index(self, ifname: str) -> int:
        if ifname not in self._links:
            raise OSError(errno.ENODEV, f"the pod has no interface {ifname}")
        return self._links[ifname].index


def as_rule(step: RuleStep) -> Rule:
    source = (step.source.first, step.source.length) if step.source else None
    return Rule(
        version=step.version,
        priority=step.priority,
        table=step.table,
        source=source,
        oif=step.oif,
    )


def read_setting(path: str) -> str:
    """Return a setting of the netns in which the process is; raises OSError."""
    with open(f"{PROC_SYS}/{path}", "rb") as file:
        return file.read(LONGEST_VALUE).decode("utf-8", "replace").strip()


def write_setting(path: str, value: str) -> None:
    """Write a setting of the netns in which the process is; raises OSError."""
    descriptor = os.open(f"{PROC_SYS}/{path}", os.O_WRONLY | os.O_CLOEXEC)
    try:
        # Writing nothing would change nothing: a list is emptied by an empty line.
        os.write(descriptor, value.encode() or b"\n")
    finally:
        os.close(descriptor)


def _failure(step: Step, error: OSError) -> CniError:
    message = f"{_who(step)}{in_words(step)} cannot be set: {error.strerror}"
    return CniError(ROUTING_FAILED, message, "see the block routing in the net conf")


def _who(step: Step) -> str:
    return f"NIC {step.nic}: " if step.nic else ""


def in_words(step: Step) -> str:
    """Return a step nearly as iproute2 writes it."""
    match step:
        case RouteStep():
            version = step.network.version
            kind = "" if step.kind == RTN_UNICAST else "unreachable "
            hops = " ".join(
                " ".join(
                    filter(
                        None,
                        (
                            f"via {format_address(version, hop.gateway)}" if hop.gateway else "",
                            f"dev {hop.ifname}",
                        ),
                    )
                )
                for hop in step.hops
            )
            return f"route {kind}{step.network} {hops} table {step.table}".replace("  ", " ")
        case RuleStep():
            what = f"from {step.source}" if step.source else f"oif {step.oif}"
            return f"rule {what} lookup {step.table}"
        case SysctlStep():
            return f"setting {step.path} = {step.value}"
        case NeighborStep():
            address = format_address(step.version, step.number)
            return f"neighbour {address} lladdr {step.mac} dev {step.ifname}"
