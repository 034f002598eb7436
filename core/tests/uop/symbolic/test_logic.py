"""Conjunctions and disjunctions of conditions."""

from __future__ import annotations

import pytest

from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.symbolic import simplify


@pytest.mark.parametrize("op", [Ops.AND, Ops.OR])
@pytest.mark.parametrize("value", [True, False])
def test_a_constant_next_to_a_vector_comes_to_rest(op: Ops, value: bool) -> None:
    """A constant has no lanes, so it may have to stay; it must not change sides for ever."""
    bits = UOp.param(0, dtypes.int32, (8,)).index(UOp.const(0, dtypes.int32), 8).load()
    condition = bits.alu(Ops.CMPLT, UOp.const(0, dtypes.int32))
    constant = UOp.const(value)
    for node in (UOp(op, (condition, constant)), UOp(op, (constant, condition))):
        assert simplify(node).shape == (8,)
