"""Callify: canonical numbering, so that equal computations are one body."""

from __future__ import annotations

import pytest

from tg_core.callify import callify
from tg_core.config import Context
from tg_core.device import new_buffer_uop
from tg_core.dtype import dtypes
from tg_core.errors import SpecError
from tg_core.uop.ops import CallInfo, Ops, UOp, Variable


def storage(size: int = 4) -> UOp:
    return new_buffer_uop("NULL", size, dtypes.float32)


def fresh(size: int = 4) -> UOp:
    return UOp.buffer(size, dtypes.float32, "NULL")


def sink_of(x: UOp, y: UOp, n: int, temporary: UOp) -> UOp:
    value = (x + y * 2.0) * Variable("n", 0, 9).bind(n).cast(dtypes.float32)
    kept = temporary.after(temporary.store(value))
    return UOp.sink(x.after(x.store(kept + y)))


def test_equal_computations_on_other_storage_have_the_same_body() -> None:
    first = callify(sink_of(storage(), storage(), 3, fresh()))
    second = callify(sink_of(storage(), storage(), 8, fresh()))
    assert first.src[0] is second.src[0]
    assert first.src[0].key == second.src[0].key
    assert first.src[1:] != second.src[1:]
    assert callify(sink_of(storage(5), storage(5), 3, fresh(5))).src[0] is not first.src[0]


def test_the_same_storage_twice_is_another_computation() -> None:
    x, y = storage(), storage()
    both, same = callify(sink_of(x, y, 3, fresh())), callify(sink_of(x, x, 3, fresh()))
    assert both.src[0] is not same.src[0]
    assert len(same.src) == len(both.src) - 1


def test_parameters_are_numbered_by_visit() -> None:
    x, y = storage(), storage()
    call = callify(UOp.sink(x.after(x.store(y + x))))
    params = [n for n in call.src[0].toposort() if n.op is Ops.PARAM]
    assert [p.arg.slot for p in params] == list(range(len(params)))
    for param in params:
        argument = call.src[1 + param.arg.slot]
        assert (param.shape, param.dtype, param.device) == (
            argument.shape,
            argument.dtype,
            argument.device,
        )


def test_variables_become_scalar_parameters_with_their_bounds() -> None:
    bound = Variable("amount", 2, 7).bind(4)
    x = storage()
    call = callify(UOp.sink(x.after(x.store(x + bound.cast(dtypes.float32)))))
    (param,) = [n for n in call.src[0].toposort() if n.op is Ops.PARAM and n.arg.bounds is not None]
    assert param.arg.name == f"p{param.arg.slot}"
    assert param.arg.bounds == (2, 7)
    assert call.src[1 + param.arg.slot] is bound


def test_unbound_storage_is_numbered_apart_from_fresh_storage() -> None:
    x, first, second = storage(), fresh(), fresh()
    one = first.after(first.store(x + 1.0))
    two = second.after(second.store(one * 2.0))
    call = callify(UOp.sink(x.after(x.store(two))))
    slots = [n.arg.slot for n in call.src[0].toposort() if n.op is Ops.BUFFER]
    assert slots == [-1, -2]
    assert call.src[1:] == (x,)


def test_substituting_the_arguments_gives_the_graph_back() -> None:
    x, y = storage(), storage()
    sink = UOp.sink(
        x.after(x.store((x * y + Variable("n", 0, 9).bind(4).cast(dtypes.float32)).contiguous()))
    )
    call = callify(sink)
    params = {n: call.src[1 + n.arg.slot] for n in call.src[0].toposort() if n.op is Ops.PARAM}
    assert call.src[0].substitute(params) is sink


def test_twice_is_once() -> None:
    call = callify(sink_of(storage(), storage(), 3, fresh()))
    assert callify(call) is call


def test_bodies_of_nested_calls_keep_their_parameters() -> None:
    inner = UOp.param(0, dtypes.float32, (4,), "NULL")
    body = UOp.sink(inner.after(inner.store(inner + 1.0)))
    x = storage()
    nested = UOp.call(body, x, info=CallInfo("inner", precompile=True))
    call = callify(UOp.sink(x.after(nested)))
    (found,) = [n for n in call.src[0].toposort() if n.op is Ops.CALL]
    assert found.src[0] is body
    assert found.src[1].op is Ops.PARAM
    assert call.src[1:] == (x,)


def test_depth_is_not_bounded() -> None:
    x = storage()
    node = x
    for _ in range(50_000):
        node = UOp(Ops.ADD, (node, x))
    with Context(SPEC=0):
        call = callify(UOp.sink(x.after(x.store(node))))
    assert len(call.src[0].toposort()) == 50_004


def test_illegal_graphs_are_refused() -> None:
    x = storage()
    mixed = UOp(Ops.ADD, (x, UOp.const(1, dtypes.int8)))
    with Context(SPEC=1), pytest.raises(SpecError, match="callify: ADD violates spec_tensor"):
        callify(UOp.sink(x.after(x.store(mixed.cast(dtypes.float32)))))
