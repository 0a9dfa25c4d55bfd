"""Delegates made for a test: shell scripts in a folder that stands first in CNI_PATH."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.pytest_netns import DELEGATES, Runtime, wait_until

if TYPE_CHECKING:
    from pathlib import Path

# $conf is what came on stdin; `real` does what the real plugin of that name does; every call is
# noted, with its inner name, when it begins and when it has ended.
PROLOGUE = """#!/bin/sh
conf=$(cat)
real() {{ printf %s "$conf" | {real}/{name}; }}
echo "$CNI_COMMAND $CNI_IFNAME {name}" >>{log}
trap 'echo "$CNI_COMMAND $CNI_IFNAME {name} ended" >>{log}' EXIT
"""


@dataclass(frozen=True)
class Delegates:
    """The folder, and the log that its scripts write."""

    folder: Path

    @property
    def path(self) -> str:
        return f"{self.folder}:{DELEGATES}"

    @property
    def log(self) -> Path:
        return self.folder / "calls.log"

    def write(self, name: str, body: str) -> None:
        """Make a delegate, or replace it."""
        script = self.folder / name
        script.write_text(PROLOGUE.format(real=DELEGATES, name=name, log=self.log) + body + "\n")
        script.chmod(0o755)

    def write_failing(self, body: str, *, command: str = "ADD", nic: str = "rail3") -> None:
        """Make a macvlan that is the real one, but for one command on one NIC."""
        self.write(
            "macvlan", f'case "$CNI_COMMAND $conf" in {command}*{nic}*) {body} ;; esac\nreal'
        )

    def calls(self, command: str = "") -> list[str]:
        """Return the calls as "ADD net1 macvlan", in the order in which they began."""
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines()
        return [line for line in lines if line.startswith(command) and not line.endswith("ended")]

    def wait_for(self, line: str) -> None:
        wait_until(
            lambda: self.log.exists() and line in self.log.read_text().splitlines(),
            f"delegate call {line}",
        )

    def used_by(self, runtime: Runtime) -> Runtime:
        return runtime.but(path=self.path)
