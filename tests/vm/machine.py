"""One boot of the virtual machine, and the reports that come back from it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    Phase = Literal["setup", "call", "teardown"]
    Location = tuple[str, int | None, str]
    Reports = dict[tuple[str, str], pytest.TestReport]

CHECKOUT = Path(__file__).resolve().parents[2]
NICS = 8
LIMIT_S = 1500
PYTEST_RAN = (0, 1)  # pytest's own statuses: all passed, some failed


class GuestRun:
    """Boots at the first question for a report; later ones are answered from memory."""

    def __init__(self, wanted: list[str], config: pytest.Config) -> None:
        self._wanted = wanted
        self._config = config
        self._reports: Reports | None = None
        self._status = 0
        self._log = ""

    def report(self, item: pytest.Item, when: Phase) -> pytest.TestReport:
        """Return what the guest reported, or a failure for what it did not."""
        if self._reports is None:
            self._reports = self._boot()
        found = self._reports.get((item.nodeid, when))
        if found is None:
            return self._missing(item, when, self._reports)
        if found.skipped:
            return _made(
                item, when, f"skipped, which no test of the guest may be: {found.longrepr}"
            )
        if when == "teardown" and self._is_last(item) and self._status not in PYTEST_RAN:
            return _made(item, when, f"the guest ended badly\n{found.longreprtext}\n{self._log}")
        return found

    def _missing(self, item: pytest.Item, when: Phase, reports: Reports) -> pytest.TestReport:
        called = (item.nodeid, "call") in reports
        if when == "call" or (when == "teardown" and called):
            return _made(item, when, f"did not run in the guest to its end\n{self._log}")
        return _made(item, when, None)

    def _is_last(self, item: pytest.Item) -> bool:
        return item.nodeid == self._wanted[-1]

    def _boot(self) -> Reports:
        with tempfile.TemporaryDirectory(prefix="multinic-vm-") as out:
            done = subprocess.run(
                [
                    *(str(CHECKOUT / "scripts/vm.sh"), "run", "-n", str(NICS), "-t", str(LIMIT_S)),
                    *("-o", out, *_interpreter(), "--", *_guest_pytest(self._wanted)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
                text=True,
                errors="replace",
            )
            self._status = done.returncode
            self._log = f"status {done.returncode} of scripts/vm.sh, which printed:\n{done.stdout}"
            lines = Path(out, "reports.jsonl")
            return self._read(lines.read_text().splitlines() if lines.exists() else [])

    def _read(self, lines: Iterable[str]) -> Reports:
        reports = {}
        for line in lines:
            made = self._config.hook.pytest_report_from_serializable(
                config=self._config, data=json.loads(line)
            )
            if isinstance(made, pytest.TestReport):
                reports[made.nodeid, str(made.when)] = made
        return reports


def _made(item: pytest.Item, when: Phase, failure: str | None) -> pytest.TestReport:
    outcome: Literal["passed", "failed"] = "failed" if failure else "passed"
    return pytest.TestReport(item.nodeid, item.location, {}, outcome, failure, when)


def _interpreter() -> list[str]:
    """Name this interpreter's folders, but for those which Debian's own packages fill."""
    return [word for path in {sys.prefix, sys.base_prefix} - {"/usr"} for word in ("-p", path)]


def _guest_pytest(nodeids: list[str]) -> list[str]:
    """Leave out the project's settings and plugins: the guest is slow, and its tests need none."""
    return [
        *("env", "PYTHONPATH=.:ipam:selectors", "PYTHONDONTWRITEBYTECODE=1"),
        *("PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", sys.executable, "-m", "pytest"),
        *("-c", "/dev/null", "--rootdir", str(CHECKOUT)),
        *("--confcutdir", "tests/vm/guest", "--import-mode=importlib"),
        *("-p", "tests.vm.guest_reports", "-p", "no:cacheprovider"),
        *("--durations=5", *nodeids),
    ]
