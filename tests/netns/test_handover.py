"""NICs that go into pods come back, with `restore` as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.handing import HOST_DEVICE, RULES, AsSeen, furnish, is_as_before, restoring

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Namespace, Node, Runtime

PASSING = "address add 10.1.0.99/24 dev rail1 valid_lft 3600 preferred_lft 3600"


@pytest.fixture
def furnished(node: Node) -> Node:
    """Return a node whose rail1 has all that a NIC may have."""
    furnish(node)
    return node


def test_nic_comes_back_as_it_was(
    runtime: Runtime, furnished: Node, pod: Namespace, state: State
) -> None:
    before = AsSeen.on(furnished)
    attachment = restoring(runtime, pod)
    attachment.add()
    assert "rail1" not in furnished.links()
    assert pod.addresses() == {"net1": ["172.26.1.1/24"]}
    # Nothing of the pod's stays on it.
    pod.ip("link set net1 mtu 900", "address add 172.26.9.9/24 dev net1")
    pod.ip("link set net1 arp off", "link set net1 promisc on", "link set net1 allmulticast on")

    answer = attachment.delete()

    answer.succeeded()
    assert "not put back" not in answer.stderr
    is_as_before(furnished, before)
    assert pod.links() == {}
    assert state.left() == []


def test_rules_that_went_meanwhile(runtime: Runtime, furnished: Node, pod: Namespace) -> None:
    """The kernel keeps a rule without its NIC; somebody may have tidied up."""
    before = AsSeen.on(furnished)
    attachment = restoring(runtime, pod)
    attachment.add()
    furnished.ip(*(rule.replace("rule add", "rule delete") for rule in RULES))

    attachment.delete().succeeded()

    is_as_before(furnished, before)


def test_addresses_with_an_end_stay_away(runtime: Runtime, node: Node, pod: Namespace) -> None:
    """Whoever gave it for a while gives it anew."""
    node.ip(PASSING)
    attachment = restoring(runtime, pod)
    attachment.add()

    attachment.delete().succeeded()

    assert node.addresses()["rail1"] == ["10.1.0.1/24"]


def test_nic_that_was_down(runtime: Runtime, node: Node, pod: Namespace) -> None:
    node.ip("link set rail1 down")
    policy = {"unhealthy": "use"}
    attachment = restoring(runtime, pod, attachPolicy=policy)
    attachment.add()

    attachment.delete().succeeded()

    assert "UP" not in node.links()["rail1"]["flags"]
    assert node.addresses()["rail1"] == ["10.1.0.1/24"]


def test_gateway_that_has_gone(runtime: Runtime, node: Node, pod: Namespace, state: State) -> None:
    """What cannot be put back is logged with the kernel's reason; the rest is."""
    node.ip(
        "address add 10.77.0.1/24 dev rail1 valid_lft 3600 preferred_lft 3600",
        "route add 10.91.0.0/16 via 10.77.0.254 dev rail1",
        "route add 10.92.0.0/16 via 10.1.0.254 dev rail1",
    )
    attachment = restoring(runtime, pod)
    attachment.add()

    answer = attachment.delete()

    answer.succeeded()
    (line,) = [line for line in answer.stderr.splitlines() if "not put back" in line]
    assert "route 10.91.0.0/16 table 254 is not put back nic=rail1" in line
    assert "reason=Network is unreachable" in line
    assert "dst=10.92.0.0/16 gateway=10.1.0.254 dev=rail1" in node.routes()
    assert state.left() == []


def test_without_restore(runtime: Runtime, furnished: Node, pod: Namespace, state: State) -> None:
    """Name and MTU come back in any case; nothing else was asked for, or is noted."""
    attachment = runtime.attachment(pod, runtime.conf(**HOST_DEVICE))
    attachment.add()
    (record,) = state.records().values()
    assert not record["nics"][0]["former"].keys() & {"restore", "addresses", "routes", "rules"}
    pod.ip("link set net1 mtu 900")

    attachment.delete().succeeded()

    assert furnished.links()["rail1"]["mtu"] == 1400
    assert furnished.addresses()["rail1"] == []
    assert state.left() == []


def test_addresses_in_the_pod_and_back(runtime: Runtime, furnished: Node, pod: Namespace) -> None:
    before = AsSeen.on(furnished)
    own = furnished.addresses()["rail1"]
    attachment = restoring(runtime, pod, ipam={"type": "host-device-ipam"})
    attachment.add()
    assert sorted(pod.addresses()["net1"]) == sorted(own)
    assert "dst=default gateway=10.1.0.254 dev=net1 table=101" in pod.routes()
    (rule,) = (rule for rule in pod.show("rule") if rule["priority"] == 5000)
    assert (rule["src"], rule["table"]) == ("10.1.0.1", "101")
    (by_ipv6,) = pod.show("-6", "route", "show", "fd00:92::/48", "table", "101")
    assert (by_ipv6["dev"], by_ipv6["prefsrc"]) == ("net1", "fd00:1::2")

    attachment.delete().succeeded()

    is_as_before(furnished, before)


def test_two_nics_of_one_route(
    runtime: Runtime, furnished: Node, pod: Namespace, state: State
) -> None:
    before = AsSeen.on(furnished)
    ranges = {nic: [{"subnet": f"172.26.{at}.0/24"}] for at, nic in ((1, "rail1"), (2, "rail2"))}
    attachment = restoring(
        runtime,
        pod,
        masters=["rail1", "rail2"],
        ipam={"type": "multi-nic-ipam", "ranges": ranges},
    )
    attachment.add()

    attachment.delete().succeeded()

    is_as_before(furnished, before)
    assert state.left() == []
