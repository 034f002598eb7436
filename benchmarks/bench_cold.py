"""Process start to the first result: a 256x256 matmul, relu and sum, cold and warm caches.

    python benchmarks/bench_cold.py [--peer-python PYTHON] [--runs 5] [--json FILE]

Each run is a process of its own, timed from outside; frameworks take turns; medians in
milliseconds. Also: the rate at which 10,000 elementwise operations are built lazily.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SCRIPTS = {
    "tg": "import numpy as np\nfrom tg_core import Tensor\n"
    "a = Tensor(np.ones((256, 256), np.float32))\nassert (a @ a).relu().sum().item() == 256.0**3\n",
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
print(round(10000 / (time.perf_counter() - start)))
"""


def timed(python: str, script: str, cache: str) -> float:
    """Return the milliseconds that a process takes."""
    env = {**os.environ, "TG_CACHE_DIR": cache, "XDG_CACHE_HOME": cache}
    env["CACHEDB"] = os.path.join(cache, "cache.db")
    start = time.perf_counter()
    subprocess.run([python, "-c", script], env=env, check=True, capture_output=True)
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    """Measure all frameworks in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", help="interpreter that has tinygrad, jax and torch")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pythons = {"tg": sys.executable, "numpy": sys.executable}
    if options.peer_python:
        pythons.update(dict.fromkeys(("tinygrad", "jax", "torch"), options.peer_python))
    times: dict[str, dict[str, list[float]]] = {f: {"cold": [], "warm": []} for f in pythons}
    for _ in range(options.runs):
        for framework, python in pythons.items():
            with tempfile.TemporaryDirectory() as cache:
                for kind in ("cold", "warm"):
                    times[framework][kind].append(timed(python, SCRIPTS[framework], cache))
    report: dict[str, Any] = {
        f: {kind: round(statistics.median(values), 1) for kind, values in kinds.items()}
        for f, kinds in times.items()
    }
    for framework, module in (("tg", "tg_core"), ("tinygrad", "tinygrad")):
        if framework in pythons:
            command = [pythons[framework], "-c", BUILD.format(module=module)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            report[framework]["lazy_ops_per_second"] = int(done.stdout)
    print(json.dumps(report, indent=1))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
