"""Write docs/performance.md: the figures of benchmarks/results beside their goals.

    python benchmarks/table.py [--check]

`--check` writes nothing and fails when the page is not what the figures give.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"

HEAD = """# Performance

What the benchmarks measured last, beside what they are meant to reach. The page is written by
`python benchmarks/table.py` from `benchmarks/results/*.json`, which the scripts of `benchmarks`
write (`--json`); `nox -s bench` runs them all.

## Beside other frameworks

Goals are ratios to peers that were measured in the same run, in turns with ours; times belong to
one machine.

| work | ours | peer | ours / peer | goal | |
|---|---|---|---|---|---|
"""

LIMITS_HEAD = """
## Limits of their own

| work | measured | goal | |
|---|---|---|---|
"""

KERNELS_HEAD = """
## Kernels on the CPU

One call from Python, in milliseconds and as a rate: GFLOP/s, or GB/s of the least traffic. A ratio
above 1 says how many times faster than the peer we are. See `benchmarks/bench_kernels.py`.

| kernel | ours | numpy | PyTorch | times numpy | times PyTorch |
|---|---|---|---|---|---|
"""


class Goal(NamedTuple):
    """One row."""

    work: str
    file: str
    """Of `benchmarks/results`, without `.json`."""
    ours: str
    """Where our figure is: keys separated by dots."""
    peer: str
    theirs: str
    unit: str
    limit: float
    more: bool = False
    """Whether more is better."""


class Limit(NamedTuple):
    """One row about a figure that is not compared with that of a peer."""

    work: str
    file: str
    place: str
    unit: str
    limit: float | None = None
    """What it is to reach, if there is a goal."""
    more: bool = False


GOALS = (
    Goal(
        "`import tg_core`",
        *("import", "milliseconds.tg_core", "numpy", "milliseconds.numpy", "ms", 1.5),
    ),
    Goal(
        "1,000 dependent additions in one replay, per kernel",
        *("launch", "frameworks.tg.adds_ns_per_kernel"),
        *("numpy", "frameworks.numpy.adds_ns_per_kernel", "ns", 0.45),
    ),
    Goal(
        "1,000 dependent 8x8 products in one replay, per kernel",
        *("launch", "frameworks.tg.matmuls_ns_per_kernel"),
        *("numpy", "frameworks.numpy.matmuls_ns_per_kernel", "ns", 0.45),
    ),
    Goal(
        "one jitted call of one tiny kernel",
        *("launch", "frameworks.tg.call_us"),
        *("PyTorch", "frameworks.torch.call_us", "us", 5.36),
    ),
    Goal(
        "process start to a 256x256 product, relu and sum, warm caches",
        *("cold", "frameworks.tg.warm_ms", "JAX", "frameworks.jax.warm_ms", "ms", 0.756),
    ),
    Goal(
        "ResNet-18, first call of a process, warm caches",
        *("models", "models.resnet18.tg.warm.first"),
        *("tinygrad", "models.resnet18.tinygrad.warm.first", "ms", 0.112),
    ),
    Goal(
        "GPT-2-small, 64 tokens, first call of a process, warm caches",
        *("models", "models.gpt2.tg.warm.first"),
        *("tinygrad", "models.gpt2.tinygrad.warm.first", "ms", 0.163),
    ),
    Goal(
        "ResNet-18, first call of a process, cold caches",
        *("models", "models.resnet18.tg.cold.first"),
        *("tinygrad", "models.resnet18.tinygrad.cold.first", "ms", 0.6),
    ),
    Goal(
        "GPT-2-small, 64 tokens, first call of a process, cold caches",
        *("models", "models.gpt2.tg.cold.first"),
        *("tinygrad", "models.gpt2.tinygrad.cold.first", "ms", 0.6),
    ),
    Goal(
        "building 10,000 elementwise operations lazily",
        *("cold", "frameworks.tg.lazy_ops_per_second"),
        *("tinygrad", "frameworks.tinygrad.lazy_ops_per_second", "ops/s", 2.0, True),
    ),
)


LIMITS = (
    Limit(
        "a replay of 1,000 kernels on emulated queues: the submit program, per kernel",
        *("hcq", "submit_ns_per_kernel", "ns", 300),
    ),
    Limit("the same: Python, per batch", "hcq", "python_us_per_batch", "us", 30),
    Limit("the same: compiling the batch, no caches", "hcq", "compile_ms", "ms", 2000),
    Limit("the same: linking the compiled batch", "hcq", "link_ms", "ms", 50),
    Limit(
        "a chain of 10,000 operations over one of 100: cost of one, worst of six kinds",
        *("chain", "worst_growth", "times", 2),
    ),
    Limit(
        "index expressions simplified per second, over tinygrad",
        *("rewrite", "speed_ratio_median", "times", 5, True),
    ),
    Limit("nodes of the results, over tinygrad", "rewrite", "size_ratio", "times", 1),
    Limit("a job of one chunk on the thread pool", "cpu_pool", "microseconds.chunks_1", "us"),
    Limit("a job of eight chunks on the thread pool", "cpu_pool", "microseconds.chunks_8", "us"),
)


def figure(results: dict[str, Any], file: str, place: str) -> float | None:
    """Return a figure, None where it was not measured."""
    found: Any = results.get(file, {})
    for key in place.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, int | float) else None


def shown(value: float | None, unit: str) -> str:
    """Return a figure with three digits that count."""
    if value is None:
        return "not measured"
    digits = max(0, 2 - len(str(int(abs(value)))) + 1) if value < 100 else 0
    return f"{value:,.{digits}f} {unit}"


def row(goal: Goal, results: dict[str, Any]) -> str:
    """Return one line of the table."""
    ours, theirs = (figure(results, goal.file, p) for p in (goal.ours, goal.theirs))
    limit = f"at {'least' if goal.more else 'most'} {goal.limit:g}"
    ratio, verdict = "", ""
    if ours is not None and theirs:
        ratio = f"{ours / theirs:.3g}"
        met = ours / theirs >= goal.limit if goal.more else ours / theirs <= goal.limit
        verdict = "met" if met else "**missed**"
    peer = f"{goal.peer} {shown(theirs, goal.unit)}"
    return f"| {goal.work} | {shown(ours, goal.unit)} | {peer} | {ratio} | {limit} | {verdict} |"


def limit_row(limit: Limit, results: dict[str, Any]) -> str:
    """Return one line of the table of limits."""
    found, goal, verdict = figure(results, limit.file, limit.place), "", ""
    if limit.limit is not None:
        goal = f"at {'least' if limit.more else 'most'} {limit.limit:,g} {limit.unit}"
        if found is not None:
            met = found >= limit.limit if limit.more else found <= limit.limit
            verdict = "met" if met else "**missed**"
    return f"| {limit.work} | {shown(found, limit.unit)} | {goal} | {verdict} |"


def kernel_rows(results: dict[str, Any]) -> list[str]:
    """Return the lines of the table of kernels."""
    rows = []
    for name, case in results.get("kernels", {}).get("cases", {}).items():
        times = [
            f"{shown(case[who]['ms'], 'ms')}, {shown(case[who]['rate'], case['unit'])}"
            if who in case
            else ""
            for who in ("tg", "numpy", "torch")
        ]
        ratios = [f"{case[key]:g}" if key in case else "" for key in ("times_numpy", "times_torch")]
        rows.append(f"| {name} | {' | '.join((*times, *ratios))} |")
    return rows or ["| not measured | | | | | |"]


def page(results: dict[str, Any]) -> str:
    """Return the page for some results, by name of their file."""
    tables = (
        (HEAD, [row(goal, results) for goal in GOALS]),
        (LIMITS_HEAD, [limit_row(limit, results) for limit in LIMITS]),
        (KERNELS_HEAD, kernel_rows(results)),
    )
    return "".join(head + "\n".join(rows) + "\n" for head, rows in tables)


def read_results(folder: Path = RESULTS) -> dict[str, Any]:
    """Return the content of every file of results, by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    text = page(read_results())
    if not parser.parse_args().check:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        raise SystemExit("docs/performance.md is not up to date; run python benchmarks/table.py")


if __name__ == "__main__":
    main()
