"""Nodes of index expressions simplified per second, over a corpus made from fixed seeds.

    python benchmarks/bench_rewrite.py [--graphs 20] [--nodes 3000] [--json FILE]

Each graph is a collection of random index expressions as kernels have them: sums of products over
ranges, floor division and modulo by constants, masks. Expressions are new to the process, so
nothing is remembered from an earlier graph. The figure is the median over the graphs.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import time
from pathlib import Path

from tg_core.uop.ops import Invalid, Ops, UOp
from tg_core.uop.symbolic import simplify


def flat_index(rng: random.Random, loops: list[UOp]) -> UOp:
    """Return a row-major index over some loops, as a reshape makes it."""
    index = UOp.const(0)
    for loop in rng.sample(loops, rng.randint(2, 4)):
        index = index * int(loop.vmax + 1) + loop
    return index


def view(rng: random.Random, index: UOp, depth: int) -> UOp:
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
            index = high * inner + low + rng.randint(-3, 3)
    return index


def expression(rng: random.Random, loops: list[UOp]) -> UOp:
    """Return one masked index."""
    index = view(rng, flat_index(rng, loops), rng.randint(1, 4))
    limit = rng.randint(1, 200)
    valid = (index < limit) & (index >= rng.randint(0, 5))
    if rng.random() < 0.5:
        valid = valid & (rng.choice(loops) + rng.choice(loops) < rng.randint(2, 20))
    return UOp(Ops.WHERE, (valid, index, UOp.const(Invalid)))


def graph(seed: int, nodes: int) -> UOp:
    """Return a graph of at least `nodes` nodes."""
    rng = random.Random(seed)
    loops = [UOp.range(rng.choice((2, 3, 4, 7, 8, 16, 28, 32)), 100 * seed + i) for i in range(6)]
    parts: list[UOp] = []
    while len(UOp.sink(*parts).toposort()) < nodes:
        parts += [expression(rng, loops) for _ in range(10)]
    return UOp.sink(*parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rates, before, after = [], 0, 0
    for seed in range(options.graphs + 1):
        root = graph(seed, options.nodes)
        count = len(root.toposort())
        start = time.process_time()
        simple = simplify(root)
        elapsed = time.process_time() - start
        # the first graph pays for compiling the matchers
        if seed:
            rates.append(count / elapsed)
            before += count
            after += len(simple.toposort())
    result = {
        "nodes_per_second_median": round(statistics.median(rates)),
        "nodes_per_second_best": round(max(rates)),
        "graphs": options.graphs,
        "nodes_before": before,
        "nodes_after": after,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
