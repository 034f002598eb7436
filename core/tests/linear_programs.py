"""Linear programs built by hand, and the data that goes through them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tg_core.dtype import DType, dtypes, to_numpy
from tg_core.support.floats import NARROW_FLOATS, decode, encode, round_narrow
from tg_core.uop.ops import GroupOp, Ops, UOp

COMMON_DTYPES = (dtypes.bool, *dtypes.ints, dtypes.float16, dtypes.float32, dtypes.float64)
NARROW = (*dtypes.fp8s, dtypes.bfloat16)

FLOAT_UNARY = (Ops.SQRT, Ops.RECIPROCAL, Ops.TRUNC)
TRANSCENDENTAL = (Ops.EXP2, Ops.LOG2, Ops.SIN)
FLOAT_BINARY = (Ops.ADD, Ops.SUB, Ops.MUL, Ops.FDIV, Ops.MAX)
INT_BINARY = (
    Ops.ADD,
    Ops.SUB,
    Ops.MUL,
    Ops.MAX,
    Ops.AND,
    Ops.OR,
    Ops.XOR,
    Ops.CDIV,
    Ops.CMOD,
    Ops.FLOORDIV,
    Ops.FLOORMOD,
    Ops.SHL,
    Ops.SHR,
)
BOOL_BINARY = (Ops.ADD, Ops.SUB, Ops.MUL, Ops.MAX, Ops.AND, Ops.OR, Ops.XOR)
COMPARISONS = tuple(sorted(GroupOp.Comparison))


def binary_ops(dtype: DType) -> tuple[Ops, ...]:
    """Return the binary ops that are defined for a dtype, comparisons included."""
    if dtype is dtypes.bool:
        return (*BOOL_BINARY, *COMPARISONS)
    own = FLOAT_BINARY if dtypes.is_float(dtype) else INT_BINARY
    return (*own, *COMPARISONS)


def element_type(dtype: DType) -> np.dtype[Any]:
    """Return the numpy dtype of memory."""
    found = to_numpy(dtype)
    if found is not None:
        return np.dtype(found)
    return np.dtype(np.uint16 if dtype.bits == 16 else np.uint8)


def to_cells(values: Any, dtype: DType) -> np.ndarray:
    """Return values as memory holds them."""
    if dtype.name in NARROW_FLOATS:
        return encode(np.asarray(values, np.float64), dtype.name)
    return np.asarray(values).astype(element_type(dtype))


def from_cells(cells: np.ndarray, dtype: DType) -> np.ndarray:
    """Return what memory holds as numbers."""
    return decode(cells, dtype.name) if dtype.name in NARROW_FLOATS else cells


def edge_values(dtype: DType, count: int = 64) -> np.ndarray:
    """Return values of a dtype that matter, padded with random ones: as memory holds them."""
    random = np.random.default_rng(dtype.bits + len(dtype.name))
    if dtype is dtypes.bool:
        return random.integers(0, 2, count).astype(bool)
    if dtypes.is_float(dtype):
        special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 1e-7, 3.0, -1e-30]
        special += [65504.0, 1e30, -1e300, 254.75, -0.5, 2.0**31, -(2.0**31), 2.0**63, 1e19, 2**40]
        rest = random.standard_normal(count - len(special)) * 10.0 ** random.integers(
            -3, 4, count - len(special)
        )
        with np.errstate(over="ignore"):
            values = np.concatenate([special, rest])
            return to_cells(values, dtype)
    low, high = int(dtypes.min(dtype)), int(dtypes.max(dtype))
    special_ints = [0, 1, 2, 3, 7, dtype.bits - 1, dtype.bits, high, high - 1, low, low + 1]
    if low < 0:
        special_ints += [-1, -2, -7]
    kind = element_type(dtype)
    drawn = random.integers(low, high, count - len(special_ints), endpoint=True, dtype=kind)
    return np.array([*special_ints, *(int(x) for x in drawn)], kind)


def pairs(dtype: DType, second: DType | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return every pair of edge values of two dtypes: as memory holds them."""
    a, b = edge_values(dtype, 32), edge_values(second or dtype, 32)
    return np.repeat(a, len(b)), np.tile(b, len(a))


def int32(value: int) -> UOp:
    """Return an index constant."""
    return UOp.const(value, dtypes.int32)


def splat(value: UOp, lanes: int) -> UOp:
    """Return a value in every lane."""
    return UOp.stack_of(*[value] * lanes)


def linear_of(*statements: UOp) -> UOp:
    """Return the LINEAR of everything the statements need, in an order that computes it.

    A RANGE among the statements opens its loop there: what follows and was not needed before is
    inside of it until its END.
    """
    order: dict[UOp, None] = {}
    for statement in statements:
        for node in statement.toposort():
            if node.op is not Ops.CONST or node.dtype is dtypes.bool:
                order[node] = None
    return UOp(Ops.LINEAR, tuple(order))


def map_program(
    op: Ops,
    out: DType,
    sources: tuple[DType, ...],
    count: int,
    lanes: int,
    arg: Any = None,
    grid: bool = False,
) -> UOp:
    """Return `out[i] = op(a[i], b[i], ...)`; argument 0 is the result.

    Args:
        op: an elementwise op.
        out: its dtype.
        sources: dtypes of the operands.
        count: number of elements.
        lanes: elements per iteration, 0 for one element as a scalar.
        arg: argument of the op.
        grid: iterations are work items, else a loop.
    """
    return map_programs([(op, out, arg)], sources, count, lanes, grid)


def map_programs(
    ops: list[tuple[Ops, DType, Any]],
    sources: tuple[DType, ...],
    count: int,
    lanes: int,
    grid: bool = False,
) -> UOp:
    """Return several ops on the same operands as one program.

    Args:
        ops: op, dtype of the result, argument of the op; results are the first arguments.
        sources: dtypes of the operands, which are the arguments after them.
        count: number of elements.
        lanes: elements per iteration, 0 for one element as a scalar.
        grid: iterations are work items, else a loop.
    """
    width = max(lanes, 1)
    assert count % width == 0
    steps = int32(count // width)
    loop = UOp.special(steps, "gidx0") if grid else UOp.range(steps, 0)
    index = loop if not lanes else loop.alu(Ops.MUL, int32(lanes))
    operands = tuple(
        UOp.param(slot, dtype, (count,)).index(index, lanes or None).load()
        for slot, dtype in enumerate(sources, len(ops))
    )
    stores = []
    for slot, (op, out, arg) in enumerate(ops):
        value = UOp(op, operands, arg)
        assert value.dtype is out
        stores.append(UOp.param(slot, out, (count,)).index(index, lanes or None).store(value))
    if grid:
        return linear_of(*stores)
    return linear_of(loop, *stores[:-1], stores[-1].end(loop))


def result_dtype(op: Ops, dtype: DType) -> DType:
    """Return the dtype of a binary op on two operands of one dtype."""
    return dtypes.bool if op in GroupOp.Comparison else dtype


def rounded(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Return numbers rounded to a float dtype."""
    if dtype.name in NARROW_FLOATS:
        return round_narrow(values, dtype.name)
    return values.astype(element_type(dtype))
