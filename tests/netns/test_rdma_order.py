"""The delegate rdma in a chain: what it is told, and when it is called.

Debian has no rdma-cni, and no kernel moves an RDMA device in software: a stand-in notes its calls,
and where the NIC is at that time. As the real one, it wants a deviceID and refuses to be first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.netns.trees import mount_sysfs
from tests.pytest_netns import execute

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.delegates import Delegates
    from tests.netns.mounts import Mounts
    from tests.netns.state import State
    from tests.pytest_netns import Attachment, Namespace, Node, Runtime

NO_NICS, DELEGATE_FAILED = 100, 104
MACHINE = """\
node pretended
rdma-netns exclusive
root 0000:00 numa=0
  nic 01:00.0 driver=mlx5_core name=rail1 rdma=mlx5_0
  nic 01:00.1 driver=mlx5_core name=rail2 rdma=mlx5_1
"""
FUNCTIONS = {"net1": "0000:01:00.0", "net1-1": "0000:01:00.1"}
# In the version of Debian's plugins, so that each succeeds at the first try.
CHAIN = {
    "cniVersion": "1.0.0",
    "plugin": [{"type": "host-device"}, {"type": "rdma"}],
    "masters": ["rail1", "rail2"],
}
# The lines are a command, the interface, the deviceID, and whether the NIC is in the pod then.
STAND_IN = """\
where=gone
[ -z "$CNI_NETNS" ] || where=elsewhere
inside="nsenter --net=$CNI_NETNS"
[ -z "$CNI_NETNS" ] || ! $inside ip link show "$CNI_IFNAME" >/dev/null || where=in-pod
device=$(printf %s "$conf" | sed -n 's/.*"deviceID": *"\\([^"]*\\)".*/\\1/p')
echo "$CNI_COMMAND $CNI_IFNAME $device $where" >>{moves}
{deed}
[ "$CNI_COMMAND" != ADD ] || printf %s "$conf" | /usr/bin/python3 -c '
import json, sys
json.dump(json.load(sys.stdin)["prevResult"], sys.stdout)'
"""


@dataclass(frozen=True)
class Chain:
    """An attachment by host-device and rdma, and what the latter noted."""

    attachment: Attachment
    delegates: Delegates
    moves: Path
    sysfs: Path

    def refuse(self, command: str) -> None:
        """Let rdma fail from now on, as the real one does when it has no note of its own."""
        self.write(
            f'[ "$CNI_COMMAND" != {command} ] ||'
            """ { echo '{"code":999,"msg":"no such state file"}'; exit 1; }"""
        )

    def write(self, deed: str = "") -> None:
        self.delegates.write("rdma", STAND_IN.format(moves=self.moves, deed=deed) + "exit 0")

    def take_device(self, name: str) -> None:
        """Let the node's sysfs look as it does while an RDMA device is in another netns."""
        (holder,) = self.sysfs.glob(f"devices/**/infiniband/{name}")
        holder.rename(self.sysfs / name)

    def noted(self) -> list[str]:
        return sorted(self.moves.read_text().splitlines())

    def order(self, command: str, ifname: str) -> list[str]:
        return [call.split()[2] for call in self.delegates.calls(f"{command} {ifname} ")]


@pytest.fixture
def sysfs(node: Node, mounts: Mounts, tmp_path: Path) -> Path:
    """Return where the plugin's sysfs lies, which shows the rails as functions with RDMA."""
    mount_sysfs(MACHINE, tmp_path / "machine", mounts, node.links())
    return tmp_path / "machine/sys"


@pytest.fixture
def chain(
    runtime: Runtime, pod: Namespace, delegates: Delegates, mounts: Mounts, sysfs: Path
) -> Chain:
    delegates.write("host-device", "real")
    runtime = delegates.used_by(runtime).but(wrapper=mounts.wrapper)
    attachment = runtime.attachment(pod, runtime.conf(**CHAIN))
    made = Chain(attachment, delegates, moves=delegates.folder / "moves", sysfs=sysfs)
    made.write()
    return made


def noted(command: str, where: str) -> list[str]:
    return [f"{command} {ifname} {function} {where}" for ifname, function in FUNCTIONS.items()]


