"""What a call of the executable costs: what it loads, and its CPU."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.netns.confs import SHARED_SUBNET
from tests.netns.measuring import STOPWATCH, make_instant_delegate
from tests.pytest_netns import DELEGATES, EXECUTABLE, execute

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.pytest_netns import Attachment, Document, Namespace, Runtime

BUNDLE = EXECUTABLE.parent / "_internal"
# The interpreter finds its own encodings while it starts; all else that is not built into it or
# into the executable would be a file of the bundle too. Our own modules and __future__ are in the
# executable; library.zip, which holds the rest of the standard library, must not even be opened.
LOADED = {
    "encodings/__init__.pyc",
    "encodings/aliases.pyc",
    "encodings/utf_8.pyc",
}
EXTENSIONS = {"_json", "_ctypes"}
MOST_TIMES_PYTHON = 3.0
ROUNDS = 41  # the median of 15 differs by a sixth from run to run, on an idle machine too


@pytest.fixture
def attachment(runtime: Runtime, pod: Namespace) -> Attachment:
    return runtime.attachment(pod, runtime.conf(cniVersion="1.0.0", **SHARED_SUBNET))


@pytest.mark.parametrize("command", ["VERSION", "ADD", "CHECK", "DEL", "GC", "STATUS"])
def test_modules_that_a_call_loads(attachment: Attachment, tmp_path: Path, command: str) -> None:
    if command in {"CHECK", "DEL"}:
        attachment.add()
    trace = tmp_path / "trace"
    traced = attachment.runtime.but(
        wrapper=("strace", "-o", str(trace), "-e", "trace=open,openat,openat2")
    )
    conf = attachment.conf | {"prevResult": attachment.result}
    if command in {"GC", "STATUS"}:
        conf |= {"cniVersion": "1.1.0", "cni.dev/valid-attachments": []}
    answer = traced.call(command, conf, **attachment.variables())
    assert answer.status == 0, answer

    opened = re.findall(rf'"{re.escape(str(BUNDLE))}/([^"]+)"[^=]*= \d', trace.read_text())
    files = {file for file in opened if not re.fullmatch(r"lib[^/]*\.so[.\d]*", file)}
    folders = {"python3.11/lib-dynload", "encodings"}
    extensions = {
        file.removeprefix("python3.11/lib-dynload/").split(".")[0]
        for file in files
        if file.startswith("python3.11/lib-dynload/")
    }
    others = {file for file in files if "lib-dynload/" not in file} - folders
    assert others == LOADED
    assert extensions <= EXTENSIONS
    assert "_json" in extensions or command == "VERSION"


def test_delete_reads_no_more_than_the_boot_of_a_record(
    attachment: Attachment, tmp_path: Path
) -> None:
    """Once to see whether there was a boot, once to find the pod; NICs that move cost more."""
    attachment.add()
    trace = tmp_path / "trace"
    traced = attachment.runtime.but(
        wrapper=("strace", "-P", "/proc/sys/kernel/random/boot_id", "-o", str(trace))
    )
    conf = attachment.conf | {"prevResult": attachment.result}
    answer = traced.call("DEL", conf, **attachment.variables())
    assert answer.status == 0, answer
    assert trace.read_text().count("openat(") == 2


def test_allow_list_sees_what_the_command_line_loads(tmp_path: Path) -> None:
    """The way of looking works: `--version` loads typer, out of library.zip."""
    trace = tmp_path / "trace"
    subprocess.run(
        ["/usr/bin/strace", "-o", trace, "-e", "trace=openat", EXECUTABLE, "--version"],
        check=True,
        capture_output=True,
    )

    assert f"{BUNDLE}/library.zip" in trace.read_text()


@pytest.fixture
def instant(tmp_path: Path) -> Path:
    folder = tmp_path / "instant"
    folder.mkdir()
    return make_instant_delegate(folder)


def test_cpu_of_add_against_the_bare_interpreter(
    runtime: Runtime,
    pod: Namespace,
    instant: Path,
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    """ADD of four NICs, with addresses, records and delegates, less the delegates' own CPU."""
    runtime = runtime.but(path=f"{instant.parent}:{DELEGATES}")
    conf = runtime.conf(cniVersion="1.0.0", plugin={"type": "instant"}, **SHARED_SUBNET)
    attachment = runtime.attachment(pod, conf)

    def call(command: str) -> Document:
        environment = runtime.environment(command, **attachment.variables())
        return {
            "command": [str(EXECUTABLE)],
            "environment": environment,
            "stdin": json.dumps(conf),
        }

    bare = ["/usr/bin/python3", "-I", "-S", "-E", "-c", "pass"]
    jobs = [
        {"command": bare, "environment": {}, "stdin": ""},
        {"command": [str(instant)], "environment": {}, "stdin": json.dumps(conf)},
        call("ADD"),
        call("DEL"),
        call("VERSION"),
    ]
    stopwatch = runtime.node.command("/usr/bin/python3", "-c", STOPWATCH)
    shown = execute(*stopwatch, stdin=json.dumps([ROUNDS, jobs]))
    python, delegate, add, delete, version = (
        statistics.median(column) for column in zip(*json.loads(shown), strict=True)
    )
    figures = {
        "python": python,
        "ADD": add - 4 * delegate,
        "DEL": delete - 4 * delegate,
        "VERSION": version,
    }
    for name, milliseconds in figures.items():
        record_testsuite_property(f"{name}_cpu_ms", round(milliseconds, 2))
    assert figures["ADD"] <= MOST_TIMES_PYTHON * python, figures
    assert figures["DEL"] <= MOST_TIMES_PYTHON * python, figures
