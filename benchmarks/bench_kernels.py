"""Single kernels on the CPU against numpy, and against torch in a second process.

Matrix products in all layouts, convolutions of ResNet-18, products of vector and matrix, sums,
softmax, layer normalisation and a chain of elementwise operations. The frameworks take turns on
each case, in rounds; a figure is the median of the rounds. Prints JSON: milliseconds, a rate
(GFLOP/s, or GB/s of the least traffic), and how many times faster than the peer we are. Both times
include the call from Python.

`--peer-python PATH` names an interpreter that has torch; without it, ours is asked.
`--threads N` bounds the threads of all. `--only TEXT` runs the cases whose name contains it.
`--json FILE` keeps the figures, as cases become known.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peers import machine, write_json

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7
LEAST_SECONDS = 0.02
"""A round repeats a case for about this long."""
PAUSE_SECONDS = 0.005
"""Time for the workers of the framework before to stop spinning."""


@dataclass(frozen=True)
class Case:
    """One workload: what it computes, on arrays of which shapes, and its size."""

    name: str
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    amount: float
    """Floating-point operations, or bytes where the kind is bound by memory."""
    transposed: str = ""
    stride: int = 1
    padding: int = 0

    @property
    def unit(self) -> str:
        """Unit of the rate."""
        return "GFLOP/s" if self.kind in ("matmul", "conv") else "GB/s"


def matmul(m: int, k: int, n: int, layout: str = "", batch: int = 0) -> Case:
    """Return a product; `layout` is which operands are stored transposed: `a`, `b`."""
    outer = (batch,) if batch else ()
    a = (*outer, k, m) if "a" in layout else (*outer, m, k)
    b = (*outer, n, k) if "b" in layout else (*outer, k, n)
    name = f"matmul {batch or 1}x{m}x{k}x{n}{' ' + layout + '^T' if layout else ''}"
    return Case(name, "matmul", (a, b), 2.0 * (batch or 1) * m * k * n, layout)


def conv(cin: int, cout: int, size: int, window: int, stride: int, batch: int = 1) -> Case:
    """Return a convolution of ResNet-18."""
    out = (size + 2 * (window // 2) - window) // stride + 1
    work = 2.0 * batch * cout * cin * window * window * out * out
    shapes = ((batch, cin, size, size), (cout, cin, window, window))
    name = f"conv {batch}x{cin}x{size} to {cout}, {window}x{window} stride {stride}"
    return Case(name, "conv", shapes, work, "", stride, window // 2)


def memory(kind: str, shape: tuple[int, ...], passes: int) -> Case:
    """Return a case bound by memory that moves the array `passes` times."""
    count = 4.0
    for size in shape:
        count *= size
    return Case(f"{kind} {'x'.join(map(str, shape))}", kind, (shape,), count * passes)


CASES = [
    *(matmul(n, n, n) for n in (256, 512, 1024, 2048)),
    *(matmul(512, 512, 512, layout) for layout in ("a", "b")),
    matmul(64, 64, 64, batch=12),
    matmul(64, 64, 64, "b", batch=12),
    matmul(64, 768, 2304),
    matmul(64, 768, 3072),
    matmul(64, 3072, 768),
    *(matmul(64, k, n, "b") for k, n in ((768, 2304), (768, 3072), (3072, 768))),
    *(matmul(64, 768, 50257, layout) for layout in ("", "b")),
    *(matmul(rows, 768, 3072, layout) for rows in (2, 4, 8, 16) for layout in ("", "b")),
    *(matmul(rows, 768, 50257, "b") for rows in (4, 16)),
    matmul(127, 129, 131),
    matmul(1, 768, 50257),
    matmul(1, 768, 50257, "b"),
    matmul(1, 768, 3072),
    matmul(1, 768, 3072, "b"),
    *(matmul(1, 4096, 4096, layout) for layout in ("", "b")),
    conv(3, 64, 224, 7, 2),
    conv(64, 64, 56, 3, 1),
    conv(64, 128, 56, 3, 2),
    conv(64, 128, 56, 1, 2),
    conv(128, 128, 28, 3, 1),
    conv(256, 256, 14, 3, 1),
    conv(512, 512, 7, 3, 1),
    memory("chain8", (1 << 24,), 2),
    memory("sum", (1 << 24,), 1),
    memory("sum0", (4096, 4096), 1),
    memory("sum1", (4096, 4096), 1),
    memory("softmax", (4096, 4096), 2),
    memory("softmax", (768, 64), 2),
    memory("layernorm", (4096, 4096), 2),
    memory("layernorm", (64, 768), 2),
    memory("transpose", (4096, 4096), 2),
    memory("add_transposed", (4096, 4096), 2),
]


def chain8(x: Any, relu: Callable[[Any], Any], sqrt: Callable[[Any], Any]) -> Any:
    """Eight elementwise operations."""
    y = relu(x * 1.5 + 0.5)
    return (sqrt(y * y + 1.0) - 0.25) * 2.0


def ours(case: Case, arrays: list[Any]) -> Callable[[], Any]:
    """Return a call of the case."""
    from tg_core import Tensor

    x, *rest = [Tensor(a, device="CPU").realize() for a in arrays]
    if case.kind == "matmul":
        left = x.transpose(-1, -2) if "a" in case.transposed else x
        right = rest[0].transpose(-1, -2) if "b" in case.transposed else rest[0]
        return lambda: (left @ right).realize()
    if case.kind == "conv":
        w = rest[0]
        return lambda: x.conv2d(w, stride=case.stride, padding=case.padding).realize()
    functions: dict[str, Callable[[], Any]] = {
        "chain8": lambda: chain8(x, Tensor.relu, Tensor.sqrt),
        "sum": lambda: x.sum(),
        "sum0": lambda: x.sum(0),
        "sum1": lambda: x.sum(1),
        "softmax": lambda: x.softmax(-1),
        "layernorm": lambda: x.layernorm(),
        "transpose": lambda: x.transpose(0, 1).contiguous(),
        "add_transposed": lambda: x + x.transpose(0, 1),
    }
    function = functions[case.kind]
    return lambda: function().realize()


def with_numpy(case: Case, arrays: list[Any]) -> Callable[[], Any] | None:
    """Return a call of the case in numpy, None where it has no counterpart."""
    import numpy as np

    x, *rest = arrays
    if case.kind == "conv":
        return None
    if case.kind == "matmul":
        left = np.swapaxes(x, -1, -2) if "a" in case.transposed else x
        right = np.swapaxes(rest[0], -1, -2) if "b" in case.transposed else rest[0]
        return lambda: left @ right

    def softmax() -> Any:
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def layernorm() -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)

    def relu(y: Any) -> Any:
        return np.maximum(y, 0)

    functions: dict[str, Callable[[], Any]] = {
        "chain8": lambda: chain8(x, relu, np.sqrt),
        "sum": lambda: x.sum(),
        "sum0": lambda: x.sum(0),
        "sum1": lambda: x.sum(1),
        "softmax": softmax,
        "layernorm": layernorm,
        "transpose": lambda: np.ascontiguousarray(x.T),
        "add_transposed": lambda: x + x.T,
    }
    return functions[case.kind]


def with_torch(case: Case, arrays: list[Any]) -> Callable[[], Any]:
    """Return a call of the case in torch."""
    import torch

    x, *rest = [torch.from_numpy(a) for a in arrays]
    if case.kind == "matmul":
        left = x.transpose(-1, -2) if "a" in case.transposed else x
        right = rest[0].transpose(-1, -2) if "b" in case.transposed else rest[0]
        return lambda: left @ right
    if case.kind == "conv":
        w = rest[0]
        convolve = torch.nn.functional.conv2d
        return lambda: convolve(x, w, stride=case.stride, padding=case.padding)
    functions: dict[str, Callable[[], Any]] = {
        "chain8": lambda: chain8(x, torch.relu, torch.sqrt),
        "sum": lambda: x.sum(),
        "sum0": lambda: x.sum(0),
        "sum1": lambda: x.sum(1),
        "softmax": lambda: x.softmax(-1),
        "layernorm": lambda: torch.nn.functional.layer_norm(x, x.shape[-1:]),
        "transpose": lambda: x.T.contiguous(),
        "add_transposed": lambda: x + x.T,
    }
    return functions[case.kind]


def arrays_of(case: Case) -> list[Any]:
    """Return the inputs of a case, equal in every process."""
    import numpy as np

    random = np.random.default_rng(5)
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in case.shapes]


def seconds(call: Callable[[], Any]) -> float:
    """Return the time of one call, the mean over about `LEAST_SECONDS`."""
    time.sleep(PAUSE_SECONDS)
    count, start = 0, time.perf_counter()
    while True:
        call()
        count += 1
        spent = time.perf_counter() - start
        if spent >= LEAST_SECONDS:
            return spent / count


def serve() -> None:
    """Answer each case, a line of JSON, with the seconds of one round; the first call of a case
    prepares it.
    """
    current: str | None = None
    call: Callable[[], Any] | None = None
    for line in sys.stdin:
        case = Case(**json.loads(line))
        if case.name != current:
            shapes = tuple(tuple(s) for s in case.shapes)
            case = Case(**{**asdict(case), "shapes": shapes})
            call, current = with_torch(case, arrays_of(case)), case.name
            call()
        assert call is not None
        print(seconds(call), flush=True)


class Peer:
    """torch in a process of its own."""

    def __init__(self, python: str) -> None:
        command = [python, __file__, "--serve"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, case: Case) -> float:
        """Return the seconds of one round of a case."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asdict(case)) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def has_torch(python: str) -> bool:
    """Tell whether an interpreter can import torch and numpy."""
    command = [python, "-c", "import numpy, torch"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run(case: Case, peer: Peer | None, rounds: int) -> dict[str, Any]:
    """Return the figures of one case."""
    arrays = arrays_of(case)
    start = time.perf_counter()
    call = ours(case, arrays)
    call()
    first = time.perf_counter() - start
    reference = with_numpy(case, arrays)
    call()
    times: dict[str, list[float]] = {"tg": []}
    for _ in range(rounds):
        times["tg"].append(seconds(call))
        if reference is not None:
            times.setdefault("numpy", []).append(seconds(reference))
        if peer is not None:
            times.setdefault("torch", []).append(peer.seconds(case))
    medians = {name: statistics.median(found) for name, found in times.items()}
    result: dict[str, Any] = {"first_ms": round(first * 1e3, 1), "unit": case.unit}
    for name, median in medians.items():
        result[name] = {"ms": round(median * 1e3, 4), "rate": round(case.amount / median / 1e9, 2)}
        if name != "tg":
            result[f"times_{name}"] = round(median / medians["tg"], 2)
    return result


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "CPU_THREADS"):
        os.environ[name] = str(options.threads)
    # a core that was set by hand would handicap numpy
    os.environ.pop("OPENBLAS_CORETYPE", None)
    peer = Peer(options.peer_python) if has_torch(options.peer_python) else None
    report: dict[str, Any] = {"bench": "kernels", **machine(), "threads": options.threads}
    report["load_before"], report["cases"] = os.getloadavg()[0], {}
    for case in CASES:
        if options.only in case.name:
            report["cases"][case.name] = run(case, peer, options.rounds)
            write_json(report, options.json)
    report["load_after"] = os.getloadavg()[0]
    write_json(report, options.json)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
