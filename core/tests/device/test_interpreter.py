"""The interpreter against numpy and Python arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from linear_programs import (
    COMMON_DTYPES,
    COMPARISONS,
    NARROW,
    TRANSCENDENTAL,
    binary_ops,
    edge_values,
    element_type,
    from_cells,
    int32,
    linear_of,
    map_program,
    pairs,
    result_dtype,
    rounded,
    splat,
    to_cells,
)

from tg_core.device import interpreter
from tg_core.device.interpreter import InterpreterProgram
from tg_core.dtype import DType, dtypes, truncate
from tg_core.errors import CompileError, DeviceError
from tg_core.renderer.interpreter import InterpreterRenderer
from tg_core.uop.ops import AddrSpace, BufferArg, Ops, UOp


def compiled(linear: UOp) -> InterpreterProgram:
    renderer = InterpreterRenderer("")
    return InterpreterProgram("k", renderer.compile(renderer.render("k", linear)))


def run(
    linear: UOp, *buffers: np.ndarray, values: tuple[int, ...] = (), size: Any = (1, 1, 1)
) -> None:
    compiled(linear)([b.view(np.uint8) for b in buffers], values, size)


def run_map(op: Ops, out: DType, cells: tuple[np.ndarray, ...], sources: tuple[DType, ...],
            lanes: int = 0, arg: Any = None) -> np.ndarray:  # fmt: skip
    count = len(cells[0])
    result = np.zeros(count, element_type(out))
    items = (count // max(lanes, 1), 1, 1)
    run(map_program(op, out, sources, count, lanes, arg, grid=True), result, *cells, size=items)
    return from_cells(result, out)


def python_integer(op: Ops, a: int, b: int, dtype: DType) -> int:
    """Return what an integer op gives, in Python's unbounded integers."""
    bits = dtype.bits
    if op in (Ops.CDIV, Ops.CMOD, Ops.FLOORDIV, Ops.FLOORMOD) and b == 0:
        return 0
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    shift = b if 0 <= b < bits else bits
    table = {
        Ops.ADD: lambda: a + b,
        Ops.SUB: lambda: a - b,
        Ops.MUL: lambda: a * b,
        Ops.MAX: lambda: max(a, b),
        Ops.AND: lambda: a & b,
        Ops.OR: lambda: a | b,
        Ops.XOR: lambda: a ^ b,
        Ops.CDIV: lambda: quotient,
        Ops.CMOD: lambda: a - quotient * b,
        Ops.FLOORDIV: lambda: a // b,
        Ops.FLOORMOD: lambda: a % b,
        Ops.SHL: lambda: a << shift,
        Ops.SHR: lambda: a >> shift,
        Ops.CMPLT: lambda: a < b,
        Ops.CMPNE: lambda: a != b,
        Ops.CMPEQ: lambda: a == b,
    }
    return int(truncate(table[op](), result_dtype(op, dtype)))


@pytest.mark.parametrize("dtype", dtypes.ints, ids=str)
def test_integer_ops(dtype: DType) -> None:
    a, b = pairs(dtype)
    for op in binary_ops(dtype):
        got = run_map(op, result_dtype(op, dtype), (a, b), (dtype, dtype))
        want = [python_integer(op, int(x), int(y), dtype) for x, y in zip(a, b)]
        np.testing.assert_array_equal(got, want, err_msg=f"{op} {dtype}")


def test_bool_ops() -> None:
    a, b = pairs(dtypes.bool)
    x, y = a.astype(bool), b.astype(bool)
    for op, want in {
        Ops.ADD: x | y, Ops.SUB: x ^ y, Ops.MUL: x & y, Ops.MAX: x | y, Ops.AND: x & y, Ops.OR: x |
        y, Ops.XOR: x ^ y, Ops.CMPLT: ~x & y, Ops.CMPNE: x ^ y, Ops.CMPEQ: x == y,
    }.items():  # fmt: skip
        np.testing.assert_array_equal(
            run_map(op, dtypes.bool, (a, b), (dtypes.bool,) * 2), want, str(op)
        )


