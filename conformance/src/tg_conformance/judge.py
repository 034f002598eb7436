"""The part of the pytest plugin that is active when a device is tested."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tg_conformance.expected import FILE_NAME, ExpectedFailures, misuse, read_expected
from tg_conformance.target import choose_target, declared_features
from tg_conformance.thorough import thorough_amount
from tg_conformance.verdict import Case, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.plugins.catalog import Catalog

__all__ = ["Judge"]

PROPERTY = "tg-case"
UNDECLARED = "undeclared: "
MESSAGE_LINES = 12
"""Of the message of a failure: a device that hangs has a line for each queue."""
PACKAGE = "tg_conformance.suite"


class Judge:
    """Selects tests by level, marks expected failures, and collects what becomes of each.

    Args:
        config: the configuration of the pytest run; it names a device.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.device: str = config.getoption("--tg-device").upper()
        self.levels = parse_levels(config.getoption("--tg-level"))
        self.target = ""
        self.cases: dict[str, Case] = {}
        self._features: frozenset[str] | None = None

    @property
    def features(self) -> frozenset[str]:
        """What the device offers; opens it on first use."""
        if self._features is None:
            self._features = declared_features(self.device)
        return self._features

    def pytest_sessionstart(self) -> None:
        """Set `DEV`, for this process and for those that tests start."""
        from tg_core.config import DEV
        from tg_core.plugins.manager import plugins

        interface = self.config.getoption("--tg-interface")
        self.target = choose_target(self.device, interface, plugins().catalog)
        os.environ["DEV"] = self.target
        DEV.set(self.target)

    def pytest_report_header(self) -> str:
        """Name what is tested, so that a report cannot be read as another device's."""
        return f"tg-conformance: {self.target or self.device}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark and select the tests of the suite; others are left alone."""
        from tg_core.plugins.manager import plugins

        own = [item for item in items if _is_own(item)]
        expected = read_expected(self._expected_path(plugins().catalog))
        names = {test_name(item): item.get_closest_marker("tg_core") is not None for item in own}
        wrong = misuse(expected, names) if len(own) > 1 else []
        if wrong:
            raise pytest.UsageError("\n".join(["expected failures:", *wrong]))
        for item in own:
            self._prepare(item, expected)
        dropped = [item for item in own if level_of(item) not in self.levels]
        if dropped:
            self.config.hook.pytest_deselected(items=dropped)
            items[:] = [item for item in items if item not in set(dropped)]

    def _prepare(self, item: pytest.Item, expected: ExpectedFailures) -> None:
        parameters = getattr(item, "callspec", None)
        values: dict[str, Any] = parameters.params if parameters is not None else {}
        facts = {
            "level": level_of(item),
            "mandatory": item.get_closest_marker("tg_core") is not None,
            "condition": _condition(item),
            "operation": str(values.get("operation", "")),
            "dtype": str(values.get("dtype", "")),
        }
        item.user_properties.append((PROPERTY, facts))
        reason = expected.reasons.get(test_name(item))
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Leave out a test whose feature the backend does not declare."""
        if not _is_own(item):
            return
        for marker in item.iter_markers("tg_needs"):
            missing = [name for name in marker.args if name not in self.features]
            if missing:
                pytest.skip(UNDECLARED + ", ".join(missing))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what became of a test."""
        facts = dict(report.user_properties).get(PROPERTY)
        if not isinstance(facts, dict):
            return
        outcome, message = outcome_of(report)
        facts = dict(facts)
        condition = facts.pop("condition")
        if outcome == "undeclared" and any(feature in condition for feature in _words(message)):
            facts["mandatory"] = False
        name = short_name(report.nodeid)
        known = self.cases.get(name)
        if outcome is None or (known is not None and known.outcome == "failed"):
            return
        self.cases[name] = Case(name, outcome=outcome, message=message, seconds=report.duration,
                                **facts)  # fmt: skip

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, and fail for what no test shows."""
        if self._is_worker():
            return
        from tg_conformance.report import write_report

        verdict = self.verdict()
        for path in self.config.getoption("--tg-report"):
            write_report(verdict, Path(path))
        if verdict.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self) -> None:
        """Print the matrix."""
        if self._is_worker():
            return
        from tg_conformance.report import print_verdict

        print_verdict(self.verdict())

    def verdict(self) -> Verdict:
        """Return the result so far."""
        from tg_core import Device
        from tg_core.errors import TGError

        features: frozenset[str] = frozenset()
        interface = None
        try:
            features = self.features
            interface = Device[self.device].interface_name
        except TGError:
            # the tests of level 0 say why it does not open
            pass
        required = [
            name for text in self.config.getoption("--tg-require") for name in [*_words(text)]
        ]
        problems = tuple(
            f"{name} is required and not declared" for name in required if name not in features
        )
        cases = tuple(sorted(self.cases.values(), key=_by_level))
        thorough = thorough_amount() if self.config.getoption("--tg-thorough") else None
        return Verdict(self.device, interface, cases, features, thorough, problems)

    def _expected_path(self, catalog: Catalog) -> Path | None:
        given: str | None = self.config.getoption("--tg-expected")
        if given is not None:
            return Path(given)
        if catalog.type(self.device) is None:
            return None
        module = catalog.owner(self.device).module.__file__
        beside = Path(module).parent / FILE_NAME if module is not None else None
        return beside if beside is not None and beside.is_file() else None

    def _is_worker(self) -> bool:
        return hasattr(self.config, "workerinput")


def parse_levels(texts: Sequence[str]) -> frozenset[int]:
    """Return the levels that options such as `2` and `0-2` name; all where there are none.

    Raises:
        pytest.UsageError: an option is no number and no range of levels.
    """
    from tg_conformance.levels import LEVELS

    every = frozenset(level.number for level in LEVELS)
    found: set[int] = set()
    for text in texts:
        first, _, last = text.partition("-")
        if not (first.isdigit() and (last or first).isdigit()):
            raise pytest.UsageError(f"level {text!r}: expected a number, or a range such as 0-2")
        found.update(range(int(first), int(last or first) + 1))
    if found - every:
        raise pytest.UsageError(f"level {max(found)}: levels are 0 to {max(every)}")
    return frozenset(found) or every


def outcome_of(report: pytest.TestReport) -> tuple[Outcome | None, str]:
    """Return what a phase of a test says about it, and why; None for nothing."""
    if report.failed:
        return "failed", _message(report)
    if report.skipped:
        if hasattr(report, "wasxfail"):
            return "xfailed", str(report.wasxfail)
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        return "undeclared", reason.removeprefix("Skipped: ").removeprefix(UNDECLARED)
    return ("passed", "") if report.when == "call" else (None, "")


def _message(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    return "\n".join(text.removeprefix("AssertionError: ").splitlines()[:MESSAGE_LINES])


def level_of(item: pytest.Item) -> int:
    """Return the level a test belongs to."""
    marker = item.get_closest_marker("tg_level")
    if marker is None:
        raise pytest.UsageError(f"{item.nodeid}: a test of the suite without a level")
    return int(marker.args[0])


def test_name(item: pytest.Item) -> str:
    """Return file and name of a test, which do not depend on where the suite is installed."""
    return short_name(item.nodeid)


def short_name(nodeid: str) -> str:
    """Return a node id without folders."""
    file, _, rest = nodeid.partition("::")
    return f"{file.rpartition('/')[2]}::{rest}"


def _condition(item: pytest.Item) -> tuple[str, ...]:
    """Return the features without which a test of the core does not belong to it."""
    marker = item.get_closest_marker("tg_core")
    return marker.args if marker is not None else ()


def _words(text: str) -> list[str]:
    return [word.strip().upper() for word in text.split(",") if word.strip()]


def _is_own(item: pytest.Item) -> bool:
    module = getattr(item, "module", None)
    return module is not None and "tg_conformance/suite" in str(item.path).replace("\\", "/")


def _by_level(case: Case) -> int:
    return case.level
