"""Sample kernels compiled for the processor, with threads, against a numpy evaluation of the kernel."""

from __future__ import annotations

import numpy as np
import pytest
from codegen_samples import SAMPLES, Sample
from kernel_eval import KernelEvaluator

from tg_core.codegen import compile_program
from tg_core.config import Context
from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, UOp

SIZES = [(67, 129, 33), (500, 37, 20), (7, 1000, 16), (256, 256, 64), (60, 301, 70)]


def execute(sample: Sample, arrays: list[np.ndarray]) -> tuple[UOp, list[np.ndarray]]:
    device = Device["CPU"]
    program = compile_program(sample.sink, device.renderer)
    loaded = device.load_program(program.arg.name, program.src[3].arg, program.arg)
    buffers = []
    for array in arrays:
        buffer = Buffer("CPU", array.size, dtypes.float32).allocate()
        buffer.copyin(memoryview(array).cast("B"))
        buffers.append(buffer)
    used = [buffers[slot].opaque for slot in program.arg.params]
    loaded(used, (), program.arg.global_size, program.arg.local_size)
    device.synchronize()
    return program, [b.numpy() for b in buffers]


def inputs(sample: Sample) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.normal(0, 1, size).astype(np.float32) for size in sample.sizes]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", SAMPLES)
def test_results(name: str, sizes: tuple[int, int, int]) -> None:
    sample = SAMPLES[name](*sizes)
    want = inputs(sample)
    KernelEvaluator(sample.sink, want, [])
    _, got = execute(sample, inputs(sample))
    for i in range(sample.outputs):
        # sums of some hundred numbers of size one
        np.testing.assert_allclose(got[i], want[i], rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("name", ["matmul", "softmax", "convolution"])
def test_bits_are_the_same_every_time(name: str) -> None:
    sample = SAMPLES[name](256, 256, 64)
    program, first = execute(sample, inputs(sample))
    assert program.arg.global_size[0] > 1
    for _ in range(3):
        assert np.array_equal(execute(sample, inputs(sample))[1][0], first[0])


def test_no_optimisation_gives_nearly_the_same() -> None:
    sample = SAMPLES["matmul"](67, 129, 33)
    with Context(NOOPT=1):
        program, plain = execute(sample, inputs(sample))
    assert program.arg.global_size[0] == 1
    assert not any(n.shape for n in program.src[1].src if n.op is Ops.LOAD)
    np.testing.assert_allclose(
        execute(sample, inputs(sample))[1][0], plain[0], rtol=1e-5, atol=1e-5
    )
