"""podman with CNI networks, all of whose state is in one folder."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.node import Document, Namespaces

BUNDLE = Path(__file__).resolve().parents[2] / "dist/bundle"
IMAGE = "localhost/shell:test"
BUSYBOX = "/bin/busybox"

# runc, vfs and low limits: in a container without privileges for more, podman works all the same.
# Locks in files: those in shared memory would be the machine's.
SETTINGS = """
[network]
network_backend = "cni"
cni_plugin_dirs = ["{bundle}", "/usr/lib/cni"]
network_config_dir = "{folder}/net.d"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{folder}/tmp"
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
"""


@dataclass(frozen=True)
class Podman:
    node: Namespaces
    folder: Path

    def command(self, *words: str) -> list[str]:
        return self.node.command(
            *("env", f"CONTAINERS_CONF={self.folder}/containers.conf", "podman"),
            *("--root", f"{self.folder}/root", "--runroot", "/run/podman"),  # 50 bytes at most
            *("--storage-driver", "vfs", *words),
        )

    def try_to(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            stdin=subprocess.DEVNULL,
            check=False,
            text=True,
            capture_output=True,
        )

    def execute(self, *words: str) -> str:
        done = self.try_to(*words)
        assert done.returncode == 0, f"podman {words}: status {done.returncode}: {done.stderr}"
        return done.stdout

    def prepare(self) -> None:
        """Write the settings and load an image that holds busybox and nothing else."""
        (self.folder / "net.d").mkdir()
        settings = SETTINGS.format(folder=self.folder, bundle=BUNDLE)
        (self.folder / "containers.conf").write_text(settings)
        archive = self.folder / "image.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(Path(BUSYBOX).resolve(), "bin/busybox")
            for folder in ("proc", "sys", "dev", "etc", "run", "tmp"):
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry, io.BytesIO())
        self.execute("import", str(archive), IMAGE)

    def add_network(self, name: str, *plugins: Document) -> None:
        conflist = {"cniVersion": "1.0.0", "name": name, "plugins": plugins}
        (self.folder / "net.d" / f"{name}.conflist").write_text(json.dumps(conflist))

    def run_words(self, name: str, network: str) -> tuple[str, ...]:
        options = ("--pull=never", "--detach", "--name", name, "--network", network)
        return ("run", *options, IMAGE, BUSYBOX, "sleep", "3600")

    def run(self, name: str, network: str) -> None:
        self.execute(*self.run_words(name, network))

    def inside(self, name: str, *words: str) -> str:
        return self.execute("exec", name, BUSYBOX, *words)

    def addresses(self, name: str) -> dict[str, list[str]]:
        """Return what `ip` shows inside the container: IPv4 addresses by interface."""
        found: dict[str, list[str]] = {}
        for line in self.inside(name, "ip", "-o", "-4", "address", "show").splitlines():
            _, interface, _, address, *_ = line.split()
            found.setdefault(interface, []).append(address)
        found.pop("lo", None)
        return found

    def ping(self, name: str, interface: str, address: str) -> None:
        self.inside(name, "ping", "-q", "-c", "1", "-w", "5", "-I", interface, address)

    def network_settings(self, name: str, network: str) -> Document:
        """Return what `podman inspect` shows of the container in that network."""
        [shown] = json.loads(self.execute("inspect", name))
        settings: Document = shown["NetworkSettings"]["Networks"][network]
        return settings

    def remove(self, *names: str) -> None:
        self.execute("rm", "--force", "--time", "0", *names)
