"""Host time of replaying captured graphs: per kernel of a long chain, and of one small call.

    python benchmarks/bench_launch.py [--kernels 1000] [--rounds 40] [--json FILE]

* `chain`: one jitted function of dependent kernels on 16 elements each, so that what is measured is
  launching. The figure is one replay over the number of kernels.
* `call`: one jitted function of one such kernel, arguments and result included.
* `numpy`: the same additions in numpy, in the same process, in turn with ours.

Every figure is the median over rounds of the least of some repeats: other processes only ever add
time. `link_ms` is what turning the captured chain into one native call takes, once.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_core import Tensor, TinyJit

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 16


def least(function: Callable[[], Any], repeats: int, number: int) -> float:
    """Return the least time of one call, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(number):
            function()
        best = min(best, (time.perf_counter() - start) / number)
    return best


def chain_of(kernels: int) -> TinyJit[[Tensor], Tensor]:
    """Return a captured function of that many dependent kernels."""

    @TinyJit
    def chain(x: Tensor) -> Tensor:
        for _ in range(kernels):
            x = (x + 1).contiguous()
        return x

    return chain


def numpy_chain(x: np.ndarray, kernels: int) -> np.ndarray:
    """Do the same with numpy."""
    for _ in range(kernels):
        x = x + 1
    return x


def link_time(jit: TinyJit[[Tensor], Tensor]) -> float:
    """Return how long linking the captured graph takes, in seconds."""
    captured = jit.captured
    assert captured is not None
    start = time.perf_counter()
    captured.replay.link()
    return time.perf_counter() - start


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data = np.zeros(SIZE, np.float32)
    x = Tensor(data).realize()
    chain = chain_of(options.kernels)
    single = TinyJit(lambda t: t + 1)
    for _ in range(3):
        chained, added = chain(x), single(x)
    expected = numpy_chain(data, options.kernels)
    if chained.numpy().tobytes() != expected.tobytes() or added.numpy()[0] != 1:
        raise SystemExit("bench_launch: results differ from numpy")
    times: dict[str, list[float]] = {"chain": [], "call": [], "numpy": []}
    for _ in range(options.rounds):
        times["chain"].append(least(lambda: chain(x), 5, 1))
        times["call"].append(least(lambda: single(x), 5, 20))
        times["numpy"].append(least(lambda: numpy_chain(data, options.kernels), 3, 1))
    middle = {name: statistics.median(found) for name, found in times.items()}
    result = {
        "bench": "launch",
        "kernels": options.kernels,
        "chain_ns_per_kernel": middle["chain"] / options.kernels * 1e9,
        "numpy_ns_per_kernel": middle["numpy"] / options.kernels * 1e9,
        "call_us": middle["call"] * 1e6,
        "link_ms": link_time(chain) * 1e3,
        "times_faster_than_numpy": middle["numpy"] / middle["chain"],
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
    }
    text = json.dumps(result, indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