@pytest.mark.parametrize("dtype", dtypes.floats, ids=str)
def test_float_ops(dtype: DType) -> None:
    """Computed in float64 and rounded, which is exact for + - * / of narrower formats."""
    a, b = pairs(dtype)
    wide = np.float64 if dtype is not dtypes.float64 else np.longdouble
    x, y = from_cells(a, dtype).astype(wide), from_cells(b, dtype).astype(wide)
    with np.errstate(all="ignore"):
        table = {
            Ops.ADD: x + y,
            Ops.SUB: x - y,
            Ops.MUL: x * y,
            Ops.FDIV: x / y,
            Ops.MAX: np.maximum(x, y),
        }
        for op, want in table.items():
            if dtype is dtypes.float64 and op is not Ops.MAX:
                narrow = {
                    Ops.ADD: np.add,
                    Ops.SUB: np.subtract,
                    Ops.MUL: np.multiply,
                    Ops.FDIV: np.divide,
                }
                want = narrow[op](from_cells(a, dtype), from_cells(b, dtype))
            got = run_map(op, dtype, (a, b), (dtype, dtype))
            np.testing.assert_array_equal(
                got, rounded(np.asarray(want, np.float64), dtype), str(op)
            )
        compare = {Ops.CMPLT: x < y, Ops.CMPNE: x != y, Ops.CMPEQ: x == y}
    for op in COMPARISONS:
        got = run_map(op, dtypes.bool, (a, b), (dtype, dtype))
        np.testing.assert_array_equal(got, compare[op], str(op))


@pytest.mark.parametrize("dtype", dtypes.floats, ids=str)
def test_float_functions(dtype: DType) -> None:
    cells = edge_values(dtype)
    x = from_cells(cells, dtype).astype(np.float64)
    functions = {Ops.EXP2: np.exp2, Ops.LOG2: np.log2, Ops.SIN: np.sin, Ops.SQRT: np.sqrt,
                 Ops.TRUNC: np.trunc, Ops.RECIPROCAL: np.reciprocal}  # fmt: skip
    assert set(TRANSCENDENTAL) <= set(functions)
    for op, function in functions.items():
        with np.errstate(all="ignore"):
            want = rounded(function(x), dtype)
        np.testing.assert_array_equal(run_map(op, dtype, (cells,), (dtype,)), want, str(op))


def test_max_of_zeros_and_nan() -> None:
    a = np.array([0.0, -0.0, -0.0, np.nan, 1.0], np.float32)
    b = np.array([-0.0, 0.0, -0.0, 1.0, np.nan], np.float32)
    got = run_map(Ops.MAX, dtypes.float32, (a, b), (dtypes.float32,) * 2)
    assert np.signbit(got[:3]).tolist() == [False, False, True]
    assert np.isnan(got[3:]).all()


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.float32, dtypes.float64], ids=str)
def test_multiply_add_rounds_once(dtype: DType) -> None:
    kind = element_type(dtype).type
    eps = np.finfo(kind).eps
    a = np.array([1 + eps, 3.0], kind)
    c = np.array([-(1 + 2 * eps), 4.0], kind)
    got = run_map(Ops.MULACC, dtype, (a, a, c), (dtype,) * 3)
    assert got.tolist() == [float(eps) ** 2, 13.0]


def test_multiply_add_of_integers_wraps() -> None:
    a = np.array([200, 3], np.uint8)
    assert run_map(Ops.MULACC, dtypes.uint8, (a, a, a), (dtypes.uint8,) * 3).tolist() == [8, 12]


