"""Folders that the plugin and host-local's own plugin use in turn: neither gives what is held.

host-local keeps its addresses in <dataDir>/<network's name>: with our pools as its dataDir and a
block's folder as the name, both work on the same files.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.netns.confs import ranges
from tests.pytest_netns import DELEGATES, rail_net

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.state import State
    from tests.pytest_netns import Document, Namespace, Runtime

NO_ADDRESS = 101
WHOLE_BLOCK: dict[str, Any] = {
    "masterNets": [rail_net(1)],
    "ipam": {"type": "multi-nic-ipam", "ranges": {rail_net(1): [{}]}},
}


@dataclass(frozen=True)
class HostLocal:
    """The plugin of containernetworking, executed as a delegate would execute it."""

    data_dir: Path
    network: str = "10.1.0.0-24"
    range: tuple[str, ...] = ("10.1.0.0/24",)  # the subnet, then perhaps rangeStart and rangeEnd

    def call(self, command: str, container: str) -> subprocess.CompletedProcess[str]:
        keys = ("subnet", "rangeStart", "rangeEnd")
        ipam = {"type": "host-local", "dataDir": str(self.data_dir)}
        ipam |= dict(zip(keys, self.range, strict=False))
        environment = {
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": container,
            "CNI_NETNS": "/run/netns/none",
            "CNI_IFNAME": "eth0",
            "CNI_PATH": DELEGATES,
        }
        return subprocess.run(
            [f"{DELEGATES}/host-local"],
            input=json.dumps({"cniVersion": "1.0.0", "name": self.network, "ipam": ipam}),
            env=os.environ | environment,
            check=False,
            text=True,
            capture_output=True,
        )

    def add(self, container: str) -> str:
        """Return the address, without its length."""
        answer = self.call("ADD", container)
        assert answer.returncode == 0, answer.stdout
        (ip,) = json.loads(answer.stdout)["ips"]
        return str(ip["address"].partition("/")[0])

    def delete(self, container: str) -> None:
        answer = self.call("DEL", container)
        assert answer.returncode == 0, answer.stdout


def reserved(state: State) -> dict[str, str]:
    """Return who holds each address: host-local keeps its lock in the folder."""
    return {address: owner for address, owner in state.addresses().items() if address != "lock"}


def addresses(result: Document) -> list[str]:
    return [ip["address"].partition("/")[0] for ip in result["ips"]]


def test_host_local_goes_on_in_a_folder_of_ours(
    runtime: Runtime, pod: Namespace, other_pod: Namespace, state: State
) -> None:
    host_local = HostLocal(state.root / "pools")
    first = runtime.attachment(pod, runtime.conf(**WHOLE_BLOCK))
    second = runtime.attachment(other_pod, first.conf)
    # .1 is the node's own.
    assert addresses(first.add()) == ["10.1.0.2"]

    assert host_local.add("theirs") == "10.1.0.3"  # from our cursor on
    assert addresses(second.add()) == ["10.1.0.4"]  # from theirs
    assert reserved(state) == {
        "10.1.0.2": f"c-{pod.name} net1",
        "10.1.0.3": "theirs eth0",
        "10.1.0.4": f"c-{other_pod.name} net1",
    }

    host_local.delete("theirs")
    host_local.delete("theirs")
    for attachment in (first, second):
        attachment.check().succeeded()
        attachment.delete().succeeded()
    assert reserved(state) == {}
    assert host_local.add("theirs") == "10.1.0.5"


def test_ours_goes_on_in_a_folder_of_host_local(
    runtime: Runtime, pod: Namespace, state: State
) -> None:
    """It was there first: it made the folder, its lock and its cursor."""
    host_local = HostLocal(state.root / "pools")
    held = {host_local.add(container) for container in ("one", "two", "three")}
    assert held == {"10.1.0.2", "10.1.0.3", "10.1.0.4"}
    host_local.delete("two")

    attachment = runtime.attachment(pod, runtime.conf(**WHOLE_BLOCK))
    assert addresses(attachment.add()) == ["10.1.0.5"]
    attachment.check().succeeded()
    assert host_local.add("four") == "10.1.0.6"
    attachment.delete().succeeded()
    assert addresses(attachment.add()) == ["10.1.0.7"]
    attachment.delete().succeeded()

    assert reserved(state) == {
        "10.1.0.2": "one eth0",
        "10.1.0.4": "three eth0",
        "10.1.0.6": "four eth0",
    }
    for container in ("one", "three", "four"):
        host_local.delete(container)
    assert reserved(state) == {}


def test_what_ours_reserved_host_local_frees(
    runtime: Runtime, pod: Namespace, state: State
) -> None:
    """The way back to host-local: it reads its own layout."""
    attachment = runtime.attachment(pod, runtime.conf(**WHOLE_BLOCK), ifname="eth0")
    attachment.add()

    HostLocal(state.root / "pools").delete(f"c-{pod.name}")

    assert reserved(state) == {}
    assert "10.1.0.2" in attachment.check().error(105)
    attachment.delete().succeeded()
    assert pod.links() == {}
    assert state.left() == ["pools/10.1.0.0-24/lock"]


def test_ipv6(runtime: Runtime, pod: Namespace, state: State, tmp_path: Path) -> None:
    """Both write an address as the kernel does. A network of host-local has no ':' in its name."""
    six = {"subnet": "fd00:1::/120"}
    conf = WHOLE_BLOCK | {"ipam": {"type": "multi-nic-ipam", "ranges": {rail_net(1): [six]}}}
    (tmp_path / "six").symlink_to(state.root / "pools" / "fd00:1::-120")
    host_local = HostLocal(tmp_path, "six", ("fd00:1::/120",))
    attachment = runtime.attachment(pod, runtime.conf(**conf))

    assert addresses(attachment.add()) == ["fd00:1::1"]
    given = [host_local.add("one"), host_local.add("two")]
    assert given == ["fd00:1::2", "fd00:1::3"]
    attachment.delete().succeeded()
    assert addresses(attachment.add()) == ["fd00:1::4"]
    assert reserved(state) == {
        "fd00:1::2": "one eth0",
        "fd00:1::3": "two eth0",
        "fd00:1::4": f"c-{pod.name} net1",
    }
    attachment.delete().succeeded()


@pytest.mark.parametrize("turn", ["ours first", "theirs first"])
def test_pool_of_both_is_full_when_each_address_is_held_once(
    runtime: Runtime, pod: Namespace, state: State, turn: str
) -> None:
    six = ranges(1, first=100, last=105)
    conf = runtime.conf(**six)
    host_local = HostLocal(state.root / "pools", range=("10.1.0.0/24", "10.1.0.100", "10.1.0.105"))
    attachments = [runtime.attachment(pod, conf, ifname=f"net{n}") for n in (1, 2, 3, 4)]
    theirs, ours = [], []
    for number in range(3):
        if turn == "theirs first":
            theirs.append(host_local.add(f"h{number}"))
        ours += addresses(attachments[number].add())
        if turn == "ours first":
            theirs.append(host_local.add(f"h{number}"))

    assert sorted(ours + theirs) == [f"10.1.0.{host}" for host in range(100, 106)]
    full = host_local.call("ADD", "h3")
    assert full.returncode == 1
    assert "no IP addresses available" in full.stdout
    assert "exhausted" in attachments[3].call("ADD").error(NO_ADDRESS)
    assert {address for address, owner in reserved(state).items() if owner[0] == "h"} == {*theirs}

    host_local.delete("h1")
    assert addresses(attachments[3].add()) == [theirs[1]]
    assert host_local.call("ADD", "h4").returncode == 1
    for attachment in attachments:
        attachment.delete().succeeded()
    assert host_local.add("h4") in ours
