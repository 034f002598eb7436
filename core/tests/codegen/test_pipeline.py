"""Whole kernels through the pipeline, executed with bounds checks, against a numpy evaluation of
the kernel itself.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from codegen_kernels import GRID, GROUPS, LEAN, SIMD, run
from codegen_samples import SAMPLES, Sample
from kernel_eval import KernelEvaluator

from tg_core.codegen import Opt, OptKind, lower_kernel
from tg_core.codegen.normalize_kernel import normalize_kernel
from tg_core.codegen.pipeline import pipeline
from tg_core.codegen.utils import axis_type
from tg_core.renderer.api import Renderer
from tg_core.uop.ops import AxisType, KernelInfo, Ops, UOp

SIZES = [(9, 19, 5), (1, 33, 2), (12, 1, 6), (2, 64, 16), (3, 5, 4)]
TARGETS = {"simd": SIMD, "lean": LEAN, "grid": GRID, "groups": GROUPS}


def check(sample: Sample, renderer: Renderer, opts: tuple[Opt, ...] | None = None) -> UOp:
    rng = np.random.default_rng(len(sample.sizes))
    arrays = [rng.normal(0, 1, size).astype(np.float32) for size in sample.sizes]
    want = [a.copy() for a in arrays]
    KernelEvaluator(sample.sink, want, [])
    got = [
        np.full_like(a, np.nan) if i < sample.outputs else a.copy() for i, a in enumerate(arrays)
    ]
    sink = sample.sink if opts is None else sample.sink.replace(arg=KernelInfo("", opts))
    linear = run(sink, renderer, *got)
    for i in range(sample.outputs):
        np.testing.assert_allclose(got[i], want[i], rtol=2e-5, atol=2e-5)
    return linear


CASES = [
    *((target, sizes) for target in ("simd", "grid") for sizes in SIZES),
    *(("lean", sizes) for sizes in SIZES[::2]),
    *(("groups", sizes) for sizes in SIZES[::3]),
]


@pytest.mark.parametrize(("target", "sizes"), CASES, ids=str)
@pytest.mark.parametrize("name", SAMPLES)
def test_heuristic_choices_keep_the_result(
    name: str, target: str, sizes: tuple[int, int, int]
) -> None:
    check(SAMPLES[name](*sizes), TARGETS[target])


def random_opts(sink: UOp, seed: int) -> tuple[Opt, ...]:
    """Return options that fit a kernel: at most one range of lanes, so that none can meet
    another.
    """
    choice = random.Random(seed)
    ranges = [n for n in normalize_kernel(sink).toposort() if n.op is Ops.RANGE]
    opts: list[Opt] = []
    lanes_used = False
    for rng in ranges:
        size = int(rng.src[0].vmax)
        output = axis_type(rng) is AxisType.LOOP
        kinds = [OptKind.UPCAST] if output else [OptKind.UPCAST, OptKind.UNROLL]
        if not lanes_used:
            kinds.append(OptKind.VECTOR)
        kind = choice.choice([*kinds, None])
        if kind is None or size < 2:
            continue
        lanes_used |= kind is OptKind.VECTOR
        opts.append(Opt(kind, rng.arg[:-1], choice.randint(2, min(size, 6))))
    return tuple(opts)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "name",
    ["add", "row_sum", "column_max", "total", "matmul", "padded_shift", "convolution", "variance"],
)
def test_random_choices_keep_the_result(name: str, seed: int) -> None:
    sizes = SIZES[seed % len(SIZES)]
    sample = SAMPLES[name](*sizes)
    # without simplification that merges ranges the ids in the options stay valid
    check(sample, SIMD, tuple(o for o in random_opts(sample.sink, seed) if _survives(sample, o)))


def _survives(sample: Sample, opt: Opt) -> bool:
    """Tell whether a range is still there when options are applied: neither merged nor of size
    1.
    """
    node = normalize_kernel(sample.sink)
    for step in pipeline:
        if step.name == "optimize-kernel":
            break
        node = step.run(node, SIMD)
    return any(
        n.op is Ops.RANGE and n.arg[:-1] == opt.axis and int(n.src[0].vmax) >= opt.amount
        for n in node.toposort()
    )


def test_passes_are_named_after_their_functions() -> None:
    assert len({step.name for step in pipeline}) == len(pipeline)
    assert pipeline[-1].name == "linearize"


def test_results_do_not_depend_on_names_or_range_numbers() -> None:
    first = SAMPLES["matmul"](8, 16, 8).sink
    renumbered = first.substitute(
        {
            n: UOp(Ops.RANGE, n.src, (n.arg[0] + 7, n.arg[-1]))
            for n in first.toposort()
            if n.op is Ops.RANGE
        }
    )
    assert lower_kernel(first, SIMD) is lower_kernel(renumbered, SIMD)


def text(linear: UOp) -> list[str]:
    """Return a linear program as text: op, dtype, lanes, sources by number, constants by value."""
    shown = [n for n in linear.src if n.const_value is None]
    number = {node: i for i, node in enumerate(shown)}
    lines: list[str] = []
    for node in shown:
        sources = [
            str(s.const_value) if s.const_value is not None else f"%{number[s]}" for s in node.src
        ]
        lanes = f"x{node.shape[0]}" if node.shape and node.op not in (Ops.PARAM, Ops.BUFFER) else ""
        lines.append(
            " ".join([f"%{number[node]} {node.op.name.lower()} {node.dtype.name}{lanes}", *sources])
        )
    return lines


def test_golden_elementwise_addition() -> None:
    assert text(check(SAMPLES["add"](64, 0, 0), SIMD)) == [
        "%0 param float32",
        "%1 param float32",
        "%2 param float32",
        "%3 range int32 4",
        "%4 mul int32 %3 16",
        "%5 index float32x16 %0 %4",
        "%6 index float32x16 %1 %4",
        "%7 load float32x16 %6",
        "%8 index float32x16 %2 %4",
        "%9 load float32x16 %8",
        "%10 add float32x16 %7 %9",
        "%11 store void %5 %10",
        "%12 end void %11 %3",
    ]


def test_golden_row_sum_without_options() -> None:
    assert text(check(SAMPLES["row_sum"](4, 8, 0), SIMD, ())) == [
        "%0 param float32",
        "%1 buffer float32",
        "%2 index float32 %1 0",
        "%3 param float32",
        "%4 range int32 4",
        "%5 index float32 %0 %4",
        "%6 store void %2 0.0",
        "%7 mul int32 %4 8",
        "%8 range int32 8",
        "%9 load float32 %2",
        "%10 add int32 %7 %8",
        "%11 index float32 %3 %10",
        "%12 load float32 %11",
        "%13 add float32 %9 %12",
        "%14 store void %2 %13",
        "%15 end void %14 %8",
        "%16 load float32 %2",
        "%17 store void %5 %16",
        "%18 end void %17 %4",
    ]


@pytest.mark.parametrize("width", [16, 64])
@pytest.mark.parametrize(
    "name", ["matmul", "matmul_transposed", "softmax", "padded_shift", "total"]
)
def test_other_register_files(name: str, width: int) -> None:
    target = replace(SIMD, vector_bytes=width, registers=32, has_masked_access=False)
    check(SAMPLES[name](9, 37, 40), target)
