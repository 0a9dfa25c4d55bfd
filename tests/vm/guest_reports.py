"""A pytest plugin for the guest: it hands every report out as soon as it is made.

Line by line, so that what was executed before the guest died is known all the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

SHARED = Path("/run/vm/out")


class Reports:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        with (SHARED / "reports.jsonl").open("a") as lines:
            lines.write(json.dumps(data) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Reports(config))
