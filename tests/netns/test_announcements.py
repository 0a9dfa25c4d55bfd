"""Neighbours that knew an address's former owner, and hear who has it now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import ranges
from tests.netns.hosts import mac_of
from tests.netns.traffic import watching
from tests.packets import arp_announcement, unsolicited_advertisement
from tests.pytest_netns import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.traffic import Capture
    from tests.pytest_netns import Document, Namespace, Namespaces, Node, Runtime

V4, V6 = "10.1.0.100", "fd00:1::100"
FORMER, NEIGHBOUR = 99, 50
PLUGINS = [{"type": "host-device"}, {"type": "macvlan", "mode": "bridge"}]


@pytest.fixture
def neighbour(namespaces: Namespaces, node: Node) -> Node:
    """Return a host that has spoken with the addresses' former owner, who is gone."""
    former = namespaces.make_node(node.wire, rails=1, host=FORMER)
    former.ip(*(f"address add {each} dev rail1 nodad" for each in (f"{V4}/24", f"{V6}/64")))
    host = namespaces.make_node(node.wire, rails=1, host=NEIGHBOUR)
    host.ip(f"address add fd00:1::{NEIGHBOUR}/64 dev rail1 nodad")
    for each in (V4, V6):
        host.ping(each)
    mac = mac_of(former)
    namespaces.remove(former)
    # As after a while: one that was just used would be given up when its owner is silent.
    host.ip(*(f"neigh replace {each} lladdr {mac} dev rail1 nud stale" for each in (V4, V6)))
    assert known(host) == {V4: mac, V6: mac}
    return host


def known(host: Namespace) -> dict[str, str | None]:
    """Return the MACs that a host has of the two addresses."""
    entries = {each["dst"]: each.get("lladdr") for each in host.show("neigh")}
    return {each: entries.get(each) for each in (V4, V6)}


def tentative(pod: Namespace) -> list[Document]:
    """Return the pod's addresses that may be somebody else's yet."""
    listed = [each for link in pod.show("address") for each in link["addr_info"]]
    return [each for each in listed if each["scope"] == "global" and "tentative" in each]


def conf_of(plugin: Document, **routing: object) -> dict[str, Any]:
    """Return the keys of a conf that gives a pod the two addresses."""
    conf = ranges(1)
    (listed,) = conf["ipam"]["ranges"].values()
    listed.append({"subnet": "fd00:1::/64", "rangeStart": V6, "rangeEnd": "fd00:1::109"})
    return {**conf, "plugin": plugin, "routing": routing}


def count(seen: Capture, frame: bytes) -> int:
    return [each.octets for each in seen.frames()].count(frame)


@pytest.mark.parametrize("dad", [True, False], ids=["DAD", "no DAD"])
@pytest.mark.parametrize("plugin", PLUGINS, ids=["host-device", "macvlan"])
def test_neighbours_learn_the_new_mac(
    *,
    runtime: Runtime,
    pod: Namespace,
    node: Node,
    neighbour: Node,
    plugin: Document,
    dad: bool,
    tmp_path: Path,
) -> None:
    with watching(node.wire, tmp_path / "seen") as seen:
        runtime.attachment(pod, runtime.conf(**conf_of(plugin, dad=dad))).add()
        mac = mac_of(pod, "net1")
        new = {V4: mac, V6: mac}
        wait_until(lambda: known(neighbour) == new, "the neighbour knows the new owner")
        told = arp_announcement(mac, V4), unsolicited_advertisement(mac, V6)
        wait_until(lambda: all(count(seen, each) for each in told), "all frames were seen")
    assert tentative(pod) == []


def test_silence_if_asked_for(
    runtime: Runtime, pod: Namespace, node: Node, neighbour: Node, tmp_path: Path
) -> None:
    """It is the announcement that the other test sees, and nothing that the kernel does anyway."""
    before = known(neighbour)
    with watching(node.wire, tmp_path / "seen") as seen:
        conf = conf_of({"type": "host-device"}, announce=False, dad=False)
        runtime.attachment(pod, runtime.conf(**conf)).add()
        wait_until(lambda: tentative(pod) == [], "the addresses are usable")
    mac = mac_of(pod, "net1")
    assert known(neighbour) == before
    assert count(seen, arp_announcement(mac, V4)) == 0
    assert count(seen, unsolicited_advertisement(mac, V6)) == 0


def test_address_that_somebody_still_has_is_not_announced(
    runtime: Runtime, pod: Namespace, node: Node, namespaces: Namespaces, tmp_path: Path
) -> None:
    """The kernel finds the other owner, by IPv6 at least, and the neighbours stay with him."""
    other = namespaces.make_node(node.wire, rails=1, host=FORMER)
    other.ip(f"address add {V6}/64 dev rail1 nodad")
    with watching(node.wire, tmp_path / "seen") as seen:
        runtime.attachment(pod, runtime.conf(**conf_of({"type": "host-device"}))).add()
        wait_until(
            lambda: [each for each in tentative(pod) if "dadfailed" in each],
            "the kernel has found the other one",
        )
    mac = mac_of(pod, "net1")
    assert count(seen, arp_announcement(mac, V4)) == 1
    assert count(seen, unsolicited_advertisement(mac, V6)) == 0
