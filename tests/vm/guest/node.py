"""The guest as a node: its NICs, its pods, and the plugin executed as a runtime would."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

EXECUTABLE = Path(__file__).resolve().parents[3] / "dist/bundle/multinic-cni"
DELEGATES = "/usr/lib/cni"
NODE_FILE = Path("/etc/cni/multinic/node.json")
# What outlives attachments in a data directory: the store's own files, and what is remembered.
PERMANENT = {"lock", "boot", "turns", "shares", "quarantine", "uses", "choosing"}
MACVLAN = {"type": "macvlan", "mode": "bridge"}
NICS = [f"eth{index}" for index in range(8)]

Document = dict[str, Any]


def execute(*command: str | Path, stdin: str = "") -> str:
    done = subprocess.run(command, input=stdin, check=False, text=True, capture_output=True)
    assert done.returncode == 0, f"{command}: status {done.returncode}: {done.stderr}"
    return done.stdout


def what_stays(links: dict[str, Document]) -> list[tuple[Any, ...]]:
    """Return what nobody else's ADD may change; counts and operational states change anyway."""
    keys = ("ifname", "ifindex", "address", "mtu", "promiscuity", "addr_info", "linkinfo")
    return [tuple(link.get(key) for key in keys) for link in links.values()]


def ip(*words: str) -> None:
    execute("ip", *words)


def ip_batch(commands: Iterable[str]) -> None:
    """Execute commands in one process: on an emulated processor each start costs."""
    execute("ip", "-batch", "-", stdin="\n".join(commands))


def shown_links(*command: str) -> dict[str, Document]:
    """Return what `ip` says of links, without IPv6 addresses: those change by themselves."""
    shown: list[Document] = json.loads(execute(*command, "-j", "-d", "address", "show"))
    for link in shown:
        link["addr_info"] = [info for info in link["addr_info"] if info["family"] == "inet"]
    return {link["ifname"]: link for link in shown}


def links() -> dict[str, Document]:
    """Return the node's links by name."""
    return shown_links("ip")


def rail(index: int) -> str:
    """Return the network of the node's NIC eth<index>, where the node itself is host 1."""
    return f"10.{index + 1}.0.0/24"


def on_rail(index: int, host: int) -> str:
    return f"10.{index + 1}.0.{host}"


def ranges(*indexes: int) -> Document:
    """Addresses from 100 on for each of these rails."""
    return {
        "type": "multi-nic-ipam",
        "ranges": {
            rail(index): [
                {
                    "subnet": rail(index),
                    "rangeStart": on_rail(index, 100),
                    "rangeEnd": on_rail(index, 109),
                }
            ]
            for index in indexes
        },
    }


def ranges_by(subnets: dict[str, str]) -> Document:
    """Return an ipam block with one subnet for each entry of masters or masterNets."""
    ranges = {master: [{"subnet": subnet}] for master, subnet in subnets.items()}
    return {"type": "multi-nic-ipam", "ranges": ranges}


@dataclass(frozen=True)
class Answer:
    """What the plugin said: its exit status and the one document on its standard output."""

    status: int
    document: Document
    stderr: str

    def result(self) -> Document:
        assert self.status == 0, f"{self.document}\n{self.stderr}"
        return self.document

    def error(self) -> str:
        assert self.status == 1, f"status {self.status}: {self.document}\n{self.stderr}"
        assert isinstance(self.document["code"], int)
        return str(self.document["msg"])


@dataclass(frozen=True)
class Pod:
    """A network namespace that plays a pod, or another node; `uid` is the kubelet's, if any."""

    name: str
    uid: str = ""

    @property
    def netns(self) -> str:
        return f"/run/netns/{self.name}"

    @property
    def cni_args(self) -> str:
        names = f"K8S_POD_NAMESPACE=training;K8S_POD_NAME={self.name};K8S_POD_UID={self.uid}"
        return f"IgnoreUnknown=1;{names}" if self.uid else ""

    def ip(self, command: str) -> None:
        execute("ip", "-n", self.name, *command.split())

    def links(self) -> dict[str, Document]:
        shown = shown_links("ip", "-n", self.name)
        return {name: link for name, link in shown.items() if name != "lo"}

    def addresses(self) -> dict[str, list[str]]:
        """IPv4 addresses by the name of their link."""
        return {
            name: [f"{info['local']}/{info['prefixlen']}" for info in link["addr_info"]]
            for name, link in self.links().items()
        }

    def ping(self, interface: str, address: str) -> None:
        """Ask through that interface until an answer comes.

        The machine's processor is emulated: beside other work five seconds were too few once.
        """
        inside = ("ip", "netns", "exec", self.name)
        execute(*inside, "ping", "-q", "-c1", "-i0.2", "-w30", "-I", interface, address)


def nics_below(pod: Pod) -> list[str]:
    """Return the NICs on which a pod's interfaces stand, in the order of these."""
    names = {link["ifindex"]: name for name, link in links().items()}
    return [names[link["link_index"]] for _, link in sorted(pod.links().items())]


@dataclass(frozen=True)
class Network:
    """A net conf, and the calls that a runtime makes with it."""

    conf: Document
    results: dict[str, Document] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()  # executes the plugin

    def call(self, command: str, pod: Pod, **extra: object) -> Answer:
        environment = {
            "PATH": os.environ["PATH"],
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": pod.name,
            "CNI_NETNS": pod.netns,
            "CNI_IFNAME": "net1",
            "CNI_PATH": DELEGATES,
            "CNI_ARGS": pod.cni_args,
        }
        done = subprocess.run(
            [*self.wrapper, EXECUTABLE],
            env=environment,
            input=json.dumps(self.conf | extra),
            check=False,
            text=True,
            capture_output=True,
        )
        document = json.loads(done.stdout) if done.stdout else {}
        return Answer(done.returncode, document, done.stderr)

    def add(self, pod: Pod, **extra: object) -> Document:
        self.results[pod.name] = self.call("ADD", pod, **extra).result()
        return self.results[pod.name]

    def check(self, pod: Pod) -> None:
        assert self.call("CHECK", pod, prevResult=self.results[pod.name]).result() == {}

    def delete(self, pod: Pod) -> None:
        assert self.call("DEL", pod, prevResult=self.results[pod.name]).result() == {}

    def state(self) -> set[str]:
        """Return the files below dataDir that an attachment has: its record and its addresses."""
        root = Path(self.conf["dataDir"])
        files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        return {
            str(path)
            for path in files
            if path.parts[0] not in PERMANENT and not path.name.startswith("last_reserved_ip.")
        }
