"""A sysfs whose mounter was in another netns: its NICs have the names of ours and are not ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.netns.confs import ranges
from tests.netns.trees import mount_sysfs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.mounts import Mounts
    from tests.pytest_netns import Namespace, Node, Runtime

FUNCTIONS = {"rail1": "0000:00:02.0", "rail2": "0000:00:03.0"}
MACHINE = """\
node another
root 0000:00 numa=0
  nic 00:02.0 id=1af4:1000 driver=virtio-pci name=rail1
  nic 00:03.0 id=1af4:1000 driver=virtio-pci name=rail2
"""


def test_veth_gets_no_function_of_another_netns(
    runtime: Runtime, node: Node, pod: Namespace, mounts: Mounts, tmp_path: Path
) -> None:
    links = {name: node.links()[name] for name in FUNCTIONS}
    links["rail1"]["ifindex"] += 4711
    mount_sysfs(MACHINE, tmp_path / "machine", mounts, links)
    conf = runtime.conf(**ranges(1, 2), cniVersion="1.1.0")
    result = runtime.but(wrapper=mounts.wrapper).attachment(pod, conf).call("ADD").result()
    found = {each["name"]: each.get("pciID", "") for each in result["interfaces"]}
    assert {"net1": "", "net1-1": FUNCTIONS["rail2"]} == found
