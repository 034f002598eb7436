"""The C-style base: golden text, and where a C compiler is present, what the text computes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from linear_programs import (
    binary_ops,
    edge_values,
    element_type,
    int32,
    linear_of,
    map_program,
    pairs,
    result_dtype,
)

from tg_core.device.interpreter import InterpreterProgram
from tg_core.dtype import DType, dtypes
from tg_core.errors import CompileError
from tg_core.renderer.api import ARITHMETIC_OPS, Target
from tg_core.renderer.cstyle import CStyleRenderer
from tg_core.renderer.cstyle.expressions import HELPERS
from tg_core.renderer.cstyle.names import C_TYPES, c_literal
from tg_core.renderer.interpreter import InterpreterRenderer
from tg_core.uop.ops import Ops, UOp

RENDERER = CStyleRenderer(
    device_type="TEST", name="C", target=Target("any"), native_ops=ARITHMETIC_OPS
)
COMPILER = shutil.which("cc")
TYPES = tuple(C_TYPES)


def body(linear: UOp) -> str:
    text = RENDERER.render("k", linear)
    assert text.startswith(HELPERS)
    return text.removeprefix(HELPERS)


def test_loop_register_and_gate() -> None:
    size = UOp.variable("n", 0, 8, dtypes.int32, 2)
    acc = UOp.register(1, dtypes.float32, 0).index(int32(0))
    loop = UOp.range(size, 0)
    gate = loop.alu(Ops.CMPLT, int32(5))
    value = (
        UOp.param(1, dtypes.float32, (8,)).index(loop).load(UOp.const(0.5, dtypes.float32), gate)
    )
    step = acc.store(UOp(Ops.LOAD, (acc,), tag="in").alu(Ops.ADD, value))
    out = UOp.param(0, dtypes.float32, (1,)).index(int32(0))
    linear = linear_of(
        acc.store(UOp.const(0.0, dtypes.float32)),
        size,
        loop,
        step.end(loop),
        out.store(UOp(Ops.LOAD, (acc,), tag="out")),
    )
    assert (
        body(linear)
        == """void k(const long long *args, long long chunk) {
  float *data0 = (float *)args[0];
  float *data1 = (float *)args[1];
  int n = (int)args[2];
  float r1[1];
  r1[0] = 0x0.0p+0f;
  for (int i2 = 0; i2 < n; i2++) {
    float v3 = r1[0];
    _Bool v4 = i2 < 5;
    float v5 = v4 ? data1[i2] : 0x1.0000000000000p-1f;
    float v6 = v3 + v5;
    r1[0] = v6;
  }
  float v7 = r1[0];
  data0[0] = v7;
}
"""
    )


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (True, dtypes.bool, "1"),
        (-(2**63), dtypes.int64, "(-9223372036854775807ll - 1)"),
        (2**64 - 1, dtypes.uint64, "18446744073709551615ull"),
        (-1, dtypes.uint32, "4294967295u"),
        (300, dtypes.int8, "44"),
        (1.5, dtypes.float32, "0x1.8000000000000p+0f"),
        (float("-inf"), dtypes.float64, "-__builtin_inf()"),
        (float("nan"), dtypes.float32, '__builtin_nanf("")'),
    ],
)
def test_literals(value: float, dtype: DType, text: str) -> None:
    assert c_literal(value, dtype) == text


def test_what_the_language_lacks_is_an_error() -> None:
    for linear, message in (
        (map_program(Ops.EXP2, dtypes.float32, (dtypes.float32,), 8, 0), "no EXP2"),
        (map_program(Ops.ADD, dtypes.float32, (dtypes.float32,) * 2, 8, 4), "no vectors"),
        (map_program(Ops.ADD, dtypes.bfloat16, (dtypes.bfloat16,) * 2, 8, 0), "no type"),
    ):
        with pytest.raises(CompileError, match=message):
            RENDERER.render("k", linear)


def compiled_together(programs: list[UOp], folder: Path) -> list[ctypes._CFuncPtr]:
    """Compile all programs in one translation unit, whose warnings are errors."""
    text = HELPERS + "".join(
        RENDERER.render(f"k{i}", p).removeprefix(HELPERS) for i, p in enumerate(programs)
    )
    source, library = folder / "k.c", folder / "k.so"
    source.write_text(text)
    flags = ["-O1", "-ffp-contract=off", "-Werror", "-fsanitize=undefined,float-cast-overflow"]
    flags += ["-fno-sanitize-recover", "-fsanitize-undefined-trap-on-error"]
    subprocess.run([str(COMPILER), *flags, "-shared", "-fPIC", "-o", str(library), str(source),
    "-lm"],
                   check=True, timeout=100)  # fmt: skip
    loaded = ctypes.CDLL(str(library))
    return [loaded[f"k{i}"] for i in range(len(programs))]


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_text_computes_what_the_interpreter_does(dtype: DType, tmp_path: Path) -> None:
    """Undefined behaviour traps, so that this also shows its absence."""
    binary = [op for op in binary_ops(dtype) if op not in (Ops.FLOORDIV, Ops.FLOORMOD)]
    a, b = pairs(dtype)
    cases = [(op, result_dtype(op, dtype), (dtype, dtype), (a, b), None) for op in binary]
    single = edge_values(dtype)
    cases += [(Ops.CAST, t, (dtype,), (single,), t) for t in TYPES if t is not dtype]
    if dtypes.is_float(dtype):
        cases += [
            (op, dtype, (dtype,), (single,), None) for op in (Ops.SQRT, Ops.TRUNC, Ops.RECIPROCAL)
        ]
    loops = [map_program(op, out, src, len(cells[0]), 0, arg) for op, out, src, cells, arg in cases]
    for function, (op, out, src, cells, arg) in zip(compiled_together(loops, tmp_path), cases):
        got, want = (np.zeros(len(cells[0]), element_type(out)) for _ in range(2))
        slots = (ctypes.c_int64 * (1 + len(cells)))(*[x.ctypes.data for x in (got, *cells)])
        function(slots, ctypes.c_int64(0))
        renderer = InterpreterRenderer("")
        grid = map_program(op, out, src, len(want), 0, arg, grid=True)
        program = InterpreterProgram("k", renderer.compile(renderer.render("k", grid)))
        program([x.view(np.uint8) for x in (want, *cells)], (), (len(want), 1, 1))
        np.testing.assert_array_equal(got, want, f"{op} {src} -> {out}")
