"""Host time of replaying captured graphs: per kernel of a long chain, and of one small call.

    python benchmarks/bench_launch.py [--peer-python PYTHON] [--rounds 20] [--json FILE]

* `adds` and `matmuls`: one jitted function of dependent kernels, `x + 1` on 16 elements or the
  product of two 8x8 matrices, so that what is measured is launching. The figure is one replay over
  the number of kernels.
* `call`: one jitted function of one such addition, arguments and result included.

The peers do the same: numpy and PyTorch call by call, JAX in one compiled function, where the
additions would be one kernel and are left out. All take turns in one run. Every figure is the
median over rounds of the least of some repeats: other processes only ever add time. `link_ms` is
what turning the captured chain into one native call takes, once.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from peers import Worker, answer_rounds, machine, medians, ratio, write_json

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 16
FRAMEWORKS = ("tg", "numpy", "torch", "jax", "tinygrad")


def least(function: Callable[[], Any], repeats: int, number: int) -> float:
    """Return the least time of one call, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(number):
            function()
        best = min(best, (time.perf_counter() - start) / number)
    return best


def chain(step: Callable[[Any], Any], kernels: int) -> Callable[[Any], Any]:
    """Return a function that does a step again and again."""

    def run(x: Any) -> Any:
        for _ in range(kernels):
            x = step(x)
        return x

    return run


def lazy_cases(framework: str, kernels: int) -> tuple[dict[str, Callable[[], Any]], Any]:
    """Return the cases of a framework with a TinyJit, captured, and how results become numpy."""
    if framework == "tg":
        from tg_core import Tensor, TinyJit
    else:
        from tinygrad import Tensor, TinyJit
    x = Tensor(np.zeros(SIZE, np.float32)).realize()
    w = Tensor(np.eye(8, dtype=np.float32)).realize()
    adds = TinyJit(lambda t: chain(lambda a: (a + 1).contiguous(), kernels)(t).realize())
    matmuls = TinyJit(lambda t: chain(lambda a: (a @ w).contiguous(), kernels)(t).realize())
    single = TinyJit(lambda t: (t + 1).realize())
    cases = {"adds": lambda: adds(x), "matmuls": lambda: matmuls(w), "call": lambda: single(x)}
    for case in cases.values():
        for _ in range(3):
            case()
    if framework == "tg":
        start = time.perf_counter()
        adds.captured.replay.link()
        EXTRA["link_ms"] = (time.perf_counter() - start) * 1e3
    return cases, lambda result: result.numpy()


def eager_cases(framework: str, kernels: int) -> tuple[dict[str, Callable[[], Any]], Any]:
    """Return the cases of numpy or torch, and how results become numpy."""
    x, w = np.zeros(SIZE, np.float32), np.eye(8, dtype=np.float32)
    if framework == "torch":
        import torch

        x, w = torch.from_numpy(x), torch.from_numpy(w)
    adds, matmuls = chain(lambda a: a + 1, kernels), chain(lambda a: a @ w, kernels)
    cases = {"adds": lambda: adds(x), "matmuls": lambda: matmuls(w), "call": lambda: x + 1}
    return cases, np.asarray


def jax_cases(framework: str, kernels: int) -> tuple[dict[str, Callable[[], Any]], Any]:
    """Return the cases of jax, and how results become numpy."""
    import jax
    import jax.numpy as jnp

    x, w = jnp.zeros(SIZE, jnp.float32), jnp.eye(8, dtype=jnp.float32)
    matmuls = jax.jit(chain(lambda a: a @ w, kernels))
    single = jax.jit(lambda t: t + 1)
    cases = {
        "matmuls": lambda: matmuls(w).block_until_ready(),
        "call": lambda: single(x).block_until_ready(),
    }
    return cases, np.asarray


CASES = {
    "tg": lazy_cases,
    "tinygrad": lazy_cases,
    "numpy": eager_cases,
    "torch": eager_cases,
    "jax": jax_cases,
}
EXTRA: dict[str, float] = {}


def worker(framework: str, kernels: int) -> None:
    """Measure one framework in this process, a round at a time."""
    cases, to_numpy = CASES[framework](framework, kernels)
    expected = {"adds": float(kernels), "call": 1.0, "matmuls": 1.0}
    for name, case in cases.items():
        if np.ravel(to_numpy(case()))[0] != expected[name]:
            raise SystemExit(f"bench_launch: {framework} computes {name} wrong")

    def measure() -> dict[str, float]:
        found = {"call_us": least(cases["call"], 5, 50) * 1e6}
        for name in ("adds", "matmuls"):
            if name in cases:
                found[f"{name}_ns_per_kernel"] = least(cases[name], 3, 1) / kernels * 1e9
        return {**found, **EXTRA}

    answer_rounds(measure)


def report_of(workers: list[Worker], kernels: int) -> dict[str, Any]:
    """Return what was measured so far."""
    found: dict[str, Any] = {w.name: medians(w.rounds) for w in workers if w.rounds}
    ours = found.get("tg", {})

    def over(peer: str, figure: str) -> float | None:
        return ratio(ours.get(figure), found.get(peer, {}).get(figure))

    ratios = {
        "adds_over_numpy": over("numpy", "adds_ns_per_kernel"),
        "matmuls_over_numpy": over("numpy", "matmuls_ns_per_kernel"),
        "call_over_torch": over("torch", "call_us"),
        "call_over_jax": over("jax", "call_us"),
        "call_over_tinygrad": over("tinygrad", "call_us"),
    }
    errors = {w.name: w.error for w in workers if w.error}
    rounds = min((len(w.rounds) for w in workers if w.rounds), default=0)
    head = {"bench": "launch", "kernels": kernels, "rounds": rounds, **machine()}
    return {**head, "frameworks": found, "ratios": ratios, "errors": errors}


def main() -> None:
    """Measure all frameworks in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--peer-python", help="interpreter that has torch, jax and tinygrad")
    parser.add_argument("--peers", nargs="*", default=FRAMEWORKS[2:], choices=FRAMEWORKS[2:])
    parser.add_argument("--limit", type=float, default=180, help="seconds for a start or a round")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", choices=FRAMEWORKS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.kernels)
        return
    pythons = {"tg": sys.executable, "numpy": sys.executable}
    if options.peer_python:
        pythons.update(dict.fromkeys(options.peers, options.peer_python))
    arguments = [__file__, "--kernels", str(options.kernels), "--worker"]
    workers = [Worker(f, [p, *arguments, f], options.limit) for f, p in pythons.items()]
    try:
        for _ in range(options.rounds):
            for one in workers:
                one.measure()
            write_json(report_of(workers, options.kernels), options.json)
    finally:
        for one in workers:
            one.close()
    print(json.dumps(report_of(workers, options.kernels), indent=1))


if __name__ == "__main__":
    main()