def test_power() -> None:
    a, b = np.array([2, -2, -1, -1, 1, 0], np.int32), np.array([10, -1, -3, -4, -9, 0], np.int32)
    got = run_map(Ops.POW, dtypes.int32, (a, b), (dtypes.int32,) * 2)
    assert got.tolist() == [1024, 0, -1, 1, 1, 1]
    x, y = np.array([2.0, 9.0, -8.0, 0.0], np.float32), np.array([0.5, 0.5, 3.0, 0.0], np.float32)
    got = run_map(Ops.POW, dtypes.float32, (x, y), (dtypes.float32,) * 2)
    assert got.tolist() == [float(np.float32(math.sqrt(2))), 3.0, -512.0, 1.0]


def test_threefry_known_answers() -> None:
    """Random123 1.14, `kat_vectors`, threefry2x32 with 20 rounds."""
    vectors = [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
    ]

    def packed(column: int) -> np.ndarray:
        return np.array([row[column][0] | row[column][1] << 32 for row in vectors], np.uint64)

    got = run_map(Ops.THREEFRY, dtypes.uint64, (packed(0), packed(1)), (dtypes.uint64,) * 2)
    assert got.tolist() == packed(2).tolist()


def python_cast(value: Any, source: DType, target: DType) -> Any:
    if target is dtypes.bool:
        return bool(value)
    if target in dtypes.ints and dtypes.is_float(source):
        limit = 2**64 if target is dtypes.uint64 else 2**63
        fits = math.isfinite(value) and -(2**63) < int(value) < limit
        return truncate(int(value) if fits else -(2**63), target)
    return truncate(value, target)


@pytest.mark.parametrize("source", dtypes.all, ids=str)
def test_casts(source: DType) -> None:
    cells = edge_values(source)
    numbers = [x.item() for x in from_cells(cells, source)]
    for target in dtypes.all:
        got = run_map(Ops.CAST, target, (cells,), (source,), arg=target)
        want = np.array([python_cast(x, source, target) for x in numbers], got.dtype)
        np.testing.assert_array_equal(got, want, f"{source} -> {target}")


@pytest.mark.parametrize("dtype", [*COMMON_DTYPES, *NARROW], ids=str)
def test_bitcast_and_back(dtype: DType) -> None:
    as_int = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}[dtype.itemsize]
    cells = edge_values(dtype)
    bits = run_map(Ops.BITCAST, as_int, (cells,), (dtype,), arg=as_int)
    np.testing.assert_array_equal(bits, cells.view(element_type(as_int)))
    result = np.zeros_like(cells)
    run(map_program(Ops.BITCAST, dtype, (as_int,), len(cells), 0, dtype), result, bits)
    np.testing.assert_array_equal(from_cells(result, dtype), from_cells(cells, dtype))


def test_vector_bitcast_scales_lanes() -> None:
    data = np.arange(16, dtype=np.uint8)
    result = np.zeros(4, np.uint32)
    value = UOp.param(1, dtypes.uint8, (16,)).index(int32(0), 16).load()
    wide = UOp(Ops.BITCAST, (value,), dtypes.uint32)
    run(linear_of(UOp.param(0, dtypes.uint32, (4,)).index(int32(0), 4).store(wide)), result, data)
    np.testing.assert_array_equal(result, data.view(np.uint32))


@pytest.mark.parametrize("lanes", [0, 4])
def test_where(lanes: int) -> None:
    flags = np.array([1, 0, 0, 1], bool)
    a, b = np.arange(4, dtype=np.float32), -np.arange(4, dtype=np.float32)
    got = run_map(Ops.WHERE, dtypes.float32, (flags, a, b),
                  (dtypes.bool, dtypes.float32, dtypes.float32), lanes)  # fmt: skip
    assert got.tolist() == [0, -1, -2, 3]


def grid(name: str, size: int) -> UOp:
    return UOp.special(int32(size), name)


