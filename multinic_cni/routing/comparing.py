"""What CHECK finds: steps of ADD that are not in place in the pod any more."""

from __future__ import annotations

from multinic_cni.messages import RTN_UNICAST
from multinic_cni.route_netlink import neighbors_of
from multinic_cni.routing.applying import as_rule, in_words, read_setting
from multinic_cni.routing.pod import key_of_route, key_of_step, look
from multinic_cni.routing.steps import NeighborStep, RouteStep, RuleStep, SysctlStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from multinic_cni.netlink import Netlink
    from multinic_cni.route_messages import KernelNeighbor, KernelRoute
    from multinic_cni.routing.pod import PodNow
    from multinic_cni.routing.steps import Step

    Routes = dict[tuple[int, ...], list[KernelRoute]]  # by key_of_route


def not_in_place(steps: Iterable[Step], netlink: Netlink) -> list[str]:
    """Return a sentence for each step of which the pod has no trace; the process is in its netns.

    Raises OSError.
    """
    pod, neighbors = look(netlink), neighbors_of(netlink)
    # A pod may have a routing daemon: its routes must not be looked through for each of the steps.
    routes: Routes = {}
    for route in pod.routes:
        routes.setdefault(key_of_route(route), []).append(route)
    return [
        f"{f'NIC {step.nic}: ' if step.nic else ''}{in_words(step)} {trouble}"
        for step in steps
        for trouble in (_trouble(step, pod, routes, neighbors),)
        if trouble
    ]


def _trouble(step: Step, pod: PodNow, routes: Routes, neighbors: list[KernelNeighbor]) -> str:
    found = False
    match step:
        case RouteStep():
            alike = routes.get(key_of_step(step), [])
            found = any(_is_same_route(step, route, pod) for route in alike)
            if step.goes:
                return "is there again" if found else ""
        case RuleStep():
            found = as_rule(step) in pod.rules
        case SysctlStep():
            return _other_value(step)
        case NeighborStep():
            found = any(_is_same_neighbor(step, each, pod) for each in neighbors)
    return "" if found else "is not in the pod"


def _is_same_route(step: RouteStep, route: KernelRoute, pod: PodNow) -> bool:
    """Compare what two routes of the same place can differ in."""
    if step.kind != route.kind or step.kind != RTN_UNICAST:
        return step.kind == route.kind  # another kind of IPv6 has the loopback as its next hop
    wanted = {(hop.ifname, hop.gateway) for hop in step.hops}
    return wanted == {(pod.name_of(hop.link), hop.gateway) for hop in route.hops}


def _other_value(step: SysctlStep) -> str:
    try:
        value = read_setting(step.path)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    # The kernel writes lists of numbers with tabs between them.
    return "" if value.split() == step.value.split() else f"is {value} now"


def _is_same_neighbor(step: NeighborStep, neighbor: KernelNeighbor, pod: PodNow) -> bool:
    return (step.ifname, step.version, step.number, step.mac) == (
        pod.name_of(neighbor.link),
        neighbor.version,
        neighbor.number,
        neighbor.mac,
    )
