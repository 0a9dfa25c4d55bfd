"""The default route by a rail: what stays on the primary interface, and how it comes back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.in_place import (
    CONNECTED,
    CONNECTED_OF_IPV6,
    LINK_LOCAL_OF_IPV6,
    PRIMARY,
    RULES,
    RULES_OF_IPV6,
    SECOND,
    everything,
    give_primary,
    routes,
    rules,
    two_leaves,
)
from tests.netns.traffic import make_router, watching

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.mounts import Mounts
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

BAD_CONF, DIFFERENCES = 7, 105
FAR_AWAY, OUTSIDE = "198.51.100.7", "203.0.113.99"
BY_SECOND: dict[str, Any] = {
    "defaultRoute": SECOND,
    "keepOnPrimary": ["10.96.0.0/12", "fd00:96::/112"],
}
ON_PRIMARY = {
    "169.254.1.1 dev eth0 scope link",
    "10.96.0.0/12 via 169.254.1.1 dev eth0",
    "169.254.0.0/16 via 169.254.1.1 dev eth0",
    # The node's own addresses.
    "10.1.0.1 via 169.254.1.1 dev eth0",
    "10.2.0.1 via 169.254.1.1 dev eth0",
    "10.3.0.1 via 169.254.1.1 dev eth0",
    "10.4.0.1 via 169.254.1.1 dev eth0",
}
FORMER_TABLE = {
    "169.254.1.1 dev eth0 table 1999 scope link",
    "default via 169.254.1.1 dev eth0 table 1999",
}
GATEWAY_OF_IPV6 = "fe80::ecee:eeff:feee:eeee"
ON_PRIMARY_OF_IPV6 = {
    "fd00:244::5 dev eth0 proto kernel metric 256 pref medium",
    f"{GATEWAY_OF_IPV6} dev eth0 metric 1024 pref medium",
    f"fd00:96::/112 via {GATEWAY_OF_IPV6} dev eth0 metric 1024 pref medium",
}
FORMER_TABLE_OF_IPV6 = {
    "fd00:244::5 dev eth0 table 1999 proto kernel metric 256 pref medium",
    f"{GATEWAY_OF_IPV6} dev eth0 table 1999 metric 1024 pref medium",
    f"default via {GATEWAY_OF_IPV6} dev eth0 table 1999 metric 1024 pref medium",
}
DEFAULT = "default via 172.21.1.254 dev net1-1 proto static"
DEFAULT_OF_IPV6 = "default via fd02:2:0:1::fe dev net1-1 proto static metric 1024 pref medium"


@pytest.fixture
def primary(pod: Namespace, node: Node) -> Namespace:
    """Return the pod with the interface that its cluster gave it."""
    give_primary(pod, node)
    return pod


def test_what_stays_on_the_primary(runtime: Runtime, primary: Namespace) -> None:
    before = everything(primary)
    attachment = runtime.attachment(primary, runtime.conf(**two_leaves(**BY_SECOND)))
    attachment.add()

    assert routes(primary) == CONNECTED | ON_PRIMARY | FORMER_TABLE | {DEFAULT}
    assert rules(primary) == RULES | {"1002: from 10.244.0.5 lookup 1999 proto static"}
    assert routes(primary, "-6") == (
        CONNECTED_OF_IPV6
        | LINK_LOCAL_OF_IPV6
        | ON_PRIMARY_OF_IPV6
        | FORMER_TABLE_OF_IPV6
        | {DEFAULT_OF_IPV6}
    )
    assert rules(primary, "-6") == RULES_OF_IPV6 | {
        "1002: from fd00:244::5 lookup 1999 proto static"
    }
    attachment.check().succeeded()
    for _ in "twice":
        attachment.delete().succeeded()
        assert everything(primary) == before


def test_probes_are_answered_and_the_rest_goes_by_the_rail(
    runtime: Runtime, primary: Namespace, node: Node, wire: Namespace, tmp_path: Path
) -> None:
    """A client behind the node's port, whom no route of the pod's names; and one out there."""
    node.ip(f"address add {FAR_AWAY}/32 dev lo")
    make_router(wire, 1)
    wire.ip(f"address add {OUTSIDE}/32 dev lo")
    conf = two_leaves(sourceRules=True, **BY_SECOND)
    runtime.attachment(primary, runtime.conf(**conf)).add()

    with watching(wire, tmp_path / "seen") as seen:
        node.ping(PRIMARY, interface=FAR_AWAY)
        node.ping(PRIMARY, interface="10.1.0.1")
        primary.ping(OUTSIDE)
        primary.ping("10.3.0.1")

    assert seen.echoes() == {("request", "172.21.1.1", OUTSIDE, 1, 2)}


def test_somebody_must_say_what_stays(
    runtime: Runtime, primary: Namespace, state: State, mounts: Mounts
) -> None:
    before = everything(primary)
    mounts.mount_tmpfs("/etc/cni")
    mounts.seen("/etc/cni/multinic").mkdir()
    conf = runtime.conf(**two_leaves(defaultRoute=SECOND))
    attachment = runtime.but(wrapper=mounts.wrapper).attachment(primary, conf)

    message = attachment.call("ADD").error(BAD_CONF)

    assert "keepOnPrimary" in message
    assert everything(primary) == before
    assert state.left() == []
    node_file = {"keepOnPrimary": BY_SECOND["keepOnPrimary"]}
    mounts.seen("/etc/cni/multinic/node.json").write_text(json.dumps(node_file))
    attachment.add()
    assert routes(primary) >= ON_PRIMARY | FORMER_TABLE | {DEFAULT}
    attachment.delete().succeeded()
    assert everything(primary) == before


def test_highest_tables(runtime: Runtime, primary: Namespace) -> None:
    """The conf's last number still leaves room for the former default's table."""
    before = everything(primary)
    conf = two_leaves(sourceRules=True, firstTable=2**32 - 1000, **BY_SECOND)
    attachment = runtime.attachment(primary, runtime.conf(**conf))
    attachment.add()
    assert "1002: from 10.244.0.5 lookup 4294967295 proto static" in rules(primary)
    assert "default via 169.254.1.1 dev eth0 table 4294967295" in routes(primary)
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert everything(primary) == before


def test_pod_without_a_primary(runtime: Runtime, pod: Namespace) -> None:
    """There is nothing to keep, and nobody need say what."""
    before = everything(pod)
    attachment = runtime.attachment(pod, runtime.conf(**two_leaves(defaultRoute=SECOND)))
    attachment.add()
    assert routes(pod) == CONNECTED | {DEFAULT}
    assert rules(pod) == RULES
    attachment.delete().succeeded()
    assert everything(pod) == before


def test_default_that_came_back_by_itself(runtime: Runtime, primary: Namespace) -> None:
    """CHECK sees it, and DEL does not stumble over it."""
    before = everything(primary)
    attachment = runtime.attachment(primary, runtime.conf(**two_leaves(**BY_SECOND)))
    attachment.add()
    primary.ip("route replace default via 169.254.1.1 dev eth0")

    message = attachment.check().error(DIFFERENCES)

    assert "0.0.0.0/0" in message
    attachment.delete().succeeded()
    assert everything(primary) == before
