"""What one NIC cannot carry at once: as records tell, as the node shows, as the kernel says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.vm.guest.node import ip, links, on_rail, rail, ranges, what_stays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.vm.guest.node import Network, Pod

KEYS: dict[str, Any] = {"masterNets": [rail(0), rail(1)], "ipam": ranges(0, 1)}
NEVER_BOTH = "a NIC carries {} or {} links, never both"


@pytest.mark.parametrize(("first", "second"), [("ipvlan", "macvlan"), ("macvlan", "ipvlan")])
def test_second_kind_is_refused(
    first: str,
    second: str,
    pods: tuple[Pod, Pod],
    make_pod: Callable[[str], Pod],
    make_network: Callable[..., Network],
) -> None:
    network = make_network(plugin={"type": first}, **KEYS)
    for pod in pods:
        network.add(pod)
    late = make_pod("late")
    before = everything(network, *pods)

    message = make_network(name="late", plugin={"type": second}, **KEYS).call("ADD", late).error()

    uses = {"macvlan": "macvlan", "ipvlan": "ipvlan l2"}
    assert message.startswith(f"NICs eth0, eth1: network late wants {uses[second]}, but pod pod-")
    assert message.endswith(
        f" of network rails has {uses[first]} on it: {NEVER_BOTH.format(second, first)}"
    )
    assert late.links() == {}
    assert everything(network, *pods) == before
    pods[0].ping("net1", on_rail(0, 101))
    pods[0].ping("net1-1", on_rail(1, 101))
    for pod in pods:
        network.check(pod)
        network.delete(pod)
    assert network.state() == set()


@pytest.mark.parametrize(("first", "second"), [("ipvlan", "macvlan"), ("macvlan", "ipvlan")])
def test_strangers_kind_is_explained(
    first: str,
    second: str,
    pods: tuple[Pod, Pod],
    make_network: Callable[..., Network],
    tmp_path: Path,
) -> None:
    """Of pods whose records lie elsewhere the kernel alone knows, and says two words."""
    strangers = make_network(plugin={"type": first}, dataDir=str(tmp_path / "strange"), **KEYS)
    strangers.add(pods[0])
    before = everything(strangers, pods[0])

    answer = make_network(name="late", plugin={"type": second}, **KEYS).call("ADD", pods[1])

    message = answer.error()
    assert second in message
    assert "eth0" in message or "eth1" in message
    assert "busy" in message
    assert "takes the frames of NIC eth" in answer.document["details"]
    assert "links of another kind (macvlan or ipvlan)" in answer.document["details"]
    assert pods[1].links() == {}
    assert everything(strangers, pods[0]) == before
    strangers.delete(pods[0])


def test_mode_of_a_living_pod_stays(
    pods: tuple[Pod, Pod], make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    """The kernel would change it for all pods on the NIC, and say nothing."""
    network = make_network(plugin={"type": "ipvlan"}, **KEYS)
    routed = make_network(name="routed", plugin={"type": "ipvlan", "mode": "l3"}, **KEYS)
    for pod in pods:
        network.add(pod)
    late = make_pod("late")
    before = everything(network, *pods)

    message = routed.call("ADD", late).error()

    assert message.startswith("NICs eth0, eth1: network routed wants ipvlan l3, but pod pod-")
    assert message.endswith(
        " of network rails has ipvlan l2 on it: all ipvlan links of a NIC share one mode"
    )
    assert late.links() == {}
    assert everything(network, *pods) == before
    assert {mode_of(pod, inner) for pod in pods for inner in ("net1", "net1-1")} == {"l2"}
    pods[0].ping("net1", on_rail(0, 101))
    network.delete(pods[0])
    assert "ipvlan l2" in routed.call("ADD", late).error()
    network.delete(pods[1])
    routed.add(late)
    assert [mode_of(late, inner) for inner in ("net1", "net1-1")] == ["l3", "l3"]
    routed.delete(late)
    assert network.state() == set()


def mode_of(pod: Pod, interface: str) -> str:
    return str(pod.links()[interface]["linkinfo"]["info_data"]["mode"])


def test_ipvlan_of_the_node_itself(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    ip("link", "add", "link", "eth0", "name", "own0", "type", "ipvlan", "mode", "l3s")

    def network(**plugin: str) -> Network:
        return make_network(plugin=plugin, masterNets=[rail(0)], ipam=ranges(0))

    other_mode = network(type="ipvlan", mode="l3").call("ADD", pods[0]).error()
    other_kind = network(type="macvlan").call("ADD", pods[0]).error()
    same = network(type="ipvlan", mode="l3s")
    same.add(pods[0])

    assert mode_of(pods[0], "net1") == "l3s"
    same.delete(pods[0])
    ip("link", "delete", "own0")
    assert other_mode == (
        "NIC eth0: ipvlan l3 is wanted, but own0 on it is ipvlan l3s: all ipvlan links of a NIC"
        " share one mode"
    )
    assert other_kind == (
        "NIC eth0: macvlan is wanted, but own0 on it is ipvlan l3s: "
        + NEVER_BOTH.format("macvlan", "ipvlan")
    )


@pytest.fixture
def bridge() -> Iterator[str]:
    """Return a bridge of the node, of which eth0 is a port."""
    ip("link", "add", "br-host", "type", "bridge")
    ip("link", "set", "eth0", "master", "br-host")
    yield "br-host"
    ip("link", "delete", "br-host")


def test_vlan_stands_on_a_bridge_port(
    bridge: str, pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    """Tagged frames go to the VLAN before the bridge: what the kernel allows is not refused."""
    keys: dict[str, Any] = {"masterNets": [rail(0)], "ipam": ranges(0)}
    tagged = make_network(plugin={"type": "vlan", "vlanId": 7}, **keys)
    plain = make_network(plugin={"type": "ipvlan"}, **keys)

    message = plain.call("ADD", pods[1]).error()
    tagged.add(pods[0])

    assert message == (
        f"NIC eth0: it is a port of bridge {bridge}, which takes its frames: ipvlan can have"
        f" {bridge} as its master instead"
    )
    inside = pods[0].links()["net1"]
    assert inside["linkinfo"]["info_kind"] == "vlan"
    assert inside["link_index"] == links()["eth0"]["ifindex"]
    tagged.delete(pods[0])


def test_vlan_id_that_another_pod_has(
    pods: tuple[Pod, Pod], make_network: Callable[..., Network]
) -> None:
    network = make_network(
        plugin={"type": "vlan", "vlanId": 7}, masterNets=[rail(0)], ipam=ranges(0)
    )
    network.add(pods[0])

    answer = network.call("ADD", pods[1])

    assert "file exists" in answer.error()
    assert "NIC eth0 has a VLAN of that vlanId already" in answer.document["details"]
    network.delete(pods[0])
    network.add(pods[1])
    network.delete(pods[1])


def test_device_that_a_pod_has(pods: tuple[Pod, Pod], make_network: Callable[..., Network]) -> None:
    """A NIC was taken by its name; who asks for its PCI function hears where it is."""
    address = Path("/sys/class/net/eth5/device").resolve().parent.name
    by_name = make_network(plugin={"type": "host-device"}, masters=["eth5"])
    by_address = make_network(name="given", plugin={"type": "host-device", "pciBusID": address})
    by_name.add(pods[0])

    message = by_address.call("ADD", pods[1]).error()

    by_name.delete(pods[0])
    assert message == (
        f"the device {address} (pciBusID or deviceID) has no NIC on this node: pod pod-a of network"
        " rails has it"
    )


def everything(network: Network, *pods: Pod) -> tuple[object, ...]:
    """Return what a failed ADD must leave alone."""
    inside = [what_stays(pod.links()) for pod in pods]
    return what_stays(links()), inside, network.state()
