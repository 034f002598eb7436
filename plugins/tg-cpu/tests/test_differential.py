"""Every op and dtype on the CPU against the interpreter, bit for bit, scalar and in vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from linear_programs import (
    COMMON_DTYPES,
    FLOAT_UNARY,
    binary_ops,
    edge_values,
    element_type,
    from_cells,
    int32,
    linear_of,
    map_program,
    map_programs,
    pairs,
    result_dtype,
    splat,
)

from tg_core.backend import DType, Ops, UOp, dtypes
from tg_core.device.interpreter import InterpreterProgram
from tg_core.renderer.interpreter import InterpreterRenderer
from tg_cpu.allocator import CPUMemory
from tg_cpu.program import CPUProgram
from tg_cpu.renderer_llvm import CPULLVMRenderer

RENDERER = CPULLVMRenderer("")
INTERPRETER = InterpreterRenderer("")

# bfloat16 is a storage dtype of the CPU; its arithmetic is rendered all the same
DTYPES = (*COMMON_DTYPES, dtypes.bfloat16)
LANES = [0, 8]


def memory_of(array: np.ndarray) -> CPUMemory:
    return CPUMemory(array.ctypes.data, array.nbytes, array)


def run_cpu(
    linear: UOp, buffers: list[np.ndarray], size: Any = (1, 1, 1), values: Any = ()
) -> None:
    source = RENDERER.render("kernel", linear)
    program = CPUProgram("kernel", RENDERER.compile(source), len(buffers) + len(values))
    program([memory_of(b) for b in buffers], values, size)


def run_interpreter(
    linear: UOp, buffers: list[np.ndarray], size: Any = (1, 1, 1), values: Any = ()
) -> None:
    binary = INTERPRETER.compile(INTERPRETER.render("kernel", linear))
    program = InterpreterProgram("kernel", binary)
    program([b.reshape(-1).view(np.uint8) for b in buffers], values, size)


def check_all(
    ops: list[tuple[Ops, DType, Any]],
    sources: tuple[DType, ...],
    cells: tuple[np.ndarray, ...],
    lanes: int,
) -> None:
    """Compare all results of ops on the same operands; NaNs are equal whatever their bits."""
    count = len(cells[0])
    got, want = ([np.zeros(count, element_type(out)) for _, out, _ in ops] for _ in range(2))
    run_cpu(map_programs(ops, sources, count, lanes), [*got, *cells])
    grid = map_programs(ops, sources, count, lanes, grid=True)
    run_interpreter(grid, [*want, *cells], (count // max(lanes, 1), 1, 1))
    for (op, out, _), mine, theirs in zip(ops, got, want):
        x, y = from_cells(mine, out), from_cells(theirs, out)
        np.testing.assert_array_equal(x, y, f"{op} {sources} -> {out}")
        if dtypes.is_float(out):
            real = ~np.isnan(x)
            signs = np.signbit(x)[real], np.signbit(y)[real]
            np.testing.assert_array_equal(*signs, f"sign of {op} {sources} -> {out}")


def check(
    op: Ops,
    out: DType,
    sources: tuple[DType, ...],
    cells: tuple[np.ndarray, ...],
    lanes: int,
    arg: Any = None,
) -> None:
    """Compare all results of one op."""
    check_all([(op, out, arg)], sources, cells, lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_binary(dtype: DType, lanes: int) -> None:
    ops = [(op, result_dtype(op, dtype), None) for op in binary_ops(dtype)]
    check_all(ops, (dtype, dtype), pairs(dtype), lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", [d for d in DTYPES if dtypes.is_float(d)], ids=str)
def test_unary(dtype: DType, lanes: int) -> None:
    ops = [(op, dtype, None) for op in FLOAT_UNARY]
    check_all(ops, (dtype,), (edge_values(dtype),), lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_cast(source: DType, lanes: int) -> None:
    ops = [(Ops.CAST, target, target) for target in DTYPES if target is not source]
    check_all(ops, (source,), (edge_values(source),), lanes)


def test_cast_of_every_half() -> None:
    codes = np.arange(65536, dtype=np.uint16)
    for source in (dtypes.float16, dtypes.bfloat16):
        cells = codes.view(element_type(source))
        targets = (dtypes.uint8, dtypes.int32, dtypes.float32, dtypes.bool)
        check_all([(Ops.CAST, target, target) for target in targets], (source,), (cells,), 8)


@pytest.mark.parametrize("source", [dtypes.float32, dtypes.float64], ids=str)
def test_narrowing_rounds_once(source: DType) -> None:
    """Around the midpoints of neighbouring halves and bfloat16 values."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    middle = (halves[:-1:7] + halves[1::7][: len(halves[:-1:7])]) / 2
    kind = element_type(source)
    around = [middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf)]
    values = np.concatenate(around).astype(kind)
    values = np.concatenate([values, -values])
    values = values[: len(values) // 8 * 8]
    for target in (dtypes.float16, dtypes.bfloat16):
        check(Ops.CAST, target, (source,), (values,), 8, target)


@pytest.mark.parametrize("lanes", LANES)
def test_negative_floats_wrap_to_unsigned(lanes: int) -> None:
    values = np.array([-2.75, -1.5, -0.5, 0.5, 254.75, 255.0, -300.0, 4e9], np.float32)
    got = np.zeros(8, np.uint8)
    linear = map_program(Ops.CAST, dtypes.uint8, (dtypes.float32,), 8, lanes, dtypes.uint8)
    run_cpu(linear, [got, values])
    assert got.tolist() == [254, 255, 0, 0, 254, 255, 212, 0]


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not dtypes.bool], ids=str)
def test_bitcast(dtype: DType, lanes: int) -> None:
    target = {1: dtypes.uint8, 2: dtypes.int16, 4: dtypes.uint32, 8: dtypes.int64}[dtype.itemsize]
    check(Ops.BITCAST, target, (dtype,), (edge_values(dtype),), lanes, target)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_where(dtype: DType, lanes: int) -> None:
    a, b = pairs(dtype)
    flags = np.random.default_rng(3).integers(0, 2, len(a)).astype(bool)
    check(Ops.WHERE, dtype, (dtypes.bool, dtype, dtype), (flags, a, b), lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", [d for d in COMMON_DTYPES if d is not dtypes.bool], ids=str)
def test_multiply_add(dtype: DType, lanes: int) -> None:
    a, b = pairs(dtype)
    random = np.random.default_rng(4)
    check(Ops.MULACC, dtype, (dtype,) * 3, (a, b, random.permutation(a)), lanes)
    if dtypes.is_float(dtype):
        # cancellation, where the rounding of the product shows
        x = random.standard_normal(1024).astype(a.dtype)
        y = random.standard_normal(1024).astype(a.dtype)
        check(Ops.MULACC, dtype, (dtype,) * 3, (x, y, -(x * y)), lanes)


@pytest.mark.parametrize("amount", [dtypes.uint8, dtypes.int64, dtypes.uint32], ids=str)
@pytest.mark.parametrize(
    "dtype", [dtypes.int8, dtypes.uint16, dtypes.int32, dtypes.uint64], ids=str
)
def test_shift_by_another_width(dtype: DType, amount: DType) -> None:
    for op in (Ops.SHL, Ops.SHR):
        check(op, dtype, (dtype, amount), pairs(dtype, amount), 0)


@pytest.mark.parametrize("divisor", [1, 2, 8, 3, 7, -1, -4, 127])
def test_division_by_constants(divisor: int) -> None:
    values = edge_values(dtypes.int32)
    for op in (Ops.CDIV, Ops.CMOD, Ops.FLOORDIV, Ops.FLOORMOD):
        for lanes in LANES:
            constant = int32(divisor)

            def program(grid: bool, op: Ops = op, lanes: int = lanes, by: UOp = constant) -> UOp:
                steps = int32(64 // max(lanes, 1))
                loop = UOp.special(steps, "gidx0") if grid else UOp.range(steps, 0)
                index = loop.alu(Ops.MUL, int32(max(lanes, 1)))
                value = UOp.param(1, dtypes.int32, (64,)).index(index, lanes or None).load()
                result = value.alu(op, splat(by, lanes) if lanes else by)
                store = UOp.param(0, dtypes.int32, (64,)).index(index, lanes or None).store(result)
                return linear_of(store) if grid else linear_of(loop, store.end(loop))

            got, want = np.zeros(64, np.int32), np.zeros(64, np.int32)
            run_cpu(program(False), [got, values])
            run_interpreter(program(True), [want, values], (64 // max(lanes, 1), 1, 1))
            np.testing.assert_array_equal(got, want, f"{op} by {divisor}")


def test_division_of_variables_with_known_signs() -> None:
    """Bounds drop guards and choose unsigned division; the results stay."""
    for low, high, by_low, by_high in ((0, 100, 1, 9), (-100, 100, 1, 9), (-100, 100, -9, 9)):
        a = UOp.variable("a", low, high, dtypes.int32, 1)
        b = UOp.variable("b", by_low, by_high, dtypes.int32, 2)
        ops = (Ops.CDIV, Ops.CMOD, Ops.FLOORDIV, Ops.FLOORMOD)
        out = UOp.param(0, dtypes.int32, (4,))
        linear = linear_of(*[out.index(int32(i)).store(a.alu(op, b)) for i, op in enumerate(ops)])
        for x in range(low, high + 1, 13):
            for y in range(by_low, by_high + 1, 4):
                got, want = np.zeros(4, np.int32), np.zeros(4, np.int32)
                run_interpreter(linear, [want], values=(x, y))
                if x == low and y == by_low:
                    source = RENDERER.render("kernel", linear)
                    program = CPUProgram("kernel", RENDERER.compile(source), 3)
                program([memory_of(got)], (x, y))
                assert got.tolist() == want.tolist(), (x, y)


GATED = (
    dtypes.bool,
    dtypes.int8,
    dtypes.float16,
    dtypes.float32,
    dtypes.int64,
    dtypes.bfloat16,
)


@pytest.mark.parametrize("dtype", GATED, ids=str)
def test_gated_access(dtype: DType) -> None:
    """Scalar gates, lane gates on contiguous lanes, and gathers; nothing outside is touched."""
    cells = edge_values(dtype)[:11]
    lane = UOp.stack_of(*[int32(i) for i in range(8)])
    in_range = lane.alu(Ops.CMPLT, splat(int32(3), 8))
    alt = splat(UOp.const(1, dtype), 8)
    source = UOp.param(1, dtype, (11,))
    out = UOp.param(0, dtype, (40,))
    tail = source.index(int32(8), 8).load(alt, in_range)
    scattered = UOp.stack_of(*[int32(i) for i in (10, 3, 99, 0, 1, -5, 2, 10)])
    legal = scattered.alu(Ops.CMPLT, splat(int32(11), 8)).alu(
        Ops.AND, splat(int32(-1), 8).alu(Ops.CMPLT, scattered)
    )
    gathered = source.index(scattered).load(alt, legal)
    never = UOp.variable("n", 0, 1, dtypes.int32, 2).alu(Ops.CMPNE, int32(0))
    skipped = source.index(int32(1000), 8).load(alt, never)
    linear = linear_of(
        out.index(int32(0), 8).store(tail),
        out.index(int32(8), 8).store(gathered),
        out.index(int32(16), 8).store(skipped),
        out.index(int32(24), 8).store(tail, in_range),
        out.index(splat(int32(30), 8).alu(Ops.ADD, lane)).store(tail, in_range),
        out.index(int32(5000), 8).store(tail, never),
    )
    got, want = np.zeros(40, cells.dtype), np.zeros(40, cells.dtype)
    run_cpu(linear, [got, cells], values=(0,))
    run_interpreter(linear, [want, cells], values=(0,))
    np.testing.assert_array_equal(from_cells(got, dtype), from_cells(want, dtype))


def test_lanes() -> None:
    """Splats, constants, shuffles of one and two vectors, lanes one by one, parts of vectors."""
    a, b = (UOp.param(slot, dtypes.float32, (4,)).index(int32(0), 4).load() for slot in (1, 2))
    vectors = [
        UOp.stack_of(*[a.index(int32(3 - i)) for i in range(4)]),
        UOp.stack_of(a.index(int32(0)), b.index(int32(0)), a.index(int32(1)), b.index(int32(1))),
        UOp.stack_of(*[UOp.const(float(i), dtypes.float32) for i in range(4)]),
        splat(a.index(int32(2)), 4),
        UOp.stack_of(a.index(int32(0)), UOp.const(7.0, dtypes.float32), *[b.index(int32(3))] * 2),
        UOp.stack_of(*[a.index(int32(i)) for i in range(4)]),
    ]
    out = UOp.param(0, dtypes.float32, (26,))
    stores = [out.index(int32(4 * i), 4).store(v) for i, v in enumerate(vectors)]
    linear = linear_of(*stores, out.index(int32(24), 2).store(b.index(int32(1), 2)))
    data = [np.arange(1, 5, dtype=np.float32), np.arange(5, 9, dtype=np.float32)]
    got, want = np.zeros(26, np.float32), np.zeros(26, np.float32)
    run_cpu(linear, [got, *data])
    run_interpreter(linear, [want, *data])
    np.testing.assert_array_equal(got, want)


def test_registers_loops_and_branches() -> None:
    """Two accumulators, one of them a vector, a loop of variable size, and an IF."""
    size = UOp.variable("n", 0, 8, dtypes.int32, 2)
    acc = UOp.register(9, dtypes.float32, 0)
    one, many = acc.index(int32(0)), acc.index(int32(1), 8)
    zero = UOp.const(0.0, dtypes.float32)
    clear = (one.store(zero), many.store(splat(zero, 8)))
    loop = UOp.range(size, 0)
    row = UOp.param(1, dtypes.float32, (64,)).index(loop.alu(Ops.MUL, int32(8)), 8).load()
    add = many.store(UOp(Ops.LOAD, (many,), tag="in").alu(Ops.ADD, row))
    count = one.store(UOp(Ops.LOAD, (one,), tag="in").alu(Ops.ADD, UOp.const(1.0, dtypes.float32)))
    out = UOp.param(0, dtypes.float32, (9,))
    sums = out.index(int32(0), 8).store(UOp(Ops.LOAD, (many,), tag="out"))
    total = UOp(Ops.LOAD, (one,), tag="out")
    many_rows = UOp.const(2.5, dtypes.float32).alu(Ops.CMPLT, total)
    opened = UOp(Ops.IF, (many_rows,))
    guarded = out.index(int32(8)).store(total)
    body = linear_of(*clear, loop, add, count).src
    rest = linear_of(sums, many_rows).src
    tail = linear_of(out.index(int32(8))).src
    nodes = (*linear_of(size).src, *body, count.end(loop), *rest, opened, *tail, guarded,
             UOp(Ops.ENDIF, (opened,)))  # fmt: skip
    linear = UOp(Ops.LINEAR, tuple(dict.fromkeys(nodes)))
    data = np.random.default_rng(5).standard_normal(64).astype(np.float32)
    for n in (0, 1, 3, 8):
        got, want = np.full(9, -1, np.float32), np.full(9, -1, np.float32)
        run_cpu(linear, [got, data], values=(n,))
        run_interpreter(linear, [want, data], values=(n,))
        np.testing.assert_array_equal(got, want)
        assert got[8] == (n if n > 2 else -1)


def test_chunks_are_the_grid() -> None:
    chunk = UOp.special(int32(16), "gidx0")
    index = chunk.alu(Ops.MUL, int32(8))
    value = UOp.param(1, dtypes.int32, (128,)).index(index, 8).load()
    linear = linear_of(
        UOp.param(0, dtypes.int32, (128,))
        .index(index, 8)
        .store(value.alu(Ops.ADD, splat(chunk, 8)))
    )
    data = np.arange(128, dtype=np.int32)
    got = np.zeros(128, np.int32)
    run_cpu(linear, [got, data], (16, 1, 1))
    np.testing.assert_array_equal(got, data + data // 8)
