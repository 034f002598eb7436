"""The part of the pytest plugin that is active when a device is tested."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tg_conformance.expected import FILE_NAME, misuse, read_expected
from tg_conformance.plan import Plan, Planned
from tg_conformance.target import choose_target, declared_features
from tg_conformance.thorough import thorough_amount
from tg_conformance.verdict import Case, Outcome, Verdict
from tg_conformance.workers import Offer, Workers, is_worker, runs_workers, tell_offer, tell_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.plugins.catalog import Catalog

__all__ = ["Judge"]

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
        self.plan = Plan()
        self.cases: dict[str, Case] = {}
        self.workers: Workers | None = None
        """Where other processes run the tests."""
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
        if runs_workers(self.config):
            self.workers = Workers(self.plan)
            self.config.pluginmanager.register(self.workers)
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
        self.plan.tests.clear()
        expected = read_expected(self._expected_path(plugins().catalog))
        names = {test_name(item): item.get_closest_marker("tg_core") is not None for item in own}
        self.plan.wrong = misuse(expected, names) if len(own) > 1 else []
        if self.plan.wrong and not is_worker(self.config):
            raise pytest.UsageError("\n".join(["expected failures:", *self.plan.wrong]))
        dropped = {item for item in own if level_of(item) not in self.levels}
        for item in own:
            reason = expected.reasons.get(test_name(item))
            if reason is not None:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
        if dropped:
            self.config.hook.pytest_deselected(items=[item for item in own if item in dropped])
            items[:] = [item for item in items if item not in dropped]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which tests are left, when all that selects has had its say."""
        self.plan.tests = {test_name(i): planned(i) for i in session.items if _is_own(i)}
        if is_worker(self.config):
            tell_plan(self.config, self.plan)

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
        name = short_name(report.nodeid)
        outcome, message = outcome_of(report)
        known = self.cases.get(name)
        if name not in self.plan.tests or outcome is None:
            return
        if known is None or known.outcome != "failed":
            self.cases[name] = self._case(name, outcome, message, report.duration)

    def _case(self, name: str, outcome: Outcome, message: str, seconds: float = 0.0) -> Case:
        test = self.plan.tests[name]
        mandatory = test.mandatory
        if outcome == "undeclared" and any(word in test.condition for word in _words(message)):
            mandatory = False
        return Case(
            name, test.level, mandatory, outcome, message, test.operation, test.dtype, seconds
        )

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, and fail for what no test shows."""
        if is_worker(self.config):
            tell_offer(self.config, self._offer())
            return
        from tg_conformance.report import write_report

        verdict = self.verdict()
        for path in self.config.getoption("--tg-report"):
            write_report(verdict, Path(path))
        if verdict.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self) -> None:
        """Print the matrix."""
        if is_worker(self.config):
            return
        from tg_conformance.report import print_verdict

        print_verdict(self.verdict())

    def verdict(self) -> Verdict:
        """Return the result so far."""
        features, interface = self._offer()
        required = [
            name for text in self.config.getoption("--tg-require") for name in [*_words(text)]
        ]
        problems = [f"{name} is required and not declared" for name in required
                    if name not in features]  # fmt: skip
        cases, unheard = dict(self.cases), self._without_result()
        if self.workers is not None and self.workers.lost:
            problems.append(f"processes of the run that ended too early: {self.workers.lost}")
            reason = "it did not run: the processes for it ended too early"
            cases |= {name: self._case(name, "failed", reason) for name in unheard}
        elif unheard:
            total = len(self.plan.tests)
            problems.append(f"{len(unheard)} of {total} tests did not run, {unheard[0]} first")
        # in the order of collection, whichever process was first
        ordered = [cases[name] for name in self.plan.tests if name in cases]
        thorough = thorough_amount() if self.config.getoption("--tg-thorough") else None
        return Verdict(
            self.device,
            interface,
            tuple(sorted(ordered, key=_by_level)),
            features,
            thorough,
            tuple(problems),
        )

    def _offer(self) -> Offer:
        """Return what the device offers: a worker's word, which may be gone, or by opening it."""
        from tg_core import Device
        from tg_core.errors import TGError

        if self.workers is not None:
            return self.workers.offer
        features: frozenset[str] = frozenset()
        interface = None
        try:
            features = self.features
            interface = Device[self.device].interface_name
        except TGError:
            # the tests of level 0 say why it does not open
            pass
        return Offer(features, interface)

    def _without_result(self) -> list[str]:
        """Return the tests that nothing is known of, though they were to run."""
        if self.config.option.collectonly:
            return []
        return [name for name in self.plan.tests if name not in self.cases]

    def _expected_path(self, catalog: Catalog) -> Path | None:
        given: str | None = self.config.getoption("--tg-expected")
        if given is not None:
            return Path(given)
        if catalog.type(self.device) is None:
            return None
        module = catalog.owner(self.device).module.__file__
        beside = Path(module).parent / FILE_NAME if module is not None else None
        return beside if beside is not None and beside.is_file() else None


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


def planned(item: pytest.Item) -> Planned:
    """Return what is known of a test before it runs."""
    parameters = getattr(item, "callspec", None)
    values: dict[str, Any] = parameters.params if parameters is not None else {}
    return Planned(
        level_of(item),
        item.get_closest_marker("tg_core") is not None,
        _condition(item),
        str(values.get("operation", "")),
        str(values.get("dtype", "")),
    )


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
