"""Pods and kernels that do not let routing be undone, or done: none of them keeps a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.in_place import everything, give_primary, two_leaves

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

ROUTING_FAILED = 106
# As in a container that may not change settings.
READ_ONLY = ("unshare", "-m", "sh", "-c", 'mount -o bind,ro /proc/sys /proc/sys; exec "$0" "$@"')
MANY = 15000


@pytest.mark.parametrize(
    "trouble",
    [
        ["link set eth0 down"],
        ["address flush dev eth0"],
        ["route flush dev eth0"],
        ["link set eth0 down", "link set eth0 name eth7"],
        ["link delete eth0"],
        ["link delete net1"],
        ["route flush table main", "rule flush"],
    ],
    ids="; ".join,
)
def test_pod_that_has_broken_its_primary_goes(
    *, runtime: Runtime, pod: Namespace, node: Node, state: State, trouble: list[str]
) -> None:
    """The former default cannot come back then. It must not keep the pod, nor its addresses."""
    give_primary(pod, node)
    conf = two_leaves(sourceRules=True, defaultRoute="rail1", keepOnPrimary=["10.96.0.0/12"])
    attachment = runtime.attachment(pod, runtime.conf(**conf))
    attachment.add()
    pod.ip(*trouble)
    attachment.delete().succeeded()
    assert state.left() == []
    assert pod.links().keys() <= {"eth0", "eth7"}


@pytest.mark.parametrize(
    "routing",
    [
        {"sourceRules": True},
        {"dad": False},
        {"sysctls": {"net.ipv4.ip_local_reserved_ports": "7000"}},
    ],
    ids=str,
)
def test_settings_that_cannot_be_written_leave_nothing(
    runtime: Runtime, pod: Namespace, state: State, routing: dict[str, object]
) -> None:
    before = everything(pod)
    caged = runtime.but(wrapper=READ_ONLY)
    attachment = caged.attachment(pod, runtime.conf(**two_leaves(**routing)))
    message = attachment.call("ADD").error(ROUTING_FAILED)
    assert "Read-only file system" in message
    assert state.left() == []
    assert everything(pod) == before


@pytest.mark.parametrize("path", ["net.ipv4.route.flush", "net.ipv4.conf.all", "net.ipv4.nothing"])
def test_setting_that_cannot_be_read_is_named(
    runtime: Runtime, pod: Namespace, state: State, path: str
) -> None:
    conf = runtime.conf(**two_leaves(sysctls={path: "1"}))
    message = runtime.attachment(pod, conf).call("ADD").error(ROUTING_FAILED)
    assert path.replace(".", "/") in message
    assert state.left() == []


def test_kernel_words_settings_its_own_way(runtime: Runtime, pod: Namespace) -> None:
    ports = "net.ipv4.ip_local_reserved_ports"
    wanted = {ports: "7000,7001,7002", "net.ipv4.conf.IFNAME.tag": "07", "net.core.somaxconn": "9"}
    before = everything(pod)
    attachment = runtime.attachment(pod, runtime.conf(**two_leaves(sysctls=wanted)))
    attachment.add()
    assert pod.execute("sysctl", "-n", ports).strip() == "7000-7002"
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert everything(pod) == before


def test_list_that_is_to_be_empty(runtime: Runtime, pod: Namespace) -> None:
    ports = "net.ipv4.ip_local_reserved_ports"
    pod.execute("sysctl", "-qw", f"{ports}=7000")
    attachment = runtime.attachment(pod, runtime.conf(**two_leaves(sysctls={ports: ""})))
    attachment.add()
    assert pod.execute("sysctl", "-n", ports).strip() == ""
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert pod.execute("sysctl", "-n", ports).strip() == "7000"


def test_route_of_the_pods_own_stays_where_a_nic_brings_the_same(
    runtime: Runtime, pod: Namespace, node: Node, state: State
) -> None:
    give_primary(pod, node)
    pod.ip("route add 10.98.0.0/16 dev eth0")
    node.ip(
        "route add 10.98.0.0/16 nexthop via 10.1.0.254 dev rail1 nexthop via 10.2.0.254 dev rail2"
    )
    before = everything(pod)
    conf = runtime.conf(
        plugin={"type": "host-device"},
        masters=["rail1", "rail2"],
        restore=True,
        ipam={"type": "host-device-ipam"},
    )
    message = runtime.attachment(pod, conf).call("ADD").error(ROUTING_FAILED)
    assert "NIC rail1: the pod has a route to 10.98.0.0/16 already" in message
    assert everything(pod) == before
    assert {"rail1", "rail2"} <= node.links().keys()
    assert state.left() == []


def test_pod_with_many_routes(runtime: Runtime, pod: Namespace, node: Node) -> None:
    """Those of the primary interface are copied, and CHECK must not compare each with each."""
    give_primary(pod, node)
    pod.ip(
        *(
            f"route add 11.{number // 256}.{number % 256}.0/24 dev eth0 via 169.254.1.1 onlink"
            for number in range(MANY)
        )
    )
    before = everything(pod)
    conf = two_leaves(sourceRules=True, defaultRoute="rail1", keepOnPrimary=[])
    attachment = runtime.attachment(pod, runtime.conf(**conf, timeout=20))
    attachment.add()
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert everything(pod) == before
