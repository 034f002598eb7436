"""Host time of batches for hardware queues, and of replays on the CPU beside other frameworks.

    python benchmarks/bench_hcq.py [--kernels 1000] [--rounds 20] [--peer-python PATH] [--json FILE]

A captured chain of kernels on 16 elements each is replayed on `REF` with native kernels, whose
queues are emulated. The device is told that everything is over as soon as it was given, so that
only the host is measured:

* `submit_ns_per_kernel`: the native host program, from its call to the doorbells.
* `python_us_per_batch`: the rest of a replay of the batch: filling the table of inputs, checks.
* `compile_ms`: in a fresh process without caches, from captured calls to the compiled host program
  and command words; `compile_cpu_ms` is the same in processor time.
* `link_ms`, `link_cpu_ms`: command memory of a compiled batch, once more.

`replay_ns_per_kernel` is the whole replay of such a chain on the CPU, with a native kernel in each
call, beside tinygrad's CPU device with its JIT and PyTorch's eager mode, in turn with them. Every
figure is the median over rounds of the least of some repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 16
PEERS = ("tinygrad", "torch")


def least(function: Callable[[], Any], repeats: int) -> float:
    """Return the least time of one call, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def chain_of(kernels: int, device: str) -> tuple[Any, Any]:
    """Return a captured function of dependent kernels, and its argument."""
    from tg_core import Tensor, TinyJit

    @TinyJit
    def chain(x: Tensor) -> Tensor:
        for _ in range(kernels):
            x = (x + 1).contiguous()
        return x

    x = Tensor(np.zeros(SIZE, np.float32)).to(device).realize()
    for _ in range(3):
        result = chain(x)
    if result.numpy().tolist() != [float(kernels)] * SIZE:
        raise SystemExit(f"bench_hcq: {device} computes something else")
    return chain, x


class QueueReplay:
    """The batch of a captured chain on REF, of which only the host's part runs."""

    def __init__(self, kernels: int) -> None:
        from tg_core import Device

        self.chain, self.x = chain_of(kernels, "REF")
        replay = self.chain.captured.replay
        (step,) = replay._linked.steps
        self.linked, self.device, self.replay = step.linked, Device["REF"], replay
        self.device.synchronize()
        self.program_seconds = 0.0
        program = self.linked._program

        def timed(*arguments: Any) -> None:
            start = time.perf_counter()
            program(*arguments)
            self.program_seconds += time.perf_counter() - start

        self.linked._program = timed
        # what the emulator notes and executes is no part of what is measured
        self.device.host_submitted = lambda commands: None
        self.device.interface.machine.look = lambda: None
        self.seconds = 0.0
        run = self.linked.run

        def run_timed(*arguments: Any) -> bool:
            start = time.perf_counter()
            done: bool = run(*arguments)
            self.seconds += time.perf_counter() - start
            return done

        self.linked.run = run_timed

    def once(self) -> tuple[float, float]:
        """Return the seconds of the host program, and of all the rest."""
        self.program_seconds = self.seconds = 0.0
        self.chain(self.x)
        words = self.device.timeline.words
        words[0] = words[1]
        for (kind, index), queue in self.device._queues.items():
            del kind, index
            put = queue.put_value.opaque.host_bytes().cast("Q")
            queue.read_ptr.opaque.host_bytes().cast("Q")[0] = put[0]
        return self.program_seconds, self.seconds - self.program_seconds

    def link(self) -> dict[str, float]:
        """Return what linking the batch once more takes."""
        start = time.process_time()
        self.replay.link()
        cpu = time.process_time() - start
        return {"link_ms": least(self.replay.link, 5) * 1e3, "link_cpu_ms": cpu * 1e3}