def test_grid_covers_every_item_in_blocks() -> None:
    """More work items than one block, on two axes."""
    rows, columns = 300, 700
    i = grid("gidx1", rows).alu(Ops.MUL, int32(columns)).alu(Ops.ADD, grid("gidx0", columns))
    out = UOp.param(0, dtypes.int32, (rows * columns,))
    result = np.full(rows * columns, -1, np.int32)
    run(linear_of(out.index(i).store(i)), result, size=(columns, rows, 1))
    np.testing.assert_array_equal(result, np.arange(rows * columns))


def matmul_program(m: int, k: int, n: int) -> UOp:
    row, column = grid("gidx1", m), grid("gidx0", n)
    acc = UOp.register(1, dtypes.float32, 0)
    cell = acc.index(int32(0))
    zero = cell.store(UOp.const(0.0, dtypes.float32))
    loop = UOp.range(int32(k), 0)
    a = UOp.param(1, dtypes.float32, (m * k,)).index(row.alu(Ops.MUL, int32(k)).alu(Ops.ADD, loop))
    b = UOp.param(2, dtypes.float32, (k * n,)).index(
        loop.alu(Ops.MUL, int32(n)).alu(Ops.ADD, column)
    )
    partial = a.load().alu(Ops.MUL, b.load())
    # LOADs of one place at two times are two nodes
    before, after = UOp(Ops.LOAD, (cell,), tag="in"), UOp(Ops.LOAD, (cell,), tag="out")
    step = cell.store(before.alu(Ops.ADD, partial))
    out = UOp.param(0, dtypes.float32, (m * n,))
    write = out.index(row.alu(Ops.MUL, int32(n)).alu(Ops.ADD, column)).store(after)
    return linear_of(zero, loop, step.end(loop), write)


def test_reduce_with_register() -> None:
    random = np.random.default_rng(1)
    a, b = random.standard_normal((5, 7)), random.standard_normal((7, 3))
    a, b = a.astype(np.float32), b.astype(np.float32)
    result = np.zeros((5, 3), np.float32)
    run(matmul_program(5, 7, 3), result.reshape(-1), a.reshape(-1), b.reshape(-1), size=(3, 5, 1))
    np.testing.assert_allclose(result, a @ b, rtol=1e-5)


def test_nested_and_empty_loops() -> None:
    """One END closes two loops; the size of the inner one is a variable that may be 0."""
    size = UOp.variable("n", 0, 5, dtypes.int32, 1)
    outer, inner = UOp.range(int32(3), 0), UOp.range(size, 1)
    cell = UOp.param(0, dtypes.int32, (1,)).index(int32(0))
    body = cell.store(cell.load().alu(Ops.ADD, int32(1)))
    program = compiled(linear_of(size, outer, inner, body.end(outer, inner)))
    for n in (0, 1, 4):
        result = np.zeros(1, np.int32)
        program([result.view(np.uint8)], (n,))
        assert result[0] == 3 * n


@pytest.mark.parametrize("lanes", [0, 4])
def test_gated_access_reads_and_writes_nothing_outside(lanes: int) -> None:
    i, width = grid("gidx0", 8), max(lanes, 1)
    index = i.alu(Ops.MUL, int32(width))
    gate = i.alu(Ops.CMPLT, int32(3))
    alt = UOp.const(-1.0, dtypes.float32)
    source = UOp.param(1, dtypes.float32, (3 * width,)).index(index, lanes or None)
    value = source.load(splat(alt, lanes) if lanes else alt, gate)
    out = UOp.param(0, dtypes.float32, (8 * width,)).index(index, lanes or None)
    again = UOp.param(2, dtypes.float32, (3 * width,)).index(index, lanes or None)
    result, copy = np.zeros(8 * width, np.float32), np.zeros(3 * width, np.float32)
    data = np.arange(3 * width, dtype=np.float32)
    run(linear_of(out.store(value), again.store(value, gate)), result, data, copy, size=(8, 1, 1))
    np.testing.assert_array_equal(result, [*data, *[-1.0] * (5 * width)])
    np.testing.assert_array_equal(copy, data)


