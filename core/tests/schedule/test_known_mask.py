"""Values under a condition that is known, against numpy with the condition replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tg_core import Tensor
from tg_core.dtype import dtypes
from tg_core.schedule.known_mask import MASKED_OPS, constant_of, where_known
from tg_core.uop.graph import toposort
from tg_core.uop.ops import Ops, UOp

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def under(value: Tensor, mask: Tensor, truth: bool) -> UOp:
    order = toposort((value.uop,), lambda node: node.op in MASKED_OPS)
    return where_known(order, mask.uop, truth)


@pytest.fixture
def parts() -> tuple[Tensor, Tensor]:
    x = Tensor(X).realize()
    return x, x < 1


@pytest.mark.parametrize(
    ("make", "hit", "missed"),
    [
        (lambda x, m: m.where(x, 0.0), X, 0.0),
        (lambda x, m: m.where(x, 1.0) * 3, X * 3, 3.0),
        (lambda x, m: m.cast(dtypes.int32), 1, 0),
        (lambda x, m: (m & (x > -1)).cast(dtypes.int32), (X > -1).astype(np.int32), 0),
        (lambda x, m: m | (x > -1), True, X > -1),
        (lambda x, m: m.logical_not().where(5.0, x), X, 5.0),
        (lambda x, m: m.where(x, 0.0).eq(0.0), X == 0, True),
        (lambda x, m: m.where(x, 0.0).transpose(0, 1).flip(0), X.T[::-1], 0.0),
        (lambda x, m: m.where(x.cast(dtypes.int32), 0) * x.cast(dtypes.int32), X * X, 0),
    ],
)
def test_both_sides(make: Any, hit: Any, missed: Any, parts: tuple[Tensor, Tensor]) -> None:
    x, mask = parts
    value = make(x, mask)
    for truth, wanted in ((True, hit), (False, missed)):
        found = under(value, mask, truth)
        if np.ndim(wanted):
            np.testing.assert_array_equal(Tensor._from_uop(found).numpy(), wanted)
        else:
            constant = constant_of(found)
            assert constant is not None and constant.const_value == wanted


def test_floats_times_nothing_are_not_nothing(parts: tuple[Tensor, Tensor]) -> None:
    x, mask = parts
    assert constant_of(under(mask.cast(dtypes.float32) * x, mask, False)) is None


def test_padding_keeps_zeros_alone(parts: tuple[Tensor, Tensor]) -> None:
    x, mask = parts
    for other, is_constant in ((0.0, True), (2.0, False)):
        found = under(mask.where(x, other).pad(((1, 0), (0, 0))), mask, False)
        assert (constant_of(found) is not None) == is_constant
    np.testing.assert_array_equal(Tensor._from_uop(found).numpy(), [[0] * 3, [2] * 3, [2] * 3])


def test_what_does_not_hold_the_condition_stays(parts: tuple[Tensor, Tensor]) -> None:
    x, mask = parts
    assert under(x * 2, mask, True) is (x * 2).uop
    assert constant_of(UOp.const(3)) is UOp.const(3)
    assert constant_of(x.uop) is None
    assert under(mask, mask, True).op is Ops.CONST
