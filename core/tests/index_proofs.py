"""A pytest plugin that counts how the accesses of all kernels of a run were proved.

    CHECK_OOB=1 INDEX_PROOFS_REPORT=reports/index_proofs.json PYTHONPATH=core/tests pytest -p index_proofs

A kernel is counted once, whichever tests compile it. What was not proved is listed with its test;
the kernel is refused there, which some tests are about. Kernels that tests compile in processes of
their own are proved or refused, too, but not counted.
"""

from __future__ import annotations

import json
import os
import platform
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

_lock = threading.Lock()


class Proofs:
    """What was found so far, by kernel."""

    def __init__(self) -> None:
        self.kernels: dict[str, dict[str, int]] = {}
        """Digest to the number of accesses of each verdict."""
        self.unproved: dict[str, dict[str, str]] = {}
        """Digest to the test, the stage and what was not proved."""
        self.host_programs: set[str] = set()
        """Digests of host programs, which are not checked."""
        self.failed: list[str] = []
        self.passed = 0
        self.ignored: list[str] = []
        """Tests that this run leaves out."""
        self.test = "collection"

    def add(self, sink: Any, stage: str, reports: list[Any]) -> None:
        """Count one kernel."""
        digest = sink.key.hex()
        unsafe = [str(report) for report in reports if not report.safe]
        counts = Counter(report.verdict.name for report in reports)
        with _lock:
            self.kernels[digest] = dict(counts)
            if unsafe:
                name = getattr(sink.arg, "name", "") or digest[:12]
                entry = {"test": self.test, "kernel": name, "stage": stage}
                self.unproved[digest] = {**entry, "accesses": "; ".join(unsafe)}

    def to_json(self) -> dict[str, Any]:
        """Return what a worker sends."""
        return {
            "kernels": self.kernels,
            "unproved": self.unproved,
            "host_programs": sorted(self.host_programs),
        }

    def merge(self, other: dict[str, Any]) -> None:
        """Add what a worker sent."""
        self.kernels.update(other["kernels"])
        self.unproved.update(other["unproved"])
        self.host_programs.update(other["host_programs"])

    def report(self) -> dict[str, Any]:
        """Return the report."""
        total: Counter[str] = Counter()
        for counts in self.kernels.values():
            total.update(counts)
        failed = set(self.failed)
        listed = sorted(self.unproved.values(), key=lambda e: (e["test"], e["accesses"]))
        for entry in listed:
            # a test that passes although its kernel was refused is about the refusal
            entry["outcome"] = "failed" if entry["test"] in failed else "refused as expected"
        return {
            "judge": "index_proofs",
            "tests_passed": self.passed,
            "tests_failed": sorted(failed),
            "kernels": len(self.kernels),
            "accesses": sum(total.values()),
            "by_bounds": total["BOUNDS"],
            "by_z3": total["PROVED"],
            "lanes_not_modelled": total["VECTOR"],
            "violated": total["VIOLATED"],
            "timeouts": total["TIMEOUT"],
            "unproved": listed,
            "left_out": {
                "host programs, whose positions come from tables that core has written": len(
                    self.host_programs
                ),
                "tests that compile in processes of their own": sorted(self.ignored),
            },
            "versions": {"python": platform.python_version(), "z3": version("z3-solver")},
        }


_proofs = Proofs()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Take part in the proofs; settings of the repository are in place by now."""
    ignored = (Path(path) for path in session.config.getoption("ignore") or ())
    _proofs.ignored = [path.as_posix() for path in ignored]

    from tg_core.hcq import compile as host
    from tg_core.uop import validate

    def require_in_bounds(uops: Iterable[Any], stage: str = "") -> list[Any]:
        nodes = list(uops.toposort() if isinstance(uops, validate.UOp) else uops)
        _proofs.add(nodes[-1], stage, validate.check_accesses(nodes))
        return original(nodes, stage)

    def compile_host_program(body: Any, renderer: Any) -> Any:
        _proofs.host_programs.add(body.key.hex())
        return compile_program(body, renderer)

    original, compile_program = validate.require_in_bounds, host.compile_program
    validate.require_in_bounds = require_in_bounds
    host.compile_program = compile_host_program


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Know which test compiles."""
    _proofs.test = item.nodeid
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Know which tests failed."""
    if report.failed:
        _proofs.failed.append(report.nodeid)
    elif report.when == "call" and report.passed:
        _proofs.passed += 1


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take what a worker of xdist has found."""
    sent = getattr(node, "workeroutput", {}).get("index_proofs")
    if sent is not None:
        _proofs.merge(sent)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report, or send it to the process that does."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["index_proofs"] = _proofs.to_json()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the report once all workers are done."""
    name = os.environ.get("INDEX_PROOFS_REPORT")
    if name is None or hasattr(config, "workeroutput"):
        return
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(_proofs.report(), indent=1) + "\n", encoding="utf-8")