def test_gate_per_lane() -> None:
    lane = UOp.stack_of(*[int32(i) for i in range(4)])
    gate = lane.alu(Ops.CMPLT, splat(int32(3), 4))
    alt = splat(UOp.const(9.0, dtypes.float32), 4)
    value = UOp.param(1, dtypes.float32, (3,)).index(int32(0), 4).load(alt, gate)
    result, copy = np.zeros(4, np.float32), np.zeros(3, np.float32)
    out = UOp.param(0, dtypes.float32, (4,)).index(int32(0), 4).store(value)
    again = UOp.param(2, dtypes.float32, (3,)).index(int32(0), 4).store(value, gate)
    run(linear_of(out, again), result, np.array([1, 2, 3], np.float32), copy)
    assert result.tolist() == [1, 2, 3, 9]
    assert copy.tolist() == [1, 2, 3]


@pytest.mark.parametrize(("index", "named"), [(4, "index 4"), (-1, "index -1")])
def test_out_of_bounds_is_an_error_that_names_op_and_index(index: int, named: str) -> None:
    value = UOp.param(1, dtypes.float32, (4,)).index(int32(index)).load()
    out = UOp.param(0, dtypes.float32, (4,)).index(int32(0)).store(value)
    data = np.zeros(4, np.float32)
    with pytest.raises(DeviceError, match=f"LOAD of argument 1 .*{named}"):
        run(linear_of(out), data, data)
    wrong = UOp.param(0, dtypes.float32, (4,)).index(int32(index))
    with pytest.raises(DeviceError, match=f"STORE of argument 0 .*{named}"):
        run(linear_of(wrong.store(UOp.const(1.0, dtypes.float32))), data)


def test_buffer_too_small_is_an_error() -> None:
    store = UOp.param(0, dtypes.float32, (4,)).index(int32(0)).store(UOp.const(1.0, dtypes.float32))
    with pytest.raises(DeviceError, match="expected at least 4 elements"):
        run(linear_of(store), np.zeros(3, np.float32))
    with pytest.raises(DeviceError, match="2 arguments, expected 1"):
        run(linear_of(store), np.zeros(4, np.float32), np.zeros(4, np.float32))


def test_local_memory_is_shared_by_a_group() -> None:
    """Each group reverses its four elements through local memory."""
    local = UOp(Ops.BUFFER, (), BufferArg(0, dtypes.int32, 4, None, AddrSpace.LOCAL))
    group, item = grid("gidx0", 3), grid("lidx0", 4)
    index = group.alu(Ops.MUL, int32(4)).alu(Ops.ADD, item)
    put = local.index(item).store(UOp.param(1, dtypes.int32, (12,)).index(index).load())
    back = local.index(int32(3).alu(Ops.SUB, item)).load()
    write = UOp.param(0, dtypes.int32, (12,)).index(index).store(back)
    first, rest = linear_of(put).src, linear_of(write).src
    program = UOp(Ops.LINEAR, (*dict.fromkeys((*first, UOp(Ops.BARRIER, (put,)), *rest)),))
    result, data = np.zeros(12, np.int32), np.arange(12, dtype=np.int32)
    compiled(program)([result.view(np.uint8), data.view(np.uint8)], (), (3, 1, 1), (4, 1, 1))
    np.testing.assert_array_equal(result.reshape(3, 4), data.reshape(3, 4)[:, ::-1])


def test_if_masks_stores() -> None:
    i = grid("gidx0", 6)
    condition = i.alu(Ops.CMPLT, int32(2))
    opened = UOp(Ops.IF, (condition,))
    store = UOp.param(0, dtypes.int32, (2,)).index(i).store(i)
    nodes = (*linear_of(condition).src, opened, *linear_of(store).src, UOp(Ops.ENDIF, (opened,)))
    result = np.full(2, 9, np.int32)
    run(UOp(Ops.LINEAR, tuple(dict.fromkeys(nodes))), result, size=(6, 1, 1))
    assert result.tolist() == [0, 1]


