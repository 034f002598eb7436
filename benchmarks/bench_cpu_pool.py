"""Cost of a kernel call and of a job of the thread pool, as JSON.

    python benchmarks/bench_cpu_pool.py [--json FILE]

`call` is an empty native function called from Python; `chunks_n` is a job of n empty chunks. The
difference to `call` is what the pool adds. Times are the best of several runs, in microseconds.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import timeit
from pathlib import Path

from peers import machine, write_json

from tg_cpu import jit
from tg_cpu.pool import pool

CALLS = 20_000
REPEATS = 15


def best(statement: object) -> float:
    times = timeit.repeat(statement, number=CALLS, repeat=REPEATS)  # type: ignore[arg-type]
    return round(min(times) / CALLS * 1e6, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    source = "define void @empty(ptr %args, i64 %chunk) {\n  ret void\n}\n"
    library = jit.linker().link(jit.compiler().compile(source), ("empty",))
    address = library.addresses["empty"]
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(address)
    run = pool().run
    figures = {"call": best(lambda: kernel(None, 0))}
    for chunks in (1, 2, 8, 64):
        figures[f"chunks_{chunks}"] = best(lambda chunks=chunks: run(address, None, chunks))
    report = {"bench": "cpu_pool", **machine(), "microseconds": figures, "threads": pool().threads}
    print(json.dumps(report, indent=2))
    write_json(report, options.json)


if __name__ == "__main__":
    main()
