"""Time of `import tg_core` against `import numpy`, each in new processes, as JSON.

python benchmarks/bench_import.py [--runs N] [--json FILE]

The runs alternate, so that whatever else the machine does meets both alike. What is reported is the
time above that of an interpreter that imports nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from peers import environment, machine, write_json

STATEMENTS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "tg_core": "import tg_core",
    "tg_core.Tensor": "from tg_core import Tensor",
}


def seconds_of(statement: str) -> float:
    """Return the wall time of a new process that runs one statement."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env=environment())
    return time.perf_counter() - start


def measure(runs: int) -> dict[str, float]:
    """Return the median time of each statement, in seconds, above that of nothing."""
    for statement in STATEMENTS.values():
        seconds_of(statement)  # fills the caches of the file system and of bytecode
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(runs):
        for name, statement in STATEMENTS.items():
            times[name].append(seconds_of(statement))
    base = statistics.median(times.pop("nothing"))
    return {name: statistics.median(values) - base for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    runs = options.runs
    seconds = measure(runs)
    result = {
        "bench": "import",
        "runs": runs,
        **machine(),
        "milliseconds": {
            name.replace(".", "_"): round(value * 1e3, 1) for name, value in seconds.items()
        },
        "ratio": round(seconds["tg_core"] / seconds["numpy"], 3),
        "ratio_with_tensor": round(seconds["tg_core.Tensor"] / seconds["numpy"], 3),
    }
    print(json.dumps(result, indent=2))
    write_json(result, options.json)


if __name__ == "__main__":
    main()
