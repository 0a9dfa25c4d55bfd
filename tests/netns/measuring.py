"""CPU of calls, each with its children, measured within the node and side by side."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from tests.pytest_netns import EXECUTABLE, execute

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.pytest_netns import Attachment, Document, Namespace

# Executed inside the node, so that nothing that leads there is measured: rounds of jobs, each with
# its user and system time in milliseconds, its own children's included.
STOPWATCH = """
import json, os, sys, tempfile
rounds, jobs = json.load(sys.stdin)
figures = []
for _ in range(rounds):
    figures.append([])
    for job in jobs:
        with tempfile.TemporaryFile() as stdin, open(os.devnull, "wb") as nothing:
            stdin.write(job["stdin"].encode())
            stdin.seek(0)
            streams = [(os.POSIX_SPAWN_DUP2, stdin.fileno(), 0)]
            streams += [(os.POSIX_SPAWN_DUP2, nothing.fileno(), number) for number in (1, 2)]
            words = job["command"]
            pid = os.posix_spawn(words[0], words, job["environment"], file_actions=streams)
            _, status, usage = os.wait4(pid, 0)
            assert status == 0, (words, status)
        figures[-1].append((usage.ru_utime + usage.ru_stime) * 1000)
print(json.dumps(figures))
"""
# As a delegate it answers at once: what is measured is the plugin's.
INSTANT = """
#include <unistd.h>
int main(void) {
    char b[65536];
    while (read(0, b, sizeof b) > 0);
    return write(1, "{}", 2) == 2 ? 0 : 1;
}
"""


def make_instant_delegate(folder: Path) -> Path:
    """Make a delegate `instant`; of C where a compiler is, else a shell script."""
    program = folder / "instant"
    if compiler := shutil.which("gcc"):
        source = folder / "instant.c"
        source.write_text(INSTANT)
        subprocess.run([compiler, "-O1", "-static", "-o", program, source], check=True)
    else:
        program.write_text("#!/bin/sh\ncat >/dev/null; echo '{}'\n")
        program.chmod(0o755)
    return program


def job(attachment: Attachment, command: str) -> Document:
    """Describe a call for `measure`."""
    environment = attachment.runtime.environment(command, **attachment.variables())
    return {
        "command": [str(EXECUTABLE)],
        "environment": environment,
        "stdin": json.dumps(attachment.conf),
    }


def measure(node: Namespace, rounds: int, jobs: Sequence[Document]) -> list[list[float]]:
    """Execute the jobs one after the other, in rounds; return the CPU of each in milliseconds."""
    stopwatch = node.command("/usr/bin/python3", "-c", STOPWATCH)
    figures: list[Any] = json.loads(execute(*stopwatch, stdin=json.dumps([rounds, jobs])))
    return [list(column) for column in zip(*figures, strict=True)]
