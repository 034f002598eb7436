"""Write reports/planted-faults.md: each planted fault, the test that caught it, and its message."""

import tempfile
from pathlib import Path
from typing import Any

from suite_runs import TABLE, install_planted, run_faults
from test_planted_faults import FAULTS, FILES
from test_reference_faults import CAUGHT, request_of

from tg_conformance.refdev.faults import FAULTS as MISTAKES
from tg_conformance.refdev.faults import VARIABLE

HEAD = """# Planted faults

Backends with one fault at a time, and what the conformance suite says of them. Written by
`nox -s faults`; the tests of the suite check it.
"""

REF = """
## REF

The reference device with one mistake of its encoder, driver or hardware
(`tg_conformance.refdev.faults`).

| fault | what is wrong | where | test that catches it | message |
|---|---|---|---|---|
"""

PLANTED = """
## PLANTED

The interpreter as a backend without queues, with one fault.

| fault | level | test that catches it | message |
|---|---|---|---|
"""


def main() -> None:
    """Run every fault and write the table."""
    text = HEAD + REF
    found = run_faults("REF", VARIABLE, [request_of(fault) for fault in CAUGHT])
    for fault, (_, test, message) in CAUGHT.items():
        mistake, (name, line) = MISTAKES[fault], failure_of(found[fault], test, message)
        text += f"| {fault} | {mistake.what} | {mistake.place} | `{name}` | {line} |\n"
    text += PLANTED
    requests = [(name, FILES[level], names) for name, (level, names, _, _) in FAULTS.items()]
    with tempfile.TemporaryDirectory() as folder:
        places = install_planted(Path(folder))
        found = run_faults("PLANTED", "TG_PLANTED", requests, places)
    for fault, (level, _, test, message) in FAULTS.items():
        name, line = failure_of(found[fault], test, message)
        text += f"| {fault} | {level} | `{name}` | {line} |\n"
    TABLE.write_text(text)


def failure_of(result: dict[str, Any], test: str, message: str) -> tuple[str, str]:
    """Return the test that caught a fault, and the line of its message that says where it is."""
    if not result.get("code"):
        raise SystemExit(f"{result['fault']}: the run ends well\n{result.get('output')}")
    for case in result["report"]["failures"]:
        lines = [line for line in case["message"].splitlines() if message in line]
        if test in case["test"] and lines:
            return case["test"], lines[0].strip().replace("|", "\\|")[:320]
    raise SystemExit(f"{result['fault']}: not caught: {result['report']['failures']}")


if __name__ == "__main__":
    main()
