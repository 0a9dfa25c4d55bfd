"""The log: one line per event to stderr, which runtimes keep, and to the conf's logFile."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LEVELS = ("debug", "info", "warning", "error")
CONTROL_CHARACTERS = dict.fromkeys((*range(32), 127), " ")


class Log:
    """Where events go, and the call that every line names."""

    def __init__(self) -> None:
        self._call = ""
        self._file = ""
        self._least = LEVELS.index("info")

    def name_call(self, call: str) -> None:
        """Say which call the following events belong to, e.g. "ADD rails c0ffee net1"."""
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
        text = " ".join(words).translate(CONTROL_CHARACTERS)
        line = f"multinic-cni {level} [{self._call}] {text}\n"
        _append(2, line)
        if self._file:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            try:
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                descriptor = os.open(self._file, flags, 0o600)
            except OSError as error:
                _append(2, f"multinic-cni warning [{self._call}] cannot log to {error.filename}\n")
                self._file = ""
                return
            _append(descriptor, f"{now} {line}")
            os.close(descriptor)


def _append(descriptor: int, line: str) -> None:
    try:
        os.write(descriptor, line.encode("utf-8", "backslashreplace"))
    except OSError:
        # A reader that has gone, or a full disk, must not fail a pod; there is nowhere to tell it.
        return


log = Log()
