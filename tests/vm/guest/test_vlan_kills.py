"""SIGKILL at each step by which VLANs come and go: DEL, a new ADD or `gc` clears up."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.vm.guest.node import EXECUTABLE, execute, links

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.vm.guest.node import Network, Pod

CONF: dict[str, Any] = {
    "plugin": {"type": "macvlan", "mode": "bridge"},
    "masters": ["eth0", "eth1"],
    "vlan": {"id": 100},
}
VLANS = {"eth0.100", "eth1.100"}
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)")
# Notes and their folders, the first setting of a link, and links that are made, set up, deleted.
CHANGE = re.compile(r"/vlans|\"vlans\"|/conf/eth.*/addr_gen_mode|RTM_(NEW|DEL)LINK")
TO_THE_KERNEL = "sendto"  # netlink: VLANs are asked for, made, set up and deleted
ON_FILES = ("openat", "mkdirat", "unlinkat", "renameat")


def points_of(network: Network, command: str, pod: Pod, file: Path) -> list[tuple[str, int]]:
    """Execute a call; return (system call, its number) of those that may concern VLANs."""
    names = ",".join((TO_THE_KERNEL, *ON_FILES))
    wrapper = ("strace", "--quiet=all", "-y", "-o", str(file), "-e", f"trace={names}")
    replace(network, wrapper=wrapper).call(command, pod).result()
    seen: dict[str, int] = {}
    points: list[tuple[str, int]] = []
    for line in file.read_text().splitlines():
        found = CALL.match(line)
        if not found:
            continue
        name, arguments = found.groups()
        seen[name] = seen.get(name, 0) + 1
        if CHANGE.search(arguments) and "O_DIRECTORY" not in arguments:
            points.append((name, seen[name]))
    kinds = {name for name, _ in points}
    assert {TO_THE_KERNEL, "unlinkat" if command == "DEL" else "mkdirat"} <= kinds
    return points


def killed_at(network: Network, command: str, pod: Pod, point: tuple[str, int]) -> None:
    name, number = point
    inject = f"inject={name}:signal=KILL:when={number}"
    wrapper = ("strace", "--quiet=all", "-o", "/dev/null", "-e", f"trace={name}", "-e", inject)
    answer = replace(network, wrapper=wrapper).call(command, pod)
    assert answer.status in {0, -signal.SIGKILL}, answer


def notes(network: Network) -> list[Path]:
    return [each for each in Path(network.conf["dataDir"], "vlans").rglob("*") if each.is_file()]


def nothing_is_left(network: Network, pod: Pod) -> None:
    assert pod.links() == {}
    assert {name for name in links() if "." in name} == set()
    assert notes(network) == []
    assert network.state() == set()


@pytest.mark.parametrize("command", ["ADD", "DEL"])
def test_killed(
    command: str,
    pods: tuple[Pod, Pod],
    make_network: Callable[..., Network],
    tmp_path: Path,
) -> None:
    pod, network = pods[0], make_network(**CONF)
    if command == "DEL":
        network.add(pod)
    points = points_of(network, command, pod, tmp_path / "trace")
    if command == "ADD":
        network.call("DEL", pod).result()
    nothing_is_left(network, pod)
    for turn, point in enumerate(points):
        if command == "DEL":
            network.add(pod)
        killed_at(network, command, pod, point)
        if turn % 3 == 1:  # a fresh ADD clears what it finds, if that was not whole
            network.call("ADD", pod)
            assert VLANS <= links().keys()
        network.call("DEL", pod).result()
        nothing_is_left(network, pod)


def test_pod_that_went_without_a_del(
    pods: tuple[Pod, Pod], make_pod: Callable[[str], Pod], make_network: Callable[..., Network]
) -> None:
    """`gc` takes its VLANs along, but not those of a living pod."""
    other, gone, network = pods[1], make_pod("gone"), make_network(**CONF)
    network.add(gone)
    network.add(other)
    execute("ip", "netns", "delete", gone.name)
    execute("ip", "netns", "add", gone.name)  # the fixture deletes one of that name

    def gc() -> list[str]:
        return execute(EXECUTABLE, "gc", "--data-dir", network.conf["dataDir"]).splitlines()

    assert len(gc()) == 1
    network.check(other)
    network.delete(other)
    nothing_is_left(network, other)
    network.add(gone)
    execute("ip", "netns", "delete", gone.name)
    execute("ip", "netns", "add", gone.name)
    assert len(gc()) == 1
    nothing_is_left(network, other)
