"""A node for podman: namespaces of its own, with NICs that lead to hosts elsewhere."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

RAILS = (1, 2, 3, 4)
NODE_HOST, PEER_HOST, FIRST_POD_HOST = 1, 2, 100

Document = dict[str, Any]


def rail_net(rail: int) -> str:
    return f"10.{rail}.0.0/24"


def on_rail(rail: int, host: int) -> str:
    return f"10.{rail}.0.{host}"


@dataclass(frozen=True)
class Namespaces:
    """Network and mount namespaces that live as long as the process that was started in them."""

    pid: int

    def command(self, *words: str) -> list[str]:
        return ["nsenter", "--target", str(self.pid), "--net", "--mount", *words]

    def execute(self, *words: str) -> str:
        done = subprocess.run(
            self.command(*words),
            stdin=subprocess.DEVNULL,
            check=False,
            text=True,
            capture_output=True,
        )
        assert done.returncode == 0, f"{words}: status {done.returncode}: {done.stderr}"
        return done.stdout

    def links(self) -> dict[str, Document]:
        """Return the links by name, without IPv6 addresses: those change by themselves."""
        shown: list[Document] = json.loads(self.execute("ip", "-j", "-d", "address", "show"))
        for link in shown:
            link["addr_info"] = [info for info in link["addr_info"] if info["family"] == "inet"]
        return {link["ifname"]: link for link in shown}


@contextmanager
def namespaces() -> Iterator[Namespaces]:
    """Hide the machine's /run and /var/lib: named namespaces and CNI caches are kept there."""
    hide = (
        "for path in /run /var/lib; do mount -t tmpfs tmpfs $path || exit; done; mkdir /run/netns"
    )
    holder = subprocess.Popen(
        [
            *(
                "setpriv",
                "--pdeathsig",
                "KILL",
                "unshare",
                "--net",
                "--mount",
                "--propagation",
                "private",
            ),
            *("sh", "-c", f"{hide} && ip link set lo up && echo ready && exec sleep infinity"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            yield Namespaces(holder.pid)
        finally:
            holder.kill()


@contextmanager
def node_with_rails() -> Iterator[Namespaces]:
    """NICs rail1 and so on of the node, at the other end of each a peer with an address."""
    with namespaces() as node, namespaces() as peers:
        for rail in RAILS:
            peer = ("name", f"peer{rail}", "netns", str(peers.pid))
            node.execute("ip", "link", "add", f"rail{rail}", "type", "veth", "peer", *peer)
            for side, link, host in (
                (node, f"rail{rail}", NODE_HOST),
                (peers, f"peer{rail}", PEER_HOST),
            ):
                side.execute("ip", "address", "add", f"{on_rail(rail, host)}/24", "dev", link)
                side.execute("ip", "link", "set", link, "up")
        yield node
