"""Chains of n operations: seconds to build, callify, schedule and compile, and how the cost of one
operation grows with n. Prints JSON, or writes it with `--json FILE`.

Times are of this process alone (CPU time), so that a busy machine does not show.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from peers import machine, write_json

from tg_core import Tensor
from tg_core.callify import callify
from tg_core.codegen import clear_compiled
from tg_core.config import Context
from tg_core.engine.compile_calls import compile_calls
from tg_core.schedule import schedule_body
from tg_core.tensor.realize import Pending

SIZES = (100, 1_000, 10_000)
STEPS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "elementwise": lambda x, i: x + 1,
    "distinct constants": lambda x, i: x + float(i),
    "stored": lambda x, i: (x + 1).contiguous(),
    "views": lambda x, i: x.flip(0) + 1,
    "shared": lambda x, i: x + x.flip(0) * 0.5,
    "reductions": lambda x, i: x - x.max(),
}
STAGES = ("build", "pending", "callify", "schedule", "compile")


def measure(kind: str, n: int) -> dict[str, object]:
    x = Tensor(np.ones(16, np.float32)).realize()
    clear_compiled()
    times = [time.process_time()]
    y = x
    for i in range(n):
        y = STEPS[kind](y, i)
    times.append(time.process_time())
    pending = Pending([y.uop])
    times.append(time.process_time())
    assert pending.sink is not None
    call = callify(pending.sink)
    times.append(time.process_time())
    linear = schedule_body(call.src[0], "CPU")
    times.append(time.process_time())
    compile_calls(linear)
    times.append(time.process_time())
    seconds = {s: round(b - a, 4) for s, a, b in zip(STAGES, times, times[1:], strict=False)}
    return {
        "kind": kind,
        "n": n,
        "kernels": len(linear.src),
        "distinct_kernels": len({c.src[0] for c in linear.src}),
        "seconds": seconds,
        "us_per_op": round(sum(seconds.values()) / n * 1e6, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    rows = []
    with Context(SCACHE=0, CACHE=0, SPEC=0):
        for kind in STEPS:
            measure(kind, 20)
            found = [measure(kind, n) for n in options.sizes]
            costs = [float(row["us_per_op"]) for row in found]  # type: ignore[arg-type]
            rows.append(
                {"kind": kind, "ratio_last_to_first": round(costs[-1] / costs[0], 2), "runs": found}
            )
    worst = max(float(row["ratio_last_to_first"]) for row in rows)  # type: ignore[arg-type]
    report = {"bench": "chain", **machine(), "worst_growth": worst, "kinds": rows}
    write_json(report, options.json)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
