"""Reports as files: the format follows from the ending."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tg_conformance.report.html import html_of

if TYPE_CHECKING:
    from tg_conformance.verdict import Verdict

__all__ = ["as_json", "as_junit", "write_report"]

FORMATS = (".html", ".json", ".xml")


def write_report(verdict: Verdict, path: Path) -> None:
    """Write a report.

    Args:
        verdict: the result of a run.
        path: where; it ends in `.html`, `.json` or `.xml`.

    Raises:
        ValueError: another ending.
    """
    if path.suffix == ".json":
        text = json.dumps(as_json(verdict), indent=1) + "\n"
    elif path.suffix == ".html":
        text = html_of(verdict)
    elif path.suffix == ".xml":
        text = as_junit(verdict)
    else:
        raise ValueError(f"report {path}: expected an ending of {', '.join(FORMATS)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def as_json(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as plain data; two runs with equal results give equal data."""
    return {
        "device": verdict.device,
        "interface": verdict.interface,
        "level": verdict.level,
        "passed": verdict.count("passed"),
        "failed": verdict.count("failed"),
        "xfailed": verdict.count("xfailed"),
        "undeclared": verdict.count("undeclared"),
        "capabilities": {"declared": verdict.offered, "undeclared": verdict.undeclared},
        "problems": list(verdict.problems),
        "thorough": asdict(verdict.thorough) if verdict.thorough else None,
        "versions": versions(),
        "levels": [
            {
                "level": result.level.number,
                "title": result.level.title,
                "reached": result.reached,
                "passed": result.count("passed"),
                "failed": result.count("failed"),
                "xfailed": result.count("xfailed"),
                "undeclared": result.count("undeclared"),
            }
            for result in verdict.levels
        ],
        "failures": [
            {"test": case.test, "level": case.level, "message": case.message}
            for case in verdict.of("failed")
        ],
        "expected_failures": [
            {"test": case.test, "reason": case.message} for case in verdict.of("xfailed")
        ],
        "tests": {case.test: case.outcome for case in verdict.cases},
    }


def versions() -> dict[str, str]:
    """Return the versions of what took part, beside the backend's own."""
    import numpy as np

    from tg_core import __version__

    python = ".".join(str(part) for part in sys.version_info[:3])
    return {"tg-core": __version__, "numpy": np.__version__, "python": python}


def as_junit(verdict: Verdict) -> str:
    """Return the verdict as JUnit XML, one suite a level."""
    root = ElementTree.Element("testsuites", name=f"tg-conformance {verdict.device}")
    for result in verdict.levels:
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=f"level {result.level.number}: {result.level.title}",
            tests=str(len(result.cases)),
            failures=str(result.count("failed")),
            skipped=str(result.count("undeclared") + result.count("xfailed")),
        )
        for case in result.cases:
            file, _, name = case.test.partition("::")
            entry = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"{verdict.device}.{file.removesuffix('.py')}",
                name=name,
                time=f"{case.seconds:.3f}",
            )
            if case.outcome == "failed":
                failure = ElementTree.SubElement(entry, "failure", message=case.message)
                failure.text = case.message
            elif case.outcome != "passed":
                note = f"{case.outcome}: {case.message}"
                ElementTree.SubElement(entry, "skipped", message=note)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
