"""Write reports/planted-faults.md: each planted fault, the test that caught it, and its message."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from suite_runs import install_planted
from test_planted_faults import FAULTS, FILES, SERVER

HEAD = """# Planted faults

The interpreter with one fault at a time, and what the conformance suite says of it. Written by
`conformance/tests/write_planted_faults.py`; `conformance/tests/test_planted_faults.py` checks it.

| fault | level | test that catches it | message |
|---|---|---|---|
"""


def main() -> None:
    """Run every fault and write the table."""
    requests = [(name, FILES[level], names) for name, (level, names, _, _) in FAULTS.items()]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(SERVER)],
            input=json.dumps(requests),
            env=os.environ | {"PYTHONPATH": install_planted(Path(folder))},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    rows = []
    for line in done.stdout.splitlines():
        result = json.loads(line)
        level, _, test, _ = FAULTS[result["fault"]]
        failures = result.get("report", {}).get("failures", [])
        case = next((f for f in failures if test in f["test"]), None)
        if case is None:
            raise SystemExit(f"{result}: not caught")
        message = case["message"].splitlines()[0].replace("|", "\\|")[:200]
        rows.append(f"| {result['fault']} | {level} | `{case['test']}` | {message} |\n")
    target = Path(__file__).parents[2] / "reports" / "planted-faults.md"
    target.write_text(HEAD + "".join(rows))


if __name__ == "__main__":
    main()
