"""The executable's command line on a node's store."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.pytest_netns import Runtime

SECONDS = 120


@dataclass(frozen=True)
class Ended:
    """What a command gave."""

    status: int
    stdout: str
    stderr: str

    def lines(self, status: int = 0) -> list[str]:
        """Assert the exit status, and that nothing failed; return what was printed."""
        assert (self.status, self.stderr) == (status, ""), f"{self.stdout}\n{self.stderr}"
        return self.stdout.splitlines()

    def document(self, status: int = 0) -> Any:  # noqa: ANN401 - each command has its own
        return json.loads("\n".join(self.lines(status)))


def tool(runtime: Runtime, *words: str) -> Ended:
    """Execute a command on the runtime's data directory, within its node."""
    done = subprocess.run(
        [*runtime.node_command(), *words, "--data-dir", str(runtime.data_dir)],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def findings(runtime: Runtime) -> set[tuple[str, str]]:
    """Return what `ipam check` finds: kind and subject."""
    ended = tool(runtime, "ipam", "check", "--json")
    found = json.loads(ended.stdout)["findings"]
    assert (ended.status, ended.stderr) == (1 if found else 0, "")
    return {(each["kind"], each["subject"]) for each in found}