def measure_compile(kernels: int) -> dict[str, float]:
    """Return what compiling the batch takes in this process, which has no caches yet."""
    from tg_core.hcq import link_queues

    found: dict[str, float] = {}
    template = link_queues._template
    load = link_queues.load_host_program

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            wall, cpu = time.perf_counter(), time.process_time()
            result = function(*arguments)
            if len(arguments) == 1 or len(arguments[0].src[0].src) == kernels:
                name = function.__name__
                for key, start, clock in (
                    (name, wall, time.perf_counter),
                    (name + "_cpu", cpu, time.process_time),
                ):
                    # what is found compiled takes no time
                    found[key] = max(found.get(key, 0.0), clock() - start)
            return result

        return call

    link_queues._template, link_queues.load_host_program = timed(template), timed(load)
    chain_of(kernels, "REF")
    return {
        "compile_ms": (found["_template"] + found["load_host_program"]) * 1e3,
        "compile_cpu_ms": (found["_template_cpu"] + found["load_host_program_cpu"]) * 1e3,
    }


def compile_cold(kernels: int) -> dict[str, float]:
    """Measure compiling in a process of its own, with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TG_CACHE_DIR": folder}
        command = [sys.executable, __file__, "--kernels", str(kernels), "--only-compile"]
        answer = subprocess.run(command, env=environment, check=True, capture_output=True)
    result: dict[str, float] = json.loads(answer.stdout)
    return result


class Peer:
    """Another framework in a process of its own, which measures when it is asked."""

    def __init__(self, python: str, name: str, kernels: int) -> None:
        environment = {**os.environ, "DEV": "CPU", "CPU": "1"}
        environment.pop("TG_CACHE_DIR", None)
        command = [python, __file__, "--kernels", str(kernels), "--peer", name]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def once(self) -> float | None:
        """Return the seconds of a replay; None if the framework is not there."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self.process.stdout.readline()
        return float(line) if line else None

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def serve_peer(name: str, kernels: int) -> None:
    """Measure the framework of this process each time a line comes in."""
    if name == "torch":
        import torch

        torch.set_num_threads(1)
        zeros = torch.zeros(SIZE)

        def once() -> Any:
            x = zeros
            for _ in range(kernels):
                x = x + 1
            return x
    else:
        from tinygrad import Tensor, TinyJit

        @TinyJit
        def chain(x: Any) -> Any:
            for _ in range(kernels):
                x = (x + 1).contiguous()
            return x.realize()

        argument = Tensor(np.zeros(SIZE, np.float32)).realize()

        def once() -> Any:
            return chain(argument)

    for _ in range(4):
        once()
    for _ in sys.stdin:
        print(least(once, 5), flush=True)


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--peer-python", help="the interpreter that has tinygrad and torch")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--only-compile", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        serve_peer(options.peer, options.kernels)
        return
    os.environ["DEV"] = "CPU;REF:NATIVE"
    if options.only_compile:
        print(json.dumps(measure_compile(options.kernels)))
        return
    report(options)


def report(options: argparse.Namespace) -> None:
    """Measure everything in turn."""
    kernels: int = options.kernels
    result: dict[str, Any] = {"bench": "hcq", "kernels": kernels, **compile_cold(kernels)}
    queues = QueueReplay(kernels)
    chain, x = chain_of(kernels, "CPU")
    peers = {}
    if options.peer_python:
        peers = {name: Peer(options.peer_python, name, kernels) for name in PEERS}
    times: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        pairs = [queues.once() for _ in range(10)]
        times.setdefault("submit", []).append(min(program for program, _ in pairs))
        times.setdefault("python", []).append(min(rest for _, rest in pairs))
        times.setdefault("ours", []).append(least(lambda: chain(x), 5))
        for name, peer in peers.items():
            seconds = peer.once()
            if seconds is not None:
                times.setdefault(name, []).append(seconds)
    middle = {name: statistics.median(found) for name, found in times.items()}
    result["submit_ns_per_kernel"] = middle["submit"] / kernels * 1e9
    result["python_us_per_batch"] = middle["python"] * 1e6
    result.update(queues.link())
    result["replay_ns_per_kernel"] = middle["ours"] / kernels * 1e9
    for name, peer in peers.items():
        peer.close()
        if name in middle:
            result[f"{name}_ns_per_kernel"] = middle[name] / kernels * 1e9
            result[f"times_faster_than_{name}"] = middle[name] / middle["ours"]
    result["machine"] = platform.processor() or platform.machine()
    result["python"] = platform.python_version()
    text = json.dumps(result, indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
