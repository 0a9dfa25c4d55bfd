"""SIGKILL of the plugin, and no DEL comes: after one `multinic-cni gc` nothing is wrong or lost."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import ranges
from tests.netns.hosts import foreign_host
from tests.netns.killing import Scene, assert_every_address_is_named, calling, kill, settle
from tests.netns.state import State
from tests.netns.tools import Ended, findings, tool
from tests.netns.tracing import killed_at
from tests.pytest_netns import on_rail, rail_net

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.tracing import Point
    from tests.pytest_netns import Attachment, Document, Namespace, Namespaces, Node, Runtime

# Node 1 of 4096 has two addresses on each of two NICs: 192.168.0.5 and .6, 192.168.64.5 and .6.
SHARES = {
    "cniVersion": "1.0.0",
    "masterNets": [rail_net(1), rail_net(2)],
    "subnet": "192.168.0.0/16",
    "hosts": {os.uname().nodename: 1},
}
TWO_ADDRESSES = {"type": "multi-nic-ipam", "interfaceBlock": 2, "hostBlock": 12}
EVERYTHING = {"probe": "next", "sticky": True, "cooldown": 3600}
ALL = {"192.168.0.5", "192.168.0.6", "192.168.64.5", "192.168.64.6"}
ONE_RAIL = ranges(1, last=101) | {"cniVersion": "1.0.0"}
ALL_OF_ONE_RAIL = {on_rail(1, 100), on_rail(1, 101)}


@pytest.fixture
def scene(runtime: Runtime, namespaces: Namespaces, tmp_path: Path) -> Scene:
    return Scene(runtime, namespaces, tmp_path)


def attached(runtime: Runtime, pod: Namespace, keys: Document, ifname: str = "net1") -> Attachment:
    args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=team;K8S_POD_NAME=db-0"
    return runtime.attachment(pod, runtime.conf(**keys), ifname=ifname, cni_args=args)


def every_address_can_be_given(
    runtime: Runtime, pod: Namespace, keys: Document, addresses: set[str]
) -> None:
    """Give them, one of each NIC at a time, and take them back."""
    state = State(runtime.data_dir)
    attachments = [attached(runtime, pod, keys, ifname) for ifname in ("net1", "net2")]
    for attachment in attachments:
        attachment.add()
    assert state.addresses().keys() == addresses
    for attachment in attachments:
        attachment.delete().succeeded()
    assert pod.links() == {}


def nothing_is_lost(
    scene: Scene, runtime: Runtime, spare: Namespace, keys: Document, addresses: set[str]
) -> None:
    """One sweep of what a killed call has left, whose pod has gone."""
    state = State(runtime.data_dir)
    settle(state)
    if not state.root.exists():
        return  # it was killed before it did anything
    tool(runtime, "gc").lines()
    assert state.addresses() == {}
    if scene.is_new(state):
        assert findings(runtime) == set()
        shutil.rmtree(state.root / "quarantine", ignore_errors=True)
        every_address_can_be_given(runtime, spare, keys, addresses)
        assert state.left() == []


def test_add_killed_at_every_change(
    scene: Scene, namespaces: Namespaces, node: Node, pod: Namespace
) -> None:
    """With all that is written for a probe, for sticky addresses and for shares."""
    foreign = foreign_host(namespaces, node)
    foreign.ip("address add 192.168.0.5/18 dev rail1")
    conf = SHARES | {"ipam": TWO_ADDRESSES | EVERYTHING}

    def attempt(point: Point, spare: Namespace) -> None:
        runtime, _ = scene.fresh()
        pod = namespaces.make("pod")
        kill(attached(runtime, pod, conf), "ADD", point)
        namespaces.remove(pod)
        assert_every_address_is_named(State(runtime.data_dir))
        plain = SHARES | {"ipam": TWO_ADDRESSES}
        nothing_is_lost(scene, runtime, spare, plain, ALL)

    runtime, state = scene.fresh()
    points = scene.points_of(runtime, calling(attached(runtime, pod, conf), "ADD"))
    assert state.addresses().keys() == {"192.168.0.6", "192.168.64.5"}
    for folder in ("turns", "boot", "quarantine", "shares", "sticky"):
        assert any(folder in point.line for point in points), folder
    scene.try_each(points, attempt)


def test_del_killed_at_every_change(scene: Scene, namespaces: Namespaces, pod: Namespace) -> None:
    conf = SHARES | {"ipam": TWO_ADDRESSES | {"sticky": True}}

    def attempt(point: Point, spare: Namespace) -> None:
        runtime, _ = scene.fresh()
        pod = namespaces.make("pod")
        attachment = attached(runtime, pod, conf)
        attachment.add()
        kill(attachment, "DEL", point)
        namespaces.remove(pod)
        assert_every_address_is_named(State(runtime.data_dir))
        nothing_is_lost(scene, runtime, spare, conf, ALL)

    runtime, _ = scene.fresh()
    attachment = attached(runtime, pod, conf)
    attachment.add()
    scene.try_each(scene.points_of(runtime, calling(attachment, "DEL")), attempt)


class StaleStore:
    """A store of pods that have gone without a DEL; each attempt has a copy."""

    def __init__(self, scene: Scene, namespaces: Namespaces, pods: int) -> None:
        self._scene = scene
        runtime, self.state = scene.fresh()
        made = [namespaces.make("pod") for _ in range(pods)]
        self.attachments = [attached(runtime, pod, ONE_RAIL) for pod in made]
        for attachment in self.attachments:
            attachment.add()
            namespaces.remove(attachment.pod)

    def copied(self) -> Runtime:
        runtime, state = self._scene.fresh()
        shutil.copytree(self.state.root, state.root)
        return runtime

    def add_strays(self) -> None:
        """Add all else that a sweep clears."""
        (self.state.root / "pools/10.1.0.0-24/10.1.0.101").write_bytes(b"gone\r\nnet1")
        (self.state.root / "pools/.reservation").touch()
        (self.state.root / "quarantine").mkdir()
        (self.state.root / "quarantine/10.1.0.100").write_text("1 this is over")


def test_first_add_after_a_boot_killed_at_every_change_of_its_own(
    scene: Scene, namespaces: Namespaces, pod: Namespace
) -> None:
    """What other ADDs do as well is left out. The next pods come before any `gc`."""
    stale = StaleStore(scene, namespaces, pods=2)
    stale.state.reboot()

    def attempt(point: Point, spare: Namespace) -> None:
        runtime = stale.copied()
        pod = namespaces.make("pod")
        kill(attached(runtime, pod, ONE_RAIL), "ADD", point)
        namespaces.remove(pod)
        settle(State(runtime.data_dir))
        every_address_can_be_given(runtime, spare, ONE_RAIL, ALL_OF_ONE_RAIL)
        for old in stale.attachments:
            replace(old, runtime=runtime, conf=runtime.conf(**ONE_RAIL)).delete().succeeded()
        nothing_is_lost(scene, runtime, spare, ONE_RAIL, ALL_OF_ONE_RAIL)

    runtime = stale.copied()
    points = scene.points_of(runtime, calling(attached(runtime, pod, ONE_RAIL), "ADD"))
    renamed = [at for at, point in enumerate(points) if point.syscall == "renameat"]
    reclaimed = next(at for at in renamed if '"boot"' in points[at].line)
    complete = next(at for at in reversed(renamed) if f'{pod.name}:net1.json"' in points[at].line)
    scene.try_each([*points[: reclaimed + 2], *points[complete:]], attempt)


@pytest.mark.parametrize("after", ["a boot", "kills"])
def test_gc_killed_at_every_change(scene: Scene, namespaces: Namespaces, after: str) -> None:
    stale = StaleStore(scene, namespaces, pods=1)
    if after == "a boot":
        stale.state.reboot()
    else:
        stale.add_strays()

    def gc(runtime: Runtime) -> Ended:
        return tool(runtime, "gc")

    def attempt(point: Point, spare: Namespace) -> None:
        runtime = stale.copied()
        killed_at(runtime, gc, point)
        nothing_is_lost(scene, runtime, spare, ONE_RAIL, ALL_OF_ONE_RAIL)

    scene.try_each(scene.points_of(stale.copied(), gc), attempt)