def test_lanes_of_vectors() -> None:
    vector = UOp.param(1, dtypes.float32, (4,)).index(int32(0), 4).load()
    reverse = UOp.stack_of(*[vector.index(int32(3 - i)) for i in range(4)])
    pair = vector.index(int32(1), 2)
    out = UOp.param(0, dtypes.float32, (6,))
    result = np.zeros(6, np.float32)
    run(linear_of(out.index(int32(0), 4).store(reverse), out.index(int32(4), 2).store(pair)),
        result, np.array([1, 2, 3, 4], np.float32))  # fmt: skip
    assert result.tolist() == [4, 3, 2, 1, 2, 3]


def test_gather_through_a_vector_of_indices() -> None:
    index = UOp.stack_of(*[int32(i) for i in (3, 0, 2, 0)])
    value = UOp.param(1, dtypes.float32, (4,)).index(index).load()
    out = UOp.param(0, dtypes.float32, (4,)).index(int32(0), 4)
    result = np.zeros(4, np.float32)
    run(linear_of(out.store(value)), result, np.array([1, 2, 3, 4], np.float32))
    assert result.tolist() == [4, 1, 3, 1]


def test_unrendered_values_are_errors() -> None:
    renderer = InterpreterRenderer("")
    out = UOp.param(0, dtypes.int32, (1,))
    weak = out.index(int32(0)).store(UOp.const(1))
    with pytest.raises(CompileError, match="has no width"):
        renderer.render("k", linear_of(weak))
    with pytest.raises(CompileError, match="no COPY"):
        renderer.render("k", UOp(Ops.LINEAR, (out.copy_to("CPU"),)))


def test_text_is_stable() -> None:
    renderer = InterpreterRenderer("")
    store = (
        UOp.param(0, dtypes.float32, (2,))
        .index(int32(1))
        .store(UOp.const(-math.inf, dtypes.float32))
    )
    assert renderer.render("k", linear_of(store)) == (
        '{"format": 1, "name": "k", "arguments": [0], "nodes": [\n'
        '["PARAM", "float32", 0, [], 2],\n'
        '["CONST", "int32", 0, [], 1],\n'
        '["INDEX", "float32", 0, [0, 1], null],\n'
        '["CONST", "float32", 0, [], -Infinity],\n'
        '["STORE", "void", 0, [2, 3], null]\n'
        "]}\n"
    )


def test_bfloat16_cells_round_trip() -> None:
    cells = to_cells([1.0, 1.00390625, -3.0], dtypes.bfloat16)
    got = run_map(Ops.ADD, dtypes.bfloat16, (cells, cells), (dtypes.bfloat16,) * 2)
    assert got.tolist() == [2.0, 2.0, -6.0]


def test_launches_of_all_shapes_follow_each_other() -> None:
    """What is kept of one launch is not taken for another of as many items."""
    for groups, local in (
        ((4, 3, 1), (2, 1, 1)),
        ((3, 4, 1), (2, 1, 1)),
        ((4, 3, 1), (1, 2, 1)),
    ) * 2:
        frame = interpreter._block([], 0, 12, groups, local)
        items = [(g, l) for g in range(12) for l in range(2)]
        wanted = {
            "gidx0": [g % groups[0] for g, _ in items],
            "gidx1": [g // groups[0] for g, _ in items],
            "lidx0": [l % local[0] for _, l in items],
            "lidx1": [l // local[0] for _, l in items],
        }
        assert {name: frame.coordinates[name].tolist() for name in wanted} == wanted
        assert frame.group.tolist() == [g for g, _ in items]
        assert interpreter._block([], 3, 2, groups, local).coordinates["gidx0"][0] == 3 % groups[0]
        with pytest.raises(ValueError, match="read-only"):
            frame.group[0] = 1
