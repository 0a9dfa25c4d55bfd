"""A mount namespace of a test's own: what it mounts hides the machine's folders from the plugin."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.pytest_netns import execute

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Mounts:
    """The namespace, held by a process."""

    pid: int

    @property
    def wrapper(self) -> tuple[str, ...]:
        """Return what executes a program in it; named network namespaces are seen there too."""
        return ("nsenter", f"--mount=/proc/{self.pid}/ns/mnt")

    def seen(self, path: str | Path) -> Path:
        """Return the path by which the test itself sees a file of the namespace."""
        return Path(f"/proc/{self.pid}/root{path}")

    def execute(self, *words: str | Path) -> str:
        return execute(*self.wrapper, *words)

    def mount_tmpfs(self, path: str | Path, options: str = "mode=755") -> None:
        self.execute("mount", "-t", "tmpfs", "-o", options, "tmpfs", path)

    def unmount(self, path: str | Path) -> None:
        self.execute("umount", path)


@contextmanager
def mount_namespace() -> Iterator[Mounts]:
    command = "setpriv --pdeathsig KILL unshare --mount --propagation slave"
    inside = ["sh", "-c", "echo ready; exec cat"]
    with subprocess.Popen(
        [*command.split(), *inside], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        yield Mounts(holder.pid)
        holder.kill()
