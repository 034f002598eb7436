"""Kernels for the tests of code generation, and a way to run them with every access checked.

`SIMD` describes a processor with vector registers and only plain arithmetic; `LEAN` one that lacks
even the simple ops; `GRID` one with a grid of work items, `GROUPS` one whose work items come in
groups. Their linear programs run on the interpreter, which checks bounds and knows every op, so a
difference is a fault of code generation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tg_core.codegen import lower_kernel
from tg_core.device.interpreter import InterpreterProgram
from tg_core.dtype import DType, dtypes
from tg_core.renderer.api import ARITHMETIC_OPS, Renderer, Target
from tg_core.renderer.interpreter import InterpreterRenderer
from tg_core.uop.ops import AxisType, KernelInfo, Ops, UOp
from tg_core.uop.symbolic import simplify


@dataclass(frozen=True, kw_only=True)
class DescribedTarget(Renderer):
    """A target that is only described."""

    language = "none"

    @property
    def version(self) -> str:
        return "1"

    def render(self, name: str, linear: UOp) -> str:
        return InterpreterRenderer().render(name, linear)

    def compile(self, source: str) -> bytes:
        return source.encode()


_ORDINARY = frozenset((dtypes.bool, *dtypes.ints, dtypes.float16, dtypes.float32, dtypes.float64))
SIMD = DescribedTarget(
    device_type="TEST",
    name="SIMD",
    target=Target("simd"),
    vector_bytes=32,
    registers=16,
    native_ops=ARITHMETIC_OPS | {Ops.MULACC},
    native_dtypes=_ORDINARY,
    storage_dtypes=_ORDINARY | {dtypes.bfloat16},
    has_masked_access=True,
)
LEAN = DescribedTarget(
    device_type="TEST",
    name="LEAN",
    target=Target("lean"),
    native_ops=frozenset(
        (Ops.ADD, Ops.MUL, Ops.FDIV, Ops.CDIV, Ops.CMOD, Ops.CMPLT, Ops.CMPNE, Ops.AND, Ops.OR, Ops.XOR, Ops.SHL, Ops.SHR,
         Ops.WHERE, Ops.SQRT)
    ),
    native_dtypes=frozenset((dtypes.bool, *dtypes.ints, dtypes.float32)),
    storage_dtypes=frozenset((dtypes.bool, *dtypes.ints, dtypes.float32)),
)  # fmt: skip
GRID = DescribedTarget(
    device_type="TEST",
    name="GRID",
    target=Target("grid"),
    has_global=True,
    native_ops=ARITHMETIC_OPS,
    native_dtypes=_ORDINARY,
    storage_dtypes=_ORDINARY,
)
LEAN_GRID = replace(LEAN, name="LEAN_GRID", has_global=True)
"""The same with a grid, on which the interpreter is fast."""
GROUPS = replace(
    GRID,
    name="GROUPS",
    has_local=True,
    local_max=(64, 64, 64),
    shared_bytes=1 << 15,
    target=Target("groups"),
)


def param(slot: int, size: int, dtype: DType = dtypes.float32) -> UOp:
    """Return storage argument `slot`."""
    return UOp.param(slot, dtype, (size,), "TEST")


def loop(size: Any, axis: int) -> UOp:
    """Return an output range."""
    return UOp.range(size, axis, AxisType.LOOP)


def reduce_loop(size: Any, axis: int) -> UOp:
    """Return a reduce range."""
    return UOp.range(size, axis, AxisType.REDUCE)


def load(storage: UOp, index: Any) -> UOp:
    """Return an element of storage."""
    return storage.index(index).load()


def kernel(*effects: UOp, opts: tuple[object, ...] | None = None) -> UOp:
    """Return a kernel of effects."""
    return UOp.sink(*effects, arg=KernelInfo("", opts))


def elementwise(function: Any, size: int, *inputs: DType, output: DType) -> UOp:
    """Return a kernel that maps a function of nodes over arrays."""
    i = loop(size, 0)
    values = [load(param(slot + 1, size, dtype), i) for slot, dtype in enumerate(inputs)]
    return kernel(param(0, size, output).index(i).store(function(*values)).end(i))


def run(sink: UOp, renderer: Renderer, *arrays: np.ndarray, values: tuple[int, ...] = ()) -> UOp:
    """Lower a kernel for a target and execute the linear program; the first arrays are written.

    Returns:
        The LINEAR that ran.
    """
    program = lower_kernel(sink, renderer)
    text = InterpreterRenderer().render(program.arg.name, program.src[1])
    used = [arrays[slot] for slot in program.arg.params]
    given = {v: UOp.const(value) for v, value in zip(program.arg.variables, values, strict=True)}
    grid = tuple(
        s if isinstance(s, int) else int(simplify(s.substitute(given)).vmax)
        for s in program.arg.global_size
    )
    InterpreterProgram(program.arg.name, text.encode())(used, values, grid, program.arg.local_size)
    return program.src[1]


def apply(
    function: Any, renderer: Renderer, output: DType, *arrays: tuple[np.ndarray, DType]
) -> np.ndarray:
    """Return what a target computes for a function of nodes over arrays of codes."""
    from tg_core.dtype import to_numpy

    size = len(arrays[0][0])
    storage = to_numpy(output) or np.dtype(f"uint{output.bits}")
    result = np.zeros(size, storage)
    sink = elementwise(function, size, *(dtype for _, dtype in arrays), output=output)
    run(sink, renderer, result, *(a for a, _ in arrays))
    return result


def ulp_distance(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Return by how many units in the last place of `got`'s dtype two arrays differ; equal
    infinities and NaNs differ by 0.

    Args:
        got: results.
        want: exact values in a wider dtype.
    """
    with np.errstate(all="ignore"):
        nearest = want.astype(got.dtype)
        wide = np.longdouble
        difference = np.abs(got.astype(wide) - want.astype(wide))
        step = np.abs(np.spacing(np.where(np.isfinite(nearest), nearest, 1)).astype(wide))
        distance = (difference / step).astype(np.float64)
    same = (got == nearest) & ~np.isfinite(nearest) | (np.isnan(got) & np.isnan(nearest))
    return np.where(
        same,
        0.0,
        np.where(np.isnan(distance) | (np.isfinite(nearest) != np.isfinite(got)), np.inf, distance),
    )
