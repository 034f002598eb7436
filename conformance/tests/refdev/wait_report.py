"""A pytest plugin that writes what became of the waits that test_waits.py has left out.

    TG_WAIT_REPORT=reports/waits.json PYTHONPATH=conformance/tests/refdev pytest -p wait_report

Each test says what it counted in its report, so it does not matter which process has run it.
"""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import pytest

COUNTS = ("waits", "found by the detector", "implied by others", "survivors")
PROPERTY = "tg-waits"


class WaitReport:
    """What was counted so far."""

    def __init__(self) -> None:
        self.graphs = self.failed = 0
        self.counts = dict.fromkeys(COUNTS, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what a test has counted."""
        self.failed += report.failed
        found = dict(report.user_properties).get(PROPERTY) if report.when == "call" else None
        if isinstance(found, dict):
            self.graphs += 1
            for name in COUNTS:
                self.counts[name] += found[name]

    def pytest_sessionfinish(self) -> None:
        """Write the report."""
        from tg_core import __version__

        versions = {"tg-core": __version__, "python": platform.python_version()}
        record = {"graphs": self.graphs, "operations": 16, "seed": 0, **self.counts}
        record |= {"failed tests": self.failed, "versions": versions}
        path = Path(os.environ["TG_WAIT_REPORT"])
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(record, indent=1) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Listen in the process that hears of all tests."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(WaitReport())
