"""What tests of the conflict probe share: hosts on a wire, and what they say there."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.pytest_netns import RAILS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest_netns import Document, Namespace, Namespaces, Node

FOREIGN_HOST = 100  # the first address of ranges()

SAY_AGAIN_AND_AGAIN = """
import socket, sys, time
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
    wire.bind((sys.argv[1], 0))
    print(flush=True)
    while True:
        wire.send(bytes.fromhex(sys.argv[2]))
        time.sleep(0.02)
"""


def probed(conf: Document, policy: str, **ipam: object) -> dict[str, Any]:
    """Return the keys of a net conf with a probe."""
    return conf | {"ipam": conf["ipam"] | {"probe": policy} | ipam}


@contextmanager
def saying(host: Namespace, frame: bytes) -> Iterator[None]:
    """Let a host send a frame to the first rail, fifty times a second."""
    command = host.command(sys.executable, "-c", SAY_AGAIN_AND_AGAIN, "rail1", frame.hex())
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def mac_of(host: Namespace, nic: str = "rail1") -> str:
    mac: str = host.links()[nic]["address"]
    return mac


def foreign_host(namespaces: Namespaces, node: Node) -> Node:
    """Make a host that nobody manages: on each rail it has the first address of the pool."""
    return namespaces.make_node(node.wire, RAILS, host=FOREIGN_HOST)
