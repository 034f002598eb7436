"""Nodes of index expressions simplified per second, over a corpus made from fixed seeds.

    python benchmarks/bench_rewrite.py [--graphs 20] [--nodes 3000] [--json FILE]
        [--peer-python PYTHON]

Each graph is a collection of random index expressions as kernels have them: sums of products over
loop variables, floor division and modulo by constants, masks. Expressions are new to the process,
so nothing is remembered from an earlier graph. The figure is the median over the graphs.

`--peer-python` names an interpreter that has tinygrad from PyPI: the same corpus is simplified
there too, in turns with ours, graph by graph the same expressions; results are compared by
evaluation at random points, and by their total number of nodes.
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


def graph(seed: int, nodes: int, variable: Callable[[str, int], Any], sink: Any) -> tuple[Any, ...]:
    """Return the variables, their sizes, and a graph of at least `nodes` nodes."""
    rng = random.Random(seed)
    sizes = [rng.choice((2, 3, 4, 7, 8, 16, 28, 32)) for _ in range(6)]
    loops = [variable(f"v{seed}_{i}", size) for i, size in enumerate(sizes)]
    parts: list[Any] = []
    while len(sink(*parts).toposort()) < nodes:
        for _ in range(10):
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
        for part in root.src[::20]:
            found.append(int(simplify(part.substitute(point)).arg))
    return found


def measure(framework: str, graphs: int, nodes: int) -> dict[str, Any]:
    """Simplify the corpus in this process."""
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

    rates, before, after, checks = [], 0, 0, []
    for seed in range(graphs + 1):
        loops, sizes, root = graph(seed, nodes, variable, UOp.sink)
        count = len(root.toposort())
        start = time.process_time()
        simple = simplify(root)
        elapsed = time.process_time() - start
        # the first graph pays for compiling the matchers
        if seed:
            rates.append(count / elapsed)
            before += count
            after += len(simple.toposort())
            checks.append(values_at(simple, loops, sizes, const, simplify))
            assert checks[-1] == values_at(root, loops, sizes, const, simplify), seed
    return {
        "nodes_per_second_median": round(statistics.median(rates)),
        "nodes_per_second_best": round(max(rates)),
        "nodes_before": before,
        "nodes_after": after,
        "checks": checks,
    }


def main() -> None:
    """Measure, beside a peer if one is named, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer-python")
    parser.add_argument("--worker", choices=("tg", "tinygrad"))
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.worker, options.graphs, options.nodes)))
        return
    found: dict[str, Any] = {}
    runs = {"tg": sys.executable}
    if options.peer_python:
        runs["tinygrad"] = options.peer_python
    for framework, python in runs.items():
        command = [python, __file__, "--worker", framework]
        command += ["--graphs", str(options.graphs), "--nodes", str(options.nodes)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[framework] = json.loads(done.stdout.splitlines()[-1])
    checks = [entry.pop("checks") for entry in found.values()]
    result: dict[str, Any] = {
        **found,
        "equal_values": all(c == checks[0] for c in checks),
        "points_compared": sum(len(c) for c in checks[0]),
        "graphs": options.graphs,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    if "tinygrad" in found:
        ours, theirs = found["tg"], found["tinygrad"]
        result["speed_ratio"] = round(
            ours["nodes_per_second_median"] / theirs["nodes_per_second_median"], 2
        )
        result["size_ratio"] = round(ours["nodes_after"] / theirs["nodes_after"], 3)
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
