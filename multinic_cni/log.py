"""The log: one line per event to stderr, which runtimes keep, and to the conf's logFile."""

from __future__ import annotations

import os
import time
from select import POLLOUT, poll

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LEVELS = ("debug", "info", "warning", "error")
LONGEST_LINE = 4096  # PIPE_BUF: what a pipe that polls as writable takes without blocking
CONTROL_CHARACTERS = dict.fromkeys((*range(32), *range(127, 160)), " ")


def harmless(text: str) -> str:
    r"""Return a text that only shows: others choose names, and write directions and ends of lines.

    Control characters become spaces; what else cannot be seen is written as \u202e.
    """
    text = text.translate(CONTROL_CHARACTERS)
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


class Log:
    """Where events go, and the call that every line names."""

    def __init__(self) -> None:
        self._call = ""
        self._file = ""
        self._least = LEVELS.index("info")

    def name_call(self, call: str) -> None:
        """Say which call the following events belong to, e.g. "ADD c0ffee net1"."""
        self._call = call

    def configure(self, *, file: str, level: str) -> None:
        self._file = file
        self._least = LEVELS.index(level)

    def debug(self, event: str, **facts: object) -> None:
        self._write("debug", event, facts)

    def info(self, event: str, **facts: object) -> None:
        self._write("info", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._write("warning", event, facts)

    def error(self, event: str, **facts: object) -> None:
        self._write("error", event, facts)

    def _write(self, level: str, event: str, facts: Mapping[str, object]) -> None:
        if LEVELS.index(level) < self._least:
            return
        words = [event, *(f"{name}={value}" for name, value in facts.items())]
        # A pod's text must not be able to fake a line of its own.
        text = f"multinic-cni {level} [{self._call}] {' '.join(words)}"
        line = harmless(text)
        write_to_stderr(line.encode())
        if self._file:
            self._write_to_file(line)

    def _write_to_file(self, line: str) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        # O_NONBLOCK: a FIFO without a reader must not hold the call.
        flags = (
            os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        )
        try:
            descriptor = os.open(self._file, flags, 0o600)
            try:
                os.write(descriptor, f"{now} {line}\n".encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            text = (
                f"multinic-cni warning [{self._call}] cannot log to {self._file}: {error.strerror}"
            )
            write_to_stderr(text.encode("utf-8", "backslashreplace"))
            self._file = ""


def write_to_stderr(text: bytes) -> None:
    """Write a line, or the end of a long text, if the reader takes it at once.

    A runtime that has gone, or that does not read, must neither fail a pod nor hold it.
    """
    content = text[-LONGEST_LINE + 1 :].rstrip(b"\n") + b"\n"
    stderr = poll()
    stderr.register(2, POLLOUT)
    try:
        if stderr.poll(0):
            os.write(2, content)
    except OSError:
        return  # there is nowhere to tell it


log = Log()
