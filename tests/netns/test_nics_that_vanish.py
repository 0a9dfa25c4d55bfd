"""NICs that come and go while they are listed, or between listing and reading."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.netns.listing import HEAD, PRINT_NICS, PYTHON
from tests.pytest_netns import execute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest_netns import Namespace, Node


@contextmanager
def churning(node: Namespace) -> Iterator[None]:
    """Add and delete links all the time, by two processes."""
    script = (
        "while :; do ip -n $0 link add x$1 type veth peer name y$1;"
        " ip -n $0 address add 10.200.$1.1/24 dev x$1; ip -n $0 link delete x$1; done"
    )
    words = ("setpriv", "--pdeathsig", "KILL", "sh", "-c", script, node.name)
    with (
        subprocess.Popen([*words, "1"]) as one,
        subprocess.Popen([*words, "2"]) as other,
    ):
        try:
            yield
        finally:
            one.kill()
            other.kill()


LIST_AGAIN_AND_AGAIN = (
    HEAD
    + """
import time
from multinic_cni.host import nics
from multinic_selectors.sysfs import Sysfs
seen, rounds, deadline = set(), 0, time.monotonic() + 30
while rounds < 300 or len(seen) <= 5 and time.monotonic() < deadline:
    rounds += 1
    found = nics()
    names = [nic.name for nic in found]
    assert names[:5] == ["lo", "rail1", "rail2", "rail3", "rail4"], names
    assert len({nic.index for nic in found}) == len(found), names
    sysfs = Sysfs()
    for nic in found:
        sysfs.speed(nic.name), sysfs.driver(nic.name), sysfs.rdma_ports(nic.name)
    seen.update(names)
print(len(seen))
"""
)


def test_nics_that_come_and_go(node: Node) -> None:
    """None is an error, and those that stay are always there, once each."""
    # `ip netns exec` mounts the namespace's own sysfs.
    with churning(node):
        seen = int(execute("ip", "netns", "exec", node.name, PYTHON, "-c", LIST_AGAIN_AND_AGAIN))
    assert seen > 5, "no NIC has come or gone"


LIST_AND_WAIT = (
    PRINT_NICS
    + """
sys.stdout.flush()
sys.stdin.readline()
from multinic_selectors.sysfs import Sysfs
sysfs = Sysfs()
print([sysfs.speed("rail2"), sysfs.duplex("rail2"), sysfs.driver("rail2"),
       sysfs.pci_address("rail2"), len(sysfs.rdma_ports("rail2")), sysfs.speed("rail1")])
"""
)


def test_nic_that_disappears_between_listing_and_reading(node: Node) -> None:
    command = ["ip", "netns", "exec", node.name, PYTHON, "-c", LIST_AND_WAIT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        names = [nic["name"] for nic in json.loads(process.stdout.readline())]
        node.ip("link delete rail2")
        shown, _ = process.communicate("\n")
    assert names == ["lo", "rail1", "rail2", "rail3", "rail4"]
    assert shown == "[None, '', '', '', 0, 10000]\n"
    assert process.returncode == 0
