"""Two NICs in one subnet: who answers for an address, who asks for one, and by which NIC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.hosts import mac_of
from tests.netns.traffic import ARP_REPLY, ARP_REQUEST, watching
from tests.pytest_netns import WIRE_HOST, on_rail, rail_net, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_netns import Namespace, Node, Runtime

TWIN = 9  # the node's number on rail 1 by its second NIC there
NEIGHBOUR = on_rail(1, WIRE_HOST)
FIRST, SECOND = on_rail(1, 100), on_rail(1, 101)
ONE_SUBNET: dict[str, Any] = {
    "masters": ["rail1", "twin"],
    "masterNets": [rail_net(1)],
    "ipam": {
        "type": "multi-nic-ipam",
        "ranges": {rail_net(1): [{"rangeStart": FIRST, "rangeEnd": SECOND}]},
    },
}
STRICT, LOOSE = "1", "2"


@dataclass(frozen=True)
class Twins:
    """A pod with FIRST on net1 and SECOND on net1-1, both on one wire."""

    pod: Namespace
    wire: Namespace

    @property
    def own(self) -> set[tuple[str, str]]:
        """The MAC of each interface with its own address."""
        return {(mac_of(self.pod, "net1"), FIRST), (mac_of(self.pod, "net1-1"), SECOND)}

    @property
    def swapped(self) -> set[tuple[str, str]]:
        return {(mac_of(self.pod, "net1-1"), FIRST), (mac_of(self.pod, "net1"), SECOND)}


def twins(runtime: Runtime, node: Node, pod: Namespace, **routing: object) -> Twins:
    node.plug_in(1, "twin", TWIN)
    conf = ONE_SUBNET | ({"routing": routing} if routing else {})
    runtime.attachment(pod, runtime.conf(**conf)).add()
    assert pod.addresses() == {"net1": [f"{FIRST}/24"], "net1-1": [f"{SECOND}/24"]}
    node.wire.ip("neigh flush dev br1")
    return Twins(pod, node.wire)


def test_only_the_right_one_answers(
    runtime: Runtime, node: Node, pod: Namespace, tmp_path: Path
) -> None:
    pair = twins(runtime, node, pod, sourceRules=True)
    with watching(pair.wire, tmp_path / "seen") as seen:
        for address in (FIRST, SECOND, FIRST):
            pair.wire.ip("neigh flush dev br1")
            pair.wire.ping(address)
    assert seen.arp(ARP_REPLY) == pair.own


def test_both_answer_without_rules(
    runtime: Runtime, node: Node, pod: Namespace, tmp_path: Path
) -> None:
    pair = twins(runtime, node, pod)
    with watching(pair.wire, tmp_path / "seen") as seen:
        for address in (FIRST, SECOND):
            pair.wire.ping(address)
        both = pair.own | pair.swapped
        wait_until(lambda: seen.arp(ARP_REPLY) == both, "both interfaces answer for both addresses")


def ask_by_each(pair: Twins) -> None:
    """Let the pod ask for a neighbour that it does not know, from each of its addresses."""
    for source in (FIRST, SECOND):
        for interface in ("net1", "net1-1"):
            pair.pod.ip(f"neigh flush dev {interface}")
        pair.pod.ping(NEIGHBOUR, interface=source)


def test_each_asks_in_its_own_name(
    runtime: Runtime, node: Node, pod: Namespace, tmp_path: Path
) -> None:
    pair = twins(runtime, node, pod, sourceRules=True)
    with watching(pair.wire, tmp_path / "seen") as seen:
        ask_by_each(pair)
    assert seen.arp(ARP_REQUEST) == pair.own
    sent = {(each.sender, echo[1]) for each in seen.frames() if (echo := each.echo())}
    assert sent == pair.own


def test_one_asks_in_the_name_of_the_other_without_rules(
    runtime: Runtime, node: Node, pod: Namespace, tmp_path: Path
) -> None:
    pair = twins(runtime, node, pod)
    with watching(pair.wire, tmp_path / "seen") as seen:
        ask_by_each(pair)
    # That of the first route, whichever delegate was done first.
    in_whose_name = {mac for mac, _ in seen.arp(ARP_REQUEST)}
    assert len(in_whose_name) == 1
    assert in_whose_name < {mac_of(pod, "net1"), mac_of(pod, "net1-1")}
    assert {address for _, address in seen.arp(ARP_REQUEST)} == {FIRST, SECOND}


@pytest.mark.parametrize("strict", ["all", "default"])
def test_strict_pod_is_loosened(runtime: Runtime, node: Node, pod: Namespace, strict: str) -> None:
    """The kernel takes the larger of `all` and the interface's: 0 would change nothing."""
    pod.execute("sysctl", "-qw", f"net.ipv4.conf.{strict}.rp_filter={STRICT}")
    pair = twins(runtime, node, pod, sourceRules=True)

    values = [value_of(pod, f"net.ipv4.conf.{name}.rp_filter") for name in ("net1", "net1-1")]
    assert values == [LOOSE, LOOSE]
    assert value_of(pod, f"net.ipv4.conf.{strict}.rp_filter") == STRICT
    for address in (FIRST, SECOND):
        pair.wire.ping(address)


def value_of(pod: Namespace, name: str) -> str:
    return pod.execute("sysctl", "-n", name).strip()


def test_what_is_set_on_each_interface(runtime: Runtime, node: Node, pod: Namespace) -> None:
    twins(runtime, node, pod, sourceRules=True)
    for name in ("net1", "net1-1"):
        settings = {
            key: value_of(pod, f"net.ipv4.conf.{name}.{key}")
            for key in ("arp_ignore", "arp_announce", "rp_filter")
        }
        assert settings == {"arp_ignore": "1", "arp_announce": "2", "rp_filter": LOOSE}
    assert value_of(pod, "net.ipv4.conf.all.arp_ignore") == "0"
