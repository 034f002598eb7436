"""Loops in batches give the bits that loops one by one give."""

from __future__ import annotations

import numpy as np
import pytest
from linear_programs import int32, linear_of, to_cells

import tg_core.device.interpreter as interpreter
import tg_core.device.interpreter_loops as loops
from tg_core.device.interpreter import InterpreterProgram
from tg_core.dtype import DType, dtypes
from tg_core.renderer.interpreter import InterpreterRenderer
from tg_core.uop.ops import Ops, UOp

ITEMS, OUTER, INNER = 5, 7, 11


def reduce_program(op: Ops, dtype: DType, size: UOp) -> UOp:
    """For each work item: a reduction over two nested loops, and a count of the iterations."""
    item, outer, inner = (
        UOp.special(int32(ITEMS), "gidx0"),
        UOp.range(int32(OUTER), 0),
        UOp.range(size, 1),
    )
    acc = UOp.register(2, dtype, 0)
    cell, count = acc.index(int32(0)), acc.index(int32(1))
    one = UOp.const(1, dtype)
    row = item.alu(Ops.MUL, int32(OUTER)).alu(Ops.ADD, outer).alu(Ops.MUL, int32(INNER))
    value = UOp.param(1, dtype, (ITEMS * OUTER * INNER,)).index(row.alu(Ops.ADD, inner)).load()
    step = cell.store(UOp(Ops.LOAD, (cell,), tag="in").alu(op, value))
    tally = count.store(UOp(Ops.LOAD, (count,), tag="in").alu(Ops.ADD, one))
    out = UOp.param(0, dtype, (2 * ITEMS,))
    at = item.alu(Ops.MUL, int32(2))
    return linear_of(
        cell.store(one),
        count.store(UOp.const(0, dtype)),
        item,
        size,
        outer,
        inner,
        step,
        tally.end(inner).end(outer),
        out.index(at).store(UOp(Ops.LOAD, (cell,), tag="out")),
        out.index(at.alu(Ops.ADD, int32(1))).store(UOp(Ops.LOAD, (count,), tag="out")),
    )


def run(linear: UOp, data: np.ndarray, values: tuple[int, ...]) -> np.ndarray:
    renderer = InterpreterRenderer("")
    program = InterpreterProgram("k", renderer.compile(renderer.render("k", linear)))
    result = np.zeros(2 * ITEMS, data.dtype)
    program([result.view(np.uint8), data.view(np.uint8)], values, (ITEMS, 1, 1))
    return result


@pytest.mark.parametrize(
    "dtype", [dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.int8], ids=str
)
@pytest.mark.parametrize("op", [Ops.ADD, Ops.MUL, Ops.MAX], ids=str)
@pytest.mark.parametrize("batch", [1 << 15, 3 * ITEMS])
def test_batches_give_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, op: Ops, dtype: DType, batch: int
) -> None:
    random = np.random.default_rng(7)
    data = to_cells(random.uniform(-1.5, 1.5, ITEMS * OUTER * INNER), dtype)
    linear = reduce_program(op, dtype, UOp.variable("n", 0, INNER, dtypes.int32, 2))
    planned: list[object] = []
    real = loops.run_planned

    def spy(*args: object) -> None:
        planned.append(args)
        real(*args)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(interpreter, "run_planned", spy)
    for n in (0, 1, INNER):
        monkeypatch.setattr(interpreter, "BATCH", batch)
        monkeypatch.setattr(loops, "BATCH", batch)
        planned.clear()
        got = run(linear, data, (n,))
        assert bool(planned) == (n > 0)
        monkeypatch.setattr(interpreter, "BATCH", 0)
        np.testing.assert_array_equal(got, run(linear, data, (n,)))
        assert to_cells(n * OUTER, dtype) == got[1]


def _plans(linear: UOp) -> int:
    renderer = InterpreterRenderer("")
    program = InterpreterProgram("k", renderer.compile(renderer.render("k", linear)))
    nodes = program._nodes
    found = 0
    for node in nodes:
        if node.op == "RANGE":
            end = program._end_of(node.number)
            found += loops.plan_loop(nodes, node.number, end) is not None
    return found


def test_what_has_other_effects_runs_one_by_one() -> None:
    loop = UOp.range(int32(4), 0)
    out = UOp.param(0, dtypes.int32, (8,))
    assert _plans(linear_of(loop, out.index(loop).store(loop).end(loop))) == 0
    # the second accumulation reads the first one's state
    acc = UOp.register(2, dtypes.int32, 0)
    first, second = acc.index(int32(0)), acc.index(int32(1))
    one = first.store(UOp(Ops.LOAD, (first,), tag="a").alu(Ops.ADD, loop))
    state = UOp(Ops.LOAD, (second,), tag="a")
    two = second.store(state.alu(Ops.ADD, UOp(Ops.LOAD, (first,), tag="b")))
    assert _plans(linear_of(acc, loop, one, two.end(loop))) == 0
    # a value of the last iteration is used after the loop
    value = loop.alu(Ops.MUL, int32(3))
    add = first.store(UOp(Ops.LOAD, (first,), tag="a").alu(Ops.ADD, value))
    assert _plans(linear_of(acc, loop, add.end(loop))) == 1
    assert _plans(linear_of(acc, loop, add.end(loop), out.index(int32(0)).store(value))) == 0


def test_a_place_from_before_the_loop_is_read_where_the_loop_says() -> None:
    item, inner = UOp.special(int32(ITEMS), "gidx0"), UOp.range(int32(INNER), 0)
    cell = UOp.register(2, dtypes.int32, 0).index(int32(0))
    place = UOp.param(1, dtypes.int32, (ITEMS,)).index(item)
    wanted = inner.alu(Ops.CMPLT, item)
    value = UOp(Ops.LOAD, (place, int32(0), wanted))
    linear = linear_of(
        cell.store(int32(0)),
        item,
        place,
        inner,
        cell.store(UOp(Ops.LOAD, (cell,), tag="in").alu(Ops.ADD, value)).end(inner),
        UOp.param(0, dtypes.int32, (ITEMS,)).index(item).store(UOp(Ops.LOAD, (cell,), tag="out")),
    )
    data = np.arange(10, 10 + ITEMS, dtype=np.int32)
    got = run(linear, data, ())[:ITEMS]
    assert got.tolist() == [n * (10 + n) for n in range(ITEMS)]
