"""Level 4: what is compiled once is used again, and settings of the compiler change no result."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from tg_conformance.suite.scripts import run_script
from tg_core import Context, Device, Tensor, Variable

pytestmark = [pytest.mark.tg_level(4), pytest.mark.tg_needs("PROGRAMS")]


@pytest.fixture
def compiled(tg_device: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that the device's renderer is asked to compile during a test."""
    sources: list[str] = []
    renderer = type(Device[tg_device].renderer)
    compile_source = renderer.compile

    def counted(self: Any, source: str) -> bytes:
        sources.append(source)
        binary: bytes = compile_source(self, source)
        return binary

    monkeypatch.setattr(renderer, "compile", counted)
    return sources


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Return float32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.tg_core
def test_equal_kernels_compile_once(tg_device: str, compiled: list[str]) -> None:
    """The same computation on other storage runs what was compiled before, on that storage."""
    held = []
    for seed in range(4):
        values = numbers(71, seed=seed)
        # kept, so that each run has memory of its own
        held.append(Tensor(values, device=tg_device).clone().realize())
        got = (held[-1] * 5 + 0.25).numpy()
        assert np.array_equal(got, values * 5 + np.float32(0.25)), (
            f"{tg_device}: run {seed + 1} of the same computation is wrong"
        )
        count = len(compiled)
        assert count <= 1, f"{tg_device}: {count} compilations after {seed + 1} equal computations"


@pytest.mark.tg_core
def test_the_source_does_not_depend_on_the_process(tg_device: str) -> None:
    """Equal kernels have equal source in every process, or caches on disk would never hit."""
    body = """
        import hashlib
        from tg_core.config import CACHE
        CACHE.set(0)
        from tg_core.codegen import compile_program
        from tg_core.backend import Ops
        x = Tensor(np.arange(64, dtype=np.float32), device=DEVICE).reshape(8, 8)
        for call in ((x @ x).relu().sum(0) + 1).schedule_linear().src:
            if call.src[0].op is Ops.SINK:
                source = compile_program(call.src[0], Device[DEVICE].renderer).src[2].arg
                print(hashlib.sha256(source.encode()).hexdigest())
    """
    runs = [run_script(tg_device, body) for _ in range(2)]
    for done in runs:
        assert done.returncode == 0, f"{tg_device}: {done.stderr}"
    assert runs[0].stdout == runs[1].stdout, f"{tg_device}: two processes render other sources"
    assert len(runs[0].stdout.split()[0]) == hashlib.sha256().digest_size * 2


def test_a_second_process_compiles_nothing(tg_device: str) -> None:
    """What one process compiled, the next one loads."""
    body = """
        renderer = type(Device[DEVICE].renderer)
        before, count = renderer.compile, 0
        def counted(self, source):
            global count
            count += 1
            return before(self, source)
        renderer.compile = counted
        x = Tensor(np.arange(60, dtype=np.float32), device=DEVICE).reshape(6, 10)
        assert (x.sum(1).numpy() == np.arange(60).reshape(6, 10).sum(1)).all()
        print(count)
    """
    first, second = (run_script(tg_device, body) for _ in range(2))
    assert first.returncode == 0, f"{tg_device}: {first.stderr}"
    assert second.returncode == 0, f"{tg_device}: from the cache: {second.stderr}"
    assert int(second.stdout) == 0, f"{tg_device}: the second process compiled {second.stdout}"


@pytest.mark.tg_core
def test_one_program_serves_all_values_of_a_variable(tg_device: str, compiled: list[str]) -> None:
    """A size that is a variable is an argument of the kernel, not a part of it."""
    values = numbers(40, 3, seed=2)
    for size in (1, 2, 17, 39, 40):
        n = Variable("n", 1, 40).bind(size)
        got = (Tensor(values, device=tg_device)[:n].sum(0) * 2).numpy()
        wanted = values[:size].astype(np.float64).sum(0) * 2
        np.testing.assert_allclose(
            got, wanted, rtol=1e-5, atol=1e-5, err_msg=f"{tg_device}: sum of {size} rows"
        )
    assert len(compiled) <= 2, f"{tg_device}: {len(compiled)} compilations for 5 values"


@pytest.mark.tg_core
@pytest.mark.parametrize(
    "settings", [{"NOOPT": 1}, {"SPLIT_REDUCEOP": 0}, {"NOOPT": 1, "SPLIT_REDUCEOP": 0}], ids=str
)
def test_optimisation_changes_no_integer(tg_device: str, settings: dict[str, int]) -> None:
    """Kernels come out the same however they are optimised."""
    a = np.random.default_rng(3).integers(-9, 9, (33, 70)).astype(np.int32)
    b = np.random.default_rng(4).integers(-9, 9, (70, 21)).astype(np.int32)
    with Context(**settings):
        x, y = Tensor(a, device=tg_device), Tensor(b, device=tg_device)
        got = (x @ y).numpy()
        rows = (x.pad(((0, 3), (2, 0))) * 2).sum(1).numpy()
    assert np.array_equal(got, a @ b), f"{tg_device}: matrix product with {settings}"
    wanted = np.append(a.sum(1) * 2, [0, 0, 0])
    assert np.array_equal(rows, wanted), f"{tg_device}: padded row sums with {settings}"


def test_a_model_learns(tg_device: str) -> None:
    """Gradients and updates of two layers follow those of numpy over several steps."""
    x, target = numbers(16, 8, seed=5), numbers(16, 3, seed=6)
    w1, w2 = numbers(8, 12, seed=7) * 0.3, numbers(12, 3, seed=8) * 0.3
    first, second = (Tensor(w, device=tg_device) for w in (w1, w2))
    inputs, wanted = Tensor(x, device=tg_device), Tensor(target, device=tg_device)
    for step in range(4):
        hidden = x @ w1
        active = np.maximum(hidden, 0)
        error = (active @ w2 - target) * (2 / target.size)
        grad1, grad2 = x.T @ ((error @ w2.T) * (hidden > 0)), active.T @ error
        w1, w2 = w1 - 0.1 * grad1, w2 - 0.1 * grad2
        loss = ((inputs @ first).relu() @ second - wanted).square().mean()
        g1, g2 = loss.gradient(first, second)
        first, second = (first - g1 * 0.1).realize(), (second - g2 * 0.1).realize()
        for name, got, want in (("first", first, w1), ("second", second, w2)):
            np.testing.assert_allclose(
                got.numpy(), want, rtol=2e-4, atol=2e-5,
                err_msg=f"{tg_device}: {name} layer after step {step + 1}",
            )  # fmt: skip