def test_device_follows_the_nic_and_goes_before_it(chain: Chain, node: Node, state: State) -> None:
    chain.attachment.add()
    assert noted("ADD", "in-pod") == chain.noted()
    chain.attachment.check().succeeded()
    chain.moves.unlink()

    chain.attachment.delete().succeeded()

    assert noted("DEL", "in-pod") == chain.noted()
    for ifname in FUNCTIONS:
        assert ["host-device", "rdma"] == chain.order("ADD", ifname)
        assert ["host-device", "rdma"] == chain.order("CHECK", ifname)
        assert ["rdma", "host-device"] == chain.order("DEL", ifname)
    assert {"rail1", "rail2"} <= set(node.links())
    assert [] == state.left()


def test_order_where_the_netns_has_gone(chain: Chain, pod: Namespace, state: State) -> None:
    chain.attachment.add()
    chain.moves.unlink()
    execute("ip", "netns", "delete", pod.name)

    chain.attachment.delete().succeeded()

    assert noted("DEL", "gone") == chain.noted()
    for ifname in FUNCTIONS:
        assert ["rdma", "host-device"] == chain.order("DEL", ifname)
    assert [] == state.left()


def test_failed_rdma_is_undone_before_the_nic(
    chain: Chain, node: Node, pod: Namespace, state: State
) -> None:
    chain.refuse("ADD")
    message = chain.attachment.call("ADD").error(DELEGATE_FAILED)
    assert "no such state file" in message
    for ifname in FUNCTIONS:
        assert chain.order("ADD", ifname) == chain.order("DEL", ifname)[::-1]
    assert "rdma" in chain.order("ADD", "net1")
    assert ({}, []) == (pod.links(), state.left())
    assert {"rail1", "rail2"} <= set(node.links())


def test_del_of_rdma_that_fails_though_the_device_is_here(
    chain: Chain, node: Node, state: State
) -> None:
    """rdma-cni before 2024 has no note of an ADD that failed, nor after its first DEL."""
    chain.attachment.add()
    chain.refuse("DEL")
    answer = chain.attachment.delete()
    answer.succeeded()
    assert "no such state file" in answer.stderr
    assert {"rail1", "rail2"} <= set(node.links())
    assert [] == state.left()


def test_del_of_rdma_that_fails_while_the_device_is_in_the_pod(chain: Chain, state: State) -> None:
    """It is tried again: only rdma knows where the device is."""
    chain.attachment.add()
    chain.refuse("DEL")
    chain.take_device("mlx5_1")
    assert "no such state file" in chain.attachment.delete().error(DELEGATE_FAILED)
    assert 1 == len(state.records())

    chain.write()
    chain.attachment.delete().succeeded()
    assert [] == state.left()


def test_log_names_the_devices_of_nics_that_have_gone_into_the_pod(chain: Chain) -> None:
    chain.attachment.conf |= {"attachPolicy": {"rdma": "required"}}
    answer = chain.attachment.call("ADD")
    assert "net1" in str(answer.result())
    for line in ("nic=rail1 ifname=net1 addresses=none rdma=mlx5_0", "nic=rail2 ifname=net1-1"):
        assert f"attached {line}" in answer.stderr


def test_template_names_the_device(chain: Chain) -> None:
    """As a device plugin's annotation does for a chain of one NIC."""
    own = {"type": "rdma", "deviceID": "mlx5_core.sf.4"}
    chain.attachment.conf |= {"plugin": [{"type": "host-device"}, own], "masters": ["rail1"]}
    chain.attachment.add()
    assert ["ADD net1 mlx5_core.sf.4 in-pod"] == chain.noted()


def test_shared_devices_are_refused_before_anything_moves(
    chain: Chain, pod: Namespace, state: State
) -> None:
    (chain.sysfs / "module/ib_core/parameters/netns_mode").write_text("Y\n")
    message = chain.attachment.call("ADD").error(NO_NICS)
    assert "`rdma system set netns exclusive`" in message
    assert ([], {}, []) == (chain.delegates.calls(), pod.links(), state.left())
