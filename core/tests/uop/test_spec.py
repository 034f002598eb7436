"""Legal nodes of each stage, and an `_invalid` twin for each rule."""

from __future__ import annotations

import pytest

from tg_core.dtype import dtypes
from tg_core.errors import SpecError
from tg_core.uop.ops import AxisType, Invalid, KernelInfo, Ops, ParamArg, UOp
from tg_core.uop.spec import (
    Spec,
    spec_program,
    spec_shared,
    spec_tensor,
    type_verify,
    verified_creation,
)
from tg_core.uop.spec_table import TABLE
from tg_core.uop.uop import creation_check

F, I = dtypes.float32, dtypes.int32
storage = UOp.param(0, F, (12,), "CPU")
other = UOp.param(1, F, (12,), "CPU")
r0, r1 = UOp.range(4, 0), UOp.range(3, 1, AxisType.REDUCE)
value = other.index(r0).load()
write = storage.store(other)
kernel = UOp.sink(storage.index(r0).store(value + value).end(r0), arg=KernelInfo("k"))


def cast_const(number: int) -> UOp:
    return UOp.const(number, I)


LEGAL: list[tuple[str, Spec, UOp]] = [
    ("elementwise", spec_tensor, storage + other * 2.0),
    ("movement", spec_tensor, storage.reshape(3, 4).permute(1, 0)),
    ("write through a view", spec_tensor, storage.shrink(((0, 4),)).store(other.shrink(((0, 4),)))),
    ("write through detach", spec_tensor, storage.detach().store(other)),
    ("write through a bitcast", spec_tensor, storage.bitcast(I).store(other.bitcast(I))),
    ("write after a write", spec_tensor, storage.after(write).store(other)),
    ("contiguous after other writes", spec_tensor, (other + 1).contiguous().after(write)),
    ("detached storage with pending writes", spec_tensor, storage.after(write).detach()),
    ("pending writes on detached storage", spec_tensor, storage.detach().after(write)),
    ("group of stores", spec_tensor, UOp(Ops.GROUP, (write, UOp(Ops.NOOP), UOp(Ops.GROUP)))),
    ("kernel", spec_shared, kernel),
    ("masked index", spec_shared, other.index(UOp(Ops.WHERE, (r0 < 3, r0, UOp.const(Invalid)))).load()),
    ("gated load", spec_shared, other.index(r0).load(UOp.const(0.0, F), r0 < 3)),
    ("reduce", spec_shared, value.reduce(Ops.ADD, r1)),
    ("weak index arithmetic", spec_shared, r0 * 4 + r1),
]  # fmt: skip

# with SPEC=2 the nodes below could not be made
_checks = creation_check[:]
creation_check.clear()
ILLEGAL: list[tuple[str, Spec, UOp, str]] = [
    ("write to a contiguous marker", spec_tensor, (storage + 1).contiguous().store(other), "no storage"),
    ("write to a view of one", spec_tensor, (storage + 1).contiguous().reshape(12).reshape(3, 4).store(other.reshape(3, 4)), "no storage"),
    ("write to a detach of one", spec_tensor, (storage + 1).contiguous().detach().store(other), "no storage"),
    ("write to a computed value", spec_tensor, (storage + 1).store(other), "no storage"),
    ("detached computed value with writes", spec_tensor, (other + 1).contiguous().after(write).detach(), "pending writes"),
    ("writes on a detached computed value", spec_tensor, (other + 1).contiguous().detach().after(write), "detached computed value"),
    ("writes on a computed value", spec_tensor, (other + 1).after(write), "a computed value"),
    ("group of values", spec_tensor, UOp(Ops.GROUP, (storage,)), "GROUP collects"),
    ("range in a tensor graph's program", spec_tensor, UOp(Ops.BARRIER), "not allowed"),
    ("two widths", spec_tensor, UOp(Ops.ADD, (storage, storage.cast(dtypes.float64))), "float32 and float64"),
    ("weak float with an integer", spec_tensor, UOp(Ops.ADD, (storage.cast(I), UOp.const(0.5))), "cannot adapt"),
    ("missing source", spec_tensor, UOp(Ops.MUL, (storage,)), "expected 2 sources"),
    ("shapes", spec_tensor, UOp(Ops.RESHAPE, (storage,), (5,)), "elements"),
    ("float condition", spec_tensor, UOp(Ops.WHERE, (storage, storage, storage)), "must be bool"),
    ("shift of floats", spec_tensor, UOp(Ops.SHL, (storage, storage)), "expected integers"),
    ("float and", spec_tensor, UOp(Ops.AND, (storage, storage)), "integers or bools"),
    ("axes", spec_tensor, UOp(Ops.REDUCE_AXIS, (storage,), (Ops.ADD, (0, 0))), "axes"),
    ("reducer", spec_tensor, UOp(Ops.REDUCE_AXIS, (storage,), (Ops.SUB, (0,))), "argument must be"),
    ("weak storage", spec_tensor, UOp.param(0, dtypes.weakint, (3,)), "weak dtype"),
    ("variable without bounds", spec_tensor, UOp(Ops.PARAM, (), ParamArg(0, I, (), None, "n")), "bounds"),
    ("constant", spec_tensor, UOp(Ops.CONST, (), "x"), "a constant is"),
    ("device", spec_tensor, UOp(Ops.COPY, (storage,), 3), "must be a device"),
    ("wmma", spec_shared, UOp(Ops.WMMA, (value, value, value), (1, 2, 3, 4)), "5-tuple"),
    ("one device", spec_tensor, UOp(Ops.MSELECT, (storage,), 0), "several devices"),
    ("call of a value", spec_tensor, UOp.call(storage), "the body must be"),
    ("tensor write in a kernel", spec_shared, write, "must be an INDEX"),
    ("load of a value", spec_shared, UOp(Ops.LOAD, (value,)), "reads an INDEX"),
    ("load from no storage", spec_shared, UOp(Ops.LOAD, (UOp(Ops.INDEX, (UOp(Ops.STACK, (value, value)), r0)),)), "into storage"),
    ("float position", spec_shared, UOp(Ops.INDEX, (storage, value)), "must be an integer"),
    ("integer gate", spec_shared, other.index(r0).load(UOp.const(0.0, F), r0), "gate must be bool"),
    ("alternative without gate", spec_shared, UOp(Ops.LOAD, (other.index(r0), UOp.const(0.0, F))), "needs a gate"),
    ("reduce over a value", spec_shared, UOp(Ops.REDUCE, (value, value), Ops.ADD), "over ranges"),
    ("end of a value", spec_shared, UOp(Ops.END, (value, r0)), "must be an effect"),
    ("end of a loop twice", spec_shared, UOp(Ops.END, (write, value)), "closes ranges"),
    ("axis type", spec_shared, UOp(Ops.RANGE, (UOp.const(3),), (0,)), "AxisType"),
    ("float range", spec_shared, UOp(Ops.RANGE, (UOp.const(3.0),), (0, AxisType.LOOP)), "must be an integer"),
    ("special name", spec_shared, UOp(Ops.SPECIAL, (UOp.const(3),), "gidx3"), "gidx0..2"),
    ("movement in a kernel", spec_shared, storage.reshape(3, 4), "not allowed"),
]  # fmt: skip


