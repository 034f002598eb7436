from __future__ import annotations

import pytest
from hcq_utils import storage

from tg_core.dtype import dtypes
from tg_core.hcq.parametrize import parametrize
from tg_core.uop.ops import Ops, UOp

BODY = UOp(Ops.COPY, (storage(1),), "CPU")


def nothing(node: UOp) -> str:
    raise AssertionError(node)


def slots(linear: UOp) -> list[list[int]]:
    return [[a.arg.slot for a in call.src[1:]] for call in linear.src]


def test_slots_are_numbered_by_first_use_across_linears() -> None:
    first = UOp(Ops.LINEAR, (UOp.call(BODY, storage(1), storage(0)),))
    second = UOp(Ops.LINEAR, (UOp.call(BODY, storage(0), storage(1)),))
    joined, values = parametrize([(first, "ab", nothing), (second, "cb", nothing)])
    assert values == ["b", "a", "c"]
    assert slots(joined) == [[0, 1], [2, 0]]


def test_equal_linears_on_other_storage_have_one_form() -> None:
    linear = UOp(Ops.LINEAR, (UOp.call(BODY, storage(4), storage(2)),))
    one, first = parametrize([(linear, "vwxyz", nothing)])
    two, second = parametrize([(linear, "VWXYZ", nothing)])
    assert one is two
    assert (first, second) == (["z", "x"], ["Z", "X"])


def test_declared_storage_becomes_a_parameter_of_its_size() -> None:
    buffer = UOp.buffer(64, dtypes.uint8, "CPU", -1)
    view = buffer._movement(Ops.SHRINK, ((16, 32),)).bitcast(dtypes.float32)
    linear = UOp(Ops.LINEAR, (UOp.call(BODY, view, storage(0)),))
    joined, values = parametrize([(linear, ["x"], lambda node: str(node.arg.slot))])
    assert values == ["-1", "x"]
    argument = joined.src[0].src[1]
    assert argument.op is Ops.BITCAST
    assert argument.src[0].src[0] is UOp.param(0, dtypes.uint8, (64,), "CPU")


def test_variables_keep_name_and_bounds() -> None:
    variable = UOp.variable("n", 1, 9, slot=1)
    linear = UOp(Ops.LINEAR, (UOp.call(BODY, variable, variable),))
    joined, values = parametrize([(linear, "xn", nothing)])
    assert values == ["n"]
    assert joined.src[0].src[1] is UOp.variable("n", 1, 9, slot=0)


def test_order_is_that_of_the_linear_so_pending_writes_go() -> None:
    written = storage(0).after(storage(0).store(storage(1)))
    linear = UOp(Ops.LINEAR, (UOp.call(BODY, storage(1), written),))
    joined, _ = parametrize([(linear, "ab", nothing)])
    assert [a.op for a in joined.src[0].src[1:]] == [Ops.PARAM, Ops.PARAM]


def test_bodies_are_left_alone() -> None:
    linear = UOp(Ops.LINEAR, (UOp.call(BODY, storage(7), storage(9)),))
    joined, _ = parametrize([(linear, range(10), nothing)])  # type: ignore[list-item]
    assert joined.src[0].src[0] is BODY


def test_unknown_slots_are_an_error() -> None:
    linear = UOp(Ops.LINEAR, (UOp.call(BODY, storage(7)),))
    with pytest.raises(IndexError):
        parametrize([(linear, "a", nothing)])
