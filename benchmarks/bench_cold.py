"""Process start to the first result: a 256x256 matmul, relu and sum, cold and warm caches.

    python benchmarks/bench_cold.py [--peer-python PYTHON] [--runs 5] [--json FILE]

Each run is a process of its own, timed from outside; frameworks take turns; medians in
milliseconds. `nothing` is an interpreter that ends at once. Also: the rate at which 10,000
elementwise operations are built lazily.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from peers import environment, machine, ratio, run_limited, write_json

SCRIPTS = {
    "tg": "import numpy as np\nfrom tg_core import Tensor\n"
    "a = Tensor(np.ones((256, 256), np.float32))\nassert (a @ a).relu().sum().item() == 256.0**3\n",
    "nothing": "pass",
    "numpy": "import numpy as np\na = np.ones((256, 256), np.float32)\n"
    "assert np.maximum(a @ a, 0).sum() == 256.0**3\n",
    "tinygrad": "import numpy as np\nfrom tinygrad import Tensor\n"
    "a = Tensor(np.ones((256, 256), np.float32))\nassert (a @ a).relu().sum().item() == 256.0**3\n",
    "jax": "import numpy as np, jax, jax.numpy as jnp\n"
    "f = jax.jit(lambda a: jnp.maximum(a @ a, 0).sum())\n"
    "assert float(f(np.ones((256, 256), np.float32))) == 256.0**3\n",
    "torch": "import numpy as np, torch\na = torch.ones((256, 256))\n"
    "assert (a @ a).relu().sum().item() == 256.0**3\n",
}
BUILD = """
import time
from {module} import Tensor
x = Tensor([1.0]).realize()
y = x
for _ in range(1000): y = y + 1
start = time.perf_counter()
y = x
for i in range(10000): y = (y + 1.0) if i % 2 else (y * 2.0)
print(10000 / (time.perf_counter() - start))
"""
MODULES = {"tg": "tg_core", "tinygrad": "tinygrad"}


class Times:
    """What was measured of one framework."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}
        self.error = ""

    def add(self, what: str, value: float) -> None:
        """Note one figure."""
        self.found.setdefault(what, []).append(value)

    def run(self, python: str, script: str, cache: str, limit: float) -> tuple[str, float]:
        """Run a script with a cache folder; return what it printed and its milliseconds."""
        env = environment(TG_CACHE_DIR=cache, XDG_CACHE_HOME=cache)
        env["CACHEDB"] = os.path.join(cache, "cache.db")
        printed, took, self.error = run_limited([python, "-c", script], limit, env=env)
        return printed, took * 1e3


def report_of(times: dict[str, Times]) -> dict[str, Any]:
    """Return what was measured so far."""
    found: dict[str, dict[str, float]] = {
        name: {what: round(statistics.median(v), 1) for what, v in one.found.items()}
        for name, one in times.items()
    }
    ours = found["tg"]

    def over(peer: str, figure: str) -> float | None:
        return ratio(ours.get(figure), found.get(peer, {}).get(figure))

    ratios = {f"warm_over_{p}": over(p, "warm_ms") for p in ("numpy", "jax", "torch", "tinygrad")}
    ratios["cold_over_tinygrad"] = over("tinygrad", "cold_ms")
    ratios["lazy_over_tinygrad"] = over("tinygrad", "lazy_ops_per_second")
    runs = len(times["tg"].found.get("warm_ms", ()))
    errors = {name: one.error for name, one in times.items() if one.error}
    head = {"bench": "cold", "runs": runs, **machine()}
    return {**head, "frameworks": found, "ratios": ratios, "errors": errors}


def main() -> None:
    """Measure all frameworks in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", help="interpreter that has tinygrad, jax and torch")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120, help="seconds for one process")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pythons = dict.fromkeys(("tg", "nothing", "numpy"), sys.executable)
    if options.peer_python:
        pythons.update(dict.fromkeys(("tinygrad", "jax", "torch"), options.peer_python))
    times = {framework: Times() for framework in pythons}
    with tempfile.TemporaryDirectory() as cache:
        for framework, python in pythons.items():
            # bytecode is written, and files are read, before anything counts
            Times().run(python, SCRIPTS[framework], cache, options.limit)
    for _ in range(options.runs):
        for framework, python in pythons.items():
            one = times[framework]
            if one.error:
                continue
            with tempfile.TemporaryDirectory() as cache:
                for kind in ("cold_ms", "warm_ms"):
                    _, took = one.run(python, SCRIPTS[framework], cache, options.limit)
                    if not one.error:
                        one.add(kind, took)
                if framework in MODULES and not one.error:
                    script = BUILD.format(module=MODULES[framework])
                    printed, _ = one.run(python, script, cache, options.limit)
                    if not one.error:
                        one.add("lazy_ops_per_second", float(printed))
            write_json(report_of(times), options.json)
    print(json.dumps(report_of(times), indent=1))


if __name__ == "__main__":
    main()
