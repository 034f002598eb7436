"""Index expressions simplified per second, over a corpus made from fixed seeds.

    python benchmarks/bench_rewrite.py [--graphs 12] [--expressions 300] [--json FILE]
        [--peer-python PYTHON]

Each graph is a collection of random index expressions as kernels have them: sums of products over
loop variables, floor division and modulo by constants, masks. Expressions are new to the process,
so nothing is remembered from an earlier graph. Times are of the process alone (CPU time), and the
figures are medians over the graphs.

`--peer-python` names an interpreter that has tinygrad from PyPI: the same expressions are
simplified there too, in processes that take turns with ours; results are compared by evaluation at
random points, and by their total number of nodes.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

POINTS = 3
"""Assignments at which each tenth expression is evaluated."""
TURNS = 4
"""Processes of each side."""


def flat_index(rng: random.Random, loops: list[Any], sizes: list[int]) -> Any:
    """Return a row-major index over some loops, as a reshape makes it."""
    index = None
    for i in rng.sample(range(len(loops)), rng.randint(2, 4)):
        index = loops[i] if index is None else index * sizes[i] + loops[i]
    return index


def view(rng: random.Random, index: Any, depth: int) -> Any:
    """Return the index after a chain of views: it is taken apart and put together again."""
    for _ in range(depth):
        inner, outer = rng.choice((2, 3, 4, 6, 8, 16, 32)), rng.choice((2, 3, 4, 8, 12))
        low, high = index % inner, index // inner % outer
        order = rng.random()
        if order < 0.4:
            index = low * outer + high
        elif order < 0.7:
            index = index // (inner * outer) * (inner * outer) + high * inner + low
        else:
            index = high * inner + low + rng.randint(0, 3)
    return index


def expressions(rng: random.Random, loops: list[Any], sizes: list[int]) -> list[Any]:
    """Return an index and the mask that guards it."""
    index = view(rng, flat_index(rng, loops, sizes), rng.randint(1, 4))
    valid = index < rng.randint(1, 200)
    if rng.random() < 0.5:
        i, j = rng.randrange(len(loops)), rng.randrange(len(loops))
        valid = valid & (loops[i] + loops[j] < rng.randint(2, 20))
    return [index, valid]


def graph(seed: int, count: int, variable: Callable[[str, int], Any], sink: Any) -> tuple[Any, ...]:
    """Return the variables, their sizes, and a graph of `count` expressions."""
    rng = random.Random(seed)
    sizes = [rng.choice((2, 3, 4, 7, 8, 16, 28, 32)) for _ in range(6)]
    loops = [variable(f"v{seed}_{i}", size) for i, size in enumerate(sizes)]
    parts: list[Any] = []
    while len(parts) < count:
        parts += expressions(rng, loops, sizes)
    return loops, sizes, sink(*parts)


def values_at(
    root: Any, loops: list[Any], sizes: list[int], const: Any, simplify: Any
) -> list[int]:
    """Return the values of some of a graph's roots at random points."""
    rng = random.Random(len(root.src))
    found = []
    for _ in range(POINTS):
        point = {
            loop: const(loop, rng.randrange(size)) for loop, size in zip(loops, sizes, strict=True)
        }
        for part in root.src[::10]:
            found.append(int(simplify(part.substitute(point)).arg))
    return found


def measure(framework: str, seeds: range, count: int) -> list[dict[str, Any]]:
    """Simplify graphs in this process."""
    if framework == "tg":
        from tg_core.uop.ops import UOp, Variable
        from tg_core.uop.symbolic import simplify

        def variable(name: str, size: int) -> Any:
            return Variable(name, 0, size - 1)

        def const(loop: Any, value: int) -> Any:
            return UOp.const(value)
    else:
        from tinygrad.uop.ops import UOp, graph_rewrite
        from tinygrad.uop.symbolic import sym

        def simplify(root: Any) -> Any:
            return graph_rewrite(root, sym)

        def variable(name: str, size: int) -> Any:
            return UOp.variable(name, 0, size - 1)

        def const(loop: Any, value: int) -> Any:
            return loop.const_like(value)

    # a graph of its own pays for compiling the matchers
    simplify(graph(-1, count, variable, UOp.sink)[2])
    rows = []
    for seed in seeds:
        loops, sizes, root = graph(seed, count, variable, UOp.sink)
        start = time.process_time()
        simple = simplify(root)
        elapsed = time.process_time() - start
        values = values_at(simple, loops, sizes, const, simplify)
        assert values == values_at(root, loops, sizes, const, simplify), seed
        rows.append(
            {
                "expressions": len(root.src),
                "before": len(root.toposort()),
                "after": len(simple.toposort()),
                "seconds": elapsed,
                "values": values,
            }
        )
    return rows


def version_of(framework: str, python: str) -> str:
    """Return the version that an interpreter has."""
    name = "tg-core" if framework == "tg" else framework
    code = f"import importlib.metadata as m; print(m.version({name!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of one side."""
    return {
        "expressions_per_second_median": round(
            statistics.median(row["expressions"] / row["seconds"] for row in rows)
        ),
        "nodes_per_second_median": round(
            statistics.median(row["before"] / row["seconds"] for row in rows)
        ),
        "nodes_before": sum(row["before"] for row in rows),
        "nodes_after": sum(row["after"] for row in rows),
    }


def main() -> None:
    """Measure, beside a peer if one is named, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=12)
    parser.add_argument("--expressions", type=int, default=300)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer-python")
    parser.add_argument("--worker", choices=("tg", "tinygrad"), help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        seeds = range(options.first, options.first + options.graphs)
        print(json.dumps(measure(options.worker, seeds, options.expressions)))
        return
    runs = {"tg": sys.executable}
    if options.peer_python:
        runs["tinygrad"] = options.peer_python
    rows: dict[str, list[dict[str, Any]]] = {framework: [] for framework in runs}
    each = -(-options.graphs // TURNS)
    for first in range(0, each * TURNS, each):
        for framework, python in runs.items():
            command = [python, __file__, "--worker", framework, "--first", str(first)]
            command += ["--graphs", str(each), "--expressions", str(options.expressions)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            rows[framework] += json.loads(done.stdout.splitlines()[-1])
    values = [[row["values"] for row in found] for found in rows.values()]
    ours = rows["tg"]
    result: dict[str, Any] = {
        **{framework: summary(found) for framework, found in rows.items()},
        "equal_values": all(found == values[0] for found in values),
        "points_compared": sum(len(row["values"]) for row in ours),
        "graphs": len(ours),
        "expressions": sum(row["expressions"] for row in ours),
        "versions": {
            "python": platform.python_version(),
            **{framework: version_of(framework, python) for framework, python in runs.items()},
        },
        "machine": platform.machine(),
    }
    if "tinygrad" in rows:
        ratios = [b["seconds"] / a["seconds"] for a, b in zip(ours, rows["tinygrad"], strict=True)]
        result["speed_ratio_median"] = round(statistics.median(ratios), 2)
        result["speed_ratio_least"] = round(min(ratios), 2)
        after = [result[framework]["nodes_after"] for framework in ("tg", "tinygrad")]
        result["size_ratio"] = round(after[0] / after[1], 3)
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
