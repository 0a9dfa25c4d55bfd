"""The size of frames that a pod's interfaces carry, with the real delegates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import ranges

if TYPE_CHECKING:
    from tests.netns.state import State
    from tests.pytest_netns import Document, Namespace, Node, Runtime

BAD_CONF, NO_NICS, ROUTING_FAILED = 7, 100, 106
MACVLAN, TUNING = {"type": "macvlan", "mode": "bridge"}, {"type": "tuning"}
HOST_DEVICE = {"type": "host-device"}


@pytest.fixture(autouse=True)
def large_first_rail(node: Node) -> None:
    """Every test: rail1 carries 9000, rail2 1500."""
    node.wire.ip(f"link set {node.port(1)} mtu 9000")
    node.ip("link set rail1 mtu 9000")


def mtus(pod: Namespace) -> list[int]:
    return [link["mtu"] for _, link in sorted(pod.links().items())]


def told(result: Document) -> list[int]:
    return [each["mtu"] for each in result["interfaces"]]


def test_each_has_its_nics_and_the_difference_is_told(runtime: Runtime, pod: Namespace) -> None:
    answer = runtime.attachment(pod, runtime.conf(**ranges(1, 2))).call("ADD")
    assert told(answer.result()) == mtus(pod) == [9000, 1500]
    (line,) = [line for line in answer.stderr.splitlines() if "MTU" in line]
    assert "the NICs differ in MTU: rail1 9000, rail2 1500" in line


@pytest.mark.parametrize(
    "conf",
    [
        pytest.param({"mtu": 1400}, id="set"),
        pytest.param({"mtu": 1400, "plugin": [MACVLAN, TUNING]}, id="set for a chain"),
        pytest.param({"plugin": {**MACVLAN, "mtu": 1400}}, id="in the template"),
        pytest.param({"plugin": [MACVLAN, {**TUNING, "mtu": 1400}]}, id="by tuning"),
        pytest.param({"mtu": 1400, "plugin": HOST_DEVICE}, id="of the NICs themselves"),
        pytest.param({"mtu": 9000, "plugin": HOST_DEVICE}, id="more than a NIC had"),
    ],
)
def test_one_size_for_all(runtime: Runtime, pod: Namespace, node: Node, conf: Document) -> None:
    """The NICs themselves have their own again after it."""
    attachment = runtime.attachment(pod, runtime.conf(**ranges(1, 2) | conf))
    answer = attachment.call("ADD")
    attachment.result = answer.result()
    size = conf.get("mtu", 1400)
    assert told(attachment.result) == mtus(pod) == [size, size]
    assert "MTU" not in answer.stderr
    attachment.check().succeeded()
    attachment.delete().succeeded()
    assert [node.links()[f"rail{rail}"]["mtu"] for rail in (1, 2)] == [9000, 1500]


@pytest.mark.parametrize(
    ("conf", "whose"),
    [
        pytest.param({"mtu": 1501}, "the net conf", id="set"),
        pytest.param({"plugin": {**MACVLAN, "mtu": 1501}}, "macvlan", id="in the template"),
        pytest.param({"plugin": [MACVLAN, {**TUNING, "mtu": 1501}]}, "tuning", id="by tuning"),
    ],
)
def test_more_than_a_nic_has(
    runtime: Runtime, pod: Namespace, state: State, conf: Document, whose: str
) -> None:
    conf = runtime.conf(**ranges(1, 2) | {"attachPolicy": {"minNics": 2}} | conf)
    message = runtime.attachment(pod, conf).call("ADD").error(NO_NICS)
    assert f"NIC rail2: mtu 1501 of {whose} is more than the NIC's own, 1500" in message
    assert state.left() == []
    assert pod.links() == {}


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        ({"mtu": 60}, "mtu: must be at least 68, not 60"),
        ({"plugin": {**MACVLAN, "mtu": 60}}, "plugin.mtu: 60 is less than IPv4 needs, 68"),
        (
            {"mtu": 1279, "subnet": "fd01::/48", "ipam": {"type": "multi-nic-ipam"}},
            "mtu: 1279 is less than IPv6 needs, 1280",
        ),
    ],
)
def test_too_small(runtime: Runtime, pod: Namespace, conf: Document, message: str) -> None:
    answer = runtime.attachment(pod, runtime.conf(**ranges(1, 2) | conf)).call("ADD")
    assert message in answer.error(BAD_CONF)


def test_ipv6_on_a_nic_that_is_too_small_for_it(
    runtime: Runtime, pod: Namespace, node: Node
) -> None:
    node.ip("link set rail2 mtu 1279")
    conf = runtime.conf(masters=["rail2"], subnet="fd01::/48", ipam={"type": "multi-nic-ipam"})
    message = runtime.attachment(pod, conf).call("ADD").error(NO_NICS)
    assert "NIC rail2: the NIC's mtu, 1279, is less than IPv6 needs, 1280" in message


def test_what_the_driver_does_not_take(
    runtime: Runtime, pod: Namespace, node: Node, state: State
) -> None:
    """A macvlan link as the NIC takes no more than the NIC below it, and says so late."""
    node.ip("link add small link rail2 type macvlan", "link set small up")
    before = node.links()["small"]
    conf = runtime.conf(plugin=HOST_DEVICE, masters=["small"], mtu=9000)

    answer = runtime.attachment(pod, conf).call("ADD")

    assert answer.error(ROUTING_FAILED) == (
        "NIC small: net1 has mtu 1500, and cannot have 9000 (mtu of the net conf): Invalid argument"
    )
    assert answer.document["details"].startswith("its driver takes 68 to ")
    after = node.links()["small"]
    assert (after["ifindex"], after["mtu"]) == (before["ifindex"], 1500)
    assert state.left() == []


def test_check_finds_another_size(runtime: Runtime, pod: Namespace) -> None:
    attachment = runtime.attachment(pod, runtime.conf(**ranges(1, 2), mtu=1400))
    attachment.add()
    attachment.check().succeeded()
    pod.ip("link set net1-1 mtu 1300")
    assert "interface net1-1 (NIC rail2) has mtu 1300, not 1400" in attachment.check().error(105)
