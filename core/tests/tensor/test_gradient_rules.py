"""Every op that a tensor graph may hold has a derivative or stops gradients on purpose."""

import numpy as np
import pytest
from graph_eval import evaluate
from tensor_eval import check_gradient

from tg_core.dtype import dtypes
from tg_core.errors import GradientError
from tg_core.tensor.gradient_rules import RULES, put_back, view_chain
from tg_core.uop.ops import GroupOp, Ops, UOp

INTEGER = {Ops.AND, Ops.OR, Ops.XOR, Ops.SHL, Ops.SHR, Ops.THREEFRY}


def test_every_float_op_has_a_rule() -> None:
    for op in GroupOp.ALU | GroupOp.Movement:
        assert op in RULES or op in INTEGER or op in GroupOp.Comparison, op


@pytest.mark.parametrize("op", [Ops.MULACC])
def test_fused_product(op: Ops) -> None:
    draw = np.random.default_rng(0).standard_normal
    check_gradient(lambda a, b, c: a.alu(op, b, c), draw(3), draw(3), draw(3))


def test_stacked_values() -> None:
    draw = np.random.default_rng(0).standard_normal
    check_gradient(lambda a, b: UOp(Ops.STACK, (a, b, a)), draw(3), draw(3))


def test_put_back_places_values_of_a_view() -> None:
    base = UOp.param(0, dtypes.float32, (12,)).reshape(3, 4)
    view = base.permute(1, 0).shrink(((1, 3), (0, 2))).flip(0)
    values = UOp.param(1, dtypes.float32, (4,)).reshape(2, 2)
    placed, mask = put_back(base, view, values)
    given = np.array([1, 2, 3, 4], np.float32)
    wanted = np.zeros((3, 4))
    wanted.T[1:3, 0:2][::-1] = given.reshape(2, 2)
    got = evaluate(placed, {UOp.param(1, dtypes.float32, (4,)): given})
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(evaluate(mask), wanted != 0)


def test_writes_to_other_nodes_are_refused() -> None:
    base = UOp.param(0, dtypes.float32, (4,))
    with pytest.raises(GradientError, match="goes to a ADD"):
        view_chain(base + 1, base)
