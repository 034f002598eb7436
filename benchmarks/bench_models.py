"""ResNet-18 (batch 1) and GPT-2-small (64 tokens): first call in a new process, cold and warm
caches, then steady.

Each figure comes from a process of its own, which may be given a limit: what it came to until then
counts. With `--peer-python` the same models are run on the tinygrad of that interpreter, through
the vocabulary that both share. JSON is written as cells become known.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from peers import environment, machine, ratio, run_limited, write_json


def namespace(framework: str) -> tuple[Any, Any, Any]:
    """Return Tensor, nn and TinyJit of a framework."""
    if framework == "tg":
        from tg_core import Tensor, TinyJit, nn
    else:
        from tinygrad import Tensor, TinyJit, nn
    return Tensor, nn, TinyJit


def resnet18(framework: str) -> tuple[Any, Any]:
    """Return a ResNet-18 for 224x224 images and an input."""
    Tensor, nn, _ = namespace(framework)

    class Block:
        def __init__(self, cin: int, cout: int, stride: int) -> None:
            self.c1 = nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False)
            self.b1 = nn.BatchNorm(cout)
            self.c2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
            self.b2 = nn.BatchNorm(cout)
            self.down = None
            if stride != 1 or cin != cout:
                self.down = [nn.Conv2d(cin, cout, 1, stride=stride, bias=False), nn.BatchNorm(cout)]

        def __call__(self, x: Any) -> Any:
            out = self.b2(self.c2(self.b1(self.c1(x)).relu()))
            return (out + (x if self.down is None else x.sequential(self.down))).relu()

    class ResNet:
        def __init__(self) -> None:
            self.c1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
            self.b1 = nn.BatchNorm(64)
            sizes = [
                (64, 64, 1),
                (64, 64, 1),
                (64, 128, 2),
                (128, 128, 1),
                (128, 256, 2),
                (256, 256, 1),
                (256, 512, 2),
                (512, 512, 1),
            ]
            self.blocks = [Block(*s) for s in sizes]
            self.fc = nn.Linear(512, 1000)

        def __call__(self, x: Any) -> Any:
            x = (
                self.b1(self.c1(x))
                .relu()
                .pad(((0, 0), (0, 0), (1, 1), (1, 1)))
                .max_pool2d((3, 3), stride=2)
            )
            return self.fc(x.sequential(self.blocks).mean((2, 3)))

    return ResNet(), Tensor.rand(1, 3, 224, 224).realize()


def gpt2(framework: str) -> tuple[Any, Any]:
    """Return a GPT-2-small and 64 tokens."""
    Tensor, nn, _ = namespace(framework)
    dim, heads, layers, vocab, length = 768, 12, 12, 50257, 64

    class Block:
        def __init__(self) -> None:
            self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            self.fc, self.out = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

        def __call__(self, x: Any) -> Any:
            b, t, _ = x.shape
            q, k, v = (
                self.qkv(self.ln1(x))
                .reshape(b, t, 3, heads, dim // heads)
                .permute(2, 0, 3, 1, 4)[i]
                for i in range(3)
            )
            attended = q.scaled_dot_product_attention(k, v, is_causal=True)
            x = x + self.proj(attended.transpose(1, 2).reshape(b, t, dim))
            return x + self.out(self.fc(self.ln2(x)).gelu())

    class GPT2:
        def __init__(self) -> None:
            self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(1024, dim)
            self.blocks = [Block() for _ in range(layers)]
            self.ln = nn.LayerNorm(dim)

        def __call__(self, tokens: Any) -> Any:
            x = self.wte(tokens) + self.wpe(Tensor.arange(length).reshape(1, length))
            x = self.ln(x.sequential(self.blocks))
            return x[:, -1] @ self.wte.weight.transpose(0, 1)

    return GPT2(), Tensor.randint(1, length, low=0, high=vocab).realize()


MODELS = {"resnet18": resnet18, "gpt2": gpt2}
FRAMEWORKS = ("tg", "tinygrad")


def worker(framework: str, name: str) -> None:
    """Run one model in this process; print each time in milliseconds as soon as it is known."""
    _, nn, TinyJit = namespace(framework)
    model, x = MODELS[name](framework)
    for parameter in nn.state.get_parameters(model):
        parameter.realize()

    def show(what: str, seconds: float) -> None:
        print(json.dumps({what: round(seconds * 1e3, 1)}), flush=True)

    for what in ("first", "second"):
        start = time.perf_counter()
        model(x).realize().numpy()
        show(what, time.perf_counter() - start)
    jit = TinyJit(lambda t: model(t).realize())
    for _ in range(3):
        jit(x).numpy()
    steady = []
    for _ in range(5):
        start = time.perf_counter()
        jit(x).numpy()
        steady.append(time.perf_counter() - start)
    show("steady_jit", sorted(steady)[len(steady) // 2])


def measure(python: str, framework: str, name: str, cache: str, limit: float) -> dict[str, Any]:
    """Run a worker with a cache folder; return the times it came to within the limit."""
    env = environment(TG_CACHE_DIR=cache, XDG_CACHE_HOME=cache)
    env["CACHEDB"] = os.path.join(cache, "cache.db")
    command = [python, __file__, "--worker", framework, name]
    printed, _, error = run_limited(command, limit, env=env)
    found: dict[str, Any] = {}
    for line in printed.splitlines():
        if line.startswith("{") and line.endswith("}"):
            found.update(json.loads(line))
    return {**found, "error": error} if error else found


def ratios_of(models: dict[str, Any]) -> dict[str, float | None]:
    """Return our first calls over those of the peer."""
    found = {}
    for name, frameworks in models.items():
        for kind in ("cold", "warm"):
            ours, theirs = (frameworks.get(f, {}).get(kind, {}).get("first") for f in FRAMEWORKS)
            found[f"{name}_{kind}_over_tinygrad"] = ratio(ours, theirs)
    return found


def main() -> None:
    """Measure all models, one framework after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", nargs=2)
    parser.add_argument("--peer-python", help="interpreter that has tinygrad")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--models", nargs="*", default=sorted(MODELS))
    parser.add_argument("--limit", type=float, default=300, help="seconds for one process")
    options = parser.parse_args()
    if options.worker:
        worker(*options.worker)
        return
    pythons = {"tg": sys.executable}
    if options.peer_python:
        pythons["tinygrad"] = options.peer_python
    models: dict[str, Any] = {}

    def report() -> dict[str, Any]:
        head = {"bench": "models", **machine()}
        return {**head, "models": models, "ratios": ratios_of(models)}

    for name in options.models:
        for framework, python in pythons.items():
            cell = models.setdefault(name, {}).setdefault(framework, {})
            with tempfile.TemporaryDirectory() as cache:
                for kind in ("cold", "warm"):
                    cell[kind] = measure(python, framework, name, cache, options.limit)
                    write_json(report(), options.json)
    print(json.dumps(report(), indent=1))


if __name__ == "__main__":
    main()
