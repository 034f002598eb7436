"""Storage operations as methods: assignment through strided views, moves, what is not there."""

import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor
from tg_core.tensor.storage_methods import strided_base
from tg_core.uop.ops import Ops, Variable


def test_replace_takes_over_a_graph_of_the_same_shape() -> None:
    x = Tensor([1, 2])
    assert x.replace(Tensor([3, 4])).tolist() == [3, 4]
    with pytest.raises(ShapeError, match="cannot become"):
        x.replace(Tensor([1]))


def test_strided_views_write_into_their_storage() -> None:
    base = Tensor([0.0] * 5).realize()
    alias = base.reshape(5, 1)
    base[::2].assign(Tensor([1.0, 2.0, 3.0]))
    assert base.tolist() == [1, 0, 2, 0, 3]
    assert alias.tolist() == [[1], [0], [2], [0], [3]]
    base[1::2].assign(7.0)
    assert base.tolist() == [1, 7, 2, 7, 3]


def test_strided_base() -> None:
    base = Tensor([0.0] * 5).realize()
    assert strided_base(base[::2].uop) is base.uop
    assert strided_base(base[1::2].uop) is None
    assert strided_base(base.pad((1, 1)).uop) is None
    assert strided_base((base + 1)[::2].uop) is None


def test_assignment_of_scalars_and_lists() -> None:
    x = Tensor([[1, 2], [3, 4]], dtype=dtypes.int16).realize()
    assert x.assign(5).tolist() == [[5, 5], [5, 5]]
    assert x.assign([7, 8]).tolist() == [[7, 8], [7, 8]] and x.dtype is dtypes.int16
    with pytest.raises(DTypeError, match="int16"):
        x.assign(Tensor([1.0, 2.0]))
    with pytest.raises(ShapeError):
        x.assign([1, 2, 3])


def test_moves_keep_flag_and_gradient() -> None:
    x = Tensor([1.0], is_param=True)
    (x * x).sum().backward()
    moved = x.to("PYTHON")
    assert moved.device == "PYTHON" and moved.is_param
    assert moved.grad is not None and moved.grad.device == "PYTHON"
    assert x.to(x.device) is x
    assert x.to_("PYTHON").device == "PYTHON" and x.tolist() == [1.0]


def test_what_would_run_is_shown() -> None:
    linear, values = (Tensor([1, 2]) + Variable("v", 1, 9).bind(4)).linear_with_vars()
    assert linear.op is Ops.LINEAR and list(values.values()) == [4]


def test_a_write_through_a_view_of_a_view_reaches_what_is_not_realized() -> None:
    whole = Tensor([1.0, 2.0, 3.0, 4.0]) + 1
    part = whole[1:]
    part[1:2].assign(9.0)
    assert whole.tolist() == [2.0, 3.0, 9.0, 5.0]
    assert part.tolist() == [3.0, 9.0, 5.0]