creation_check.extend(_checks)


@pytest.mark.parametrize(("spec", "node"), [c[1:] for c in LEGAL], ids=[c[0] for c in LEGAL])
def test_legal(spec: Spec, node: UOp) -> None:
    type_verify(node, spec, "test")


@pytest.mark.parametrize(
    ("spec", "node", "message"), [c[1:] for c in ILLEGAL], ids=[c[0] for c in ILLEGAL]
)
def test_illegal(spec: Spec, node: UOp, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        type_verify([node], spec, "some-pass")
    text = str(caught.value)
    assert text.startswith("some-pass: "), "the stage comes first"
    assert f"node: {node.op.name}" in text
    if node.src:
        assert f"source 0: {node.src[0].op.name}" in text


def linear_program() -> list[UOp]:
    size, zero = UOp.const(4, I), UOp.const(0.0, F)
    loop = UOp(Ops.RANGE, (size,), (0, AxisType.LOOP))
    place = storage.index(loop)
    store = place.store(zero)
    return [storage, size.src[0], size, zero.src[0], zero, loop, place, store, store.end(loop)]


def test_linear_program() -> None:
    type_verify(linear_program(), spec_program, "linearize")


LANES = UOp(Ops.STACK, (UOp.const(1.0, F), UOp.const(2.0, F)))
ILLEGAL_PROGRAMS = [
    ("weak range", [UOp.const(4), r0], "no width"),
    ("vector with scalar", [*LANES.toposort(), LANES + UOp.const(1.0, F)], "shapes"),
    ("after", [*storage.after(write).toposort()], "not allowed|must be an INDEX"),
    ("sink", [UOp.sink()], "not allowed"),
    ("use before definition", [linear_program()[2], linear_program()[1]], "comes later"),
    ("open loop", linear_program()[:-1], "no END"),
    ("closed twice", [*linear_program(), UOp(Ops.END, linear_program()[-1].src, None, 1)], "not open"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "message"), [c[1:] for c in ILLEGAL_PROGRAMS], ids=[c[0] for c in ILLEGAL_PROGRAMS]
)
def test_illegal_program(program: list[UOp], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        type_verify(program, spec_program, "linearize")


def test_every_operation_is_in_the_table() -> None:
    assert {op for row in TABLE for op in row.ops} == set(Ops)


def test_creation_is_verified_on_request() -> None:
    with verified_creation():
        assert (r0 + 5).op is Ops.ADD
        with pytest.raises(SpecError, match="over ranges"):
            UOp(Ops.REDUCE, (value, value * 3), Ops.ADD)


def test_verified_nodes_are_not_verified_again() -> None:
    node = storage + 1.25
    type_verify(node, spec_tensor)
    assert node.__dict__[spec_tensor.mark] is True
    assert spec_shared.mark not in node.__dict__
