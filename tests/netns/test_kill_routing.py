"""SIGKILL of the plugin at every change in the pod: DEL, or a fresh ADD, puts all back."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.in_place import FIRST, everything, give_primary, two_leaves
from tests.netns.killing import Scene, calling, kill, settle

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.state import State
    from tests.netns.tracing import Point
    from tests.pytest_netns import Attachment, Namespace, Namespaces, Node, Runtime

ALREADY_ATTACHED = 103
SETTINGS = "/proc/sys/net/"


def conf_of_one_rail() -> dict[str, Any]:
    """Return a conf with a step of each kind, both families."""
    conf = two_leaves(
        sourceRules=True,
        deviceRules=True,
        dad=False,
        linkLocal=False,
        defaultRoute=FIRST,
        keepOnPrimary=["10.96.0.0/12", "fd00:96::/112"],
        neighbors=[{"address": "172.20.1.77", "mac": "02:00:5e:10:00:07"}],
        sysctls={"net.ipv4.ip_local_reserved_ports": "4791"},
    )
    # Debian's macvlan speaks 1.0.0 at most: one delegate a NIC and verb.
    return conf | {"masterNets": [FIRST], "ipam": _of_one_rail(conf["ipam"]), "cniVersion": "1.0.0"}


def _of_one_rail(ipam: dict[str, Any]) -> dict[str, Any]:
    return ipam | {"ranges": {FIRST: ipam["ranges"][FIRST]}}


class Stage:
    """Attempts in pods that have a primary interface."""

    def __init__(self, scene: Scene, node: Node) -> None:
        self.scene = scene
        self._node = node
        self._numbers = itertools.count()

    def attachment(self, pod: Namespace) -> tuple[Attachment, State]:
        """Return an attachment with a data directory that does not exist yet."""
        if "eth0" not in pod.links():
            give_primary(pod, self._node, f"cali{next(self._numbers)}")
        runtime, state = self.scene.fresh()
        return runtime.attachment(pod, runtime.conf(**conf_of_one_rail())), state

    def points(self, pod: Namespace, command: str) -> list[Point]:
        """Return the points from the first to the last change in the pod."""
        attachment, _ = self.attachment(pod)
        before = everything(pod)
        if command == "DEL":
            attachment.add()
        points = self.scene.points_of(attachment.runtime, calling(attachment, command))
        if command == "ADD":
            attachment.delete().succeeded()
        assert everything(pod) == before
        inside = [at for at, point in enumerate(points) if is_in_pod(point)]
        return points[inside[0] : inside[-1] + 2]


def is_in_pod(point: Point) -> bool:
    return point.syscall == "sendto" or (point.syscall == "write" and SETTINGS in point.line)


@pytest.fixture
def stage(runtime: Runtime, namespaces: Namespaces, node: Node, tmp_path: Path) -> Stage:
    return Stage(Scene(runtime, namespaces, tmp_path), node)


@pytest.mark.parametrize("command", ["ADD", "DEL"])
def test_killed_at_every_change(stage: Stage, pod: Namespace, command: str) -> None:
    def attempt(point: Point, pod: Namespace) -> None:
        attachment, state = stage.attachment(pod)
        before = everything(pod)
        if command == "DEL":
            attachment.add()
        kill(attachment, command, point)
        settle(state)
        attachment.delete().succeeded()
        assert everything(pod) == before
        assert state.left() == []

    points = stage.points(pod, command)
    assert {"sendto", "write"} <= {point.syscall for point in points}
    stage.scene.try_each(points, attempt)


def test_add_again_after_a_killed_one(stage: Stage, pod: Namespace) -> None:
    """It takes back what the first one had set, or refuses where that one was complete."""

    def attempt(point: Point, pod: Namespace) -> None:
        attachment, state = stage.attachment(pod)
        before = everything(pod)
        kill(attachment, "ADD", point)
        settle(state)
        answer = attachment.call("ADD")
        if answer.status:
            answer.error(ALREADY_ATTACHED)
        else:
            attachment.result = answer.result()
            attachment.check().succeeded()
        attachment.delete().succeeded()
        assert everything(pod) == before
        assert state.left() == []

    stage.scene.try_each(stage.points(pod, "ADD")[::4], attempt)
