"""Casts by name and sizes."""

import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, IndexingError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import Variable


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float", dtypes.float32),
        ("half", dtypes.float16),
        ("double", dtypes.float64),
        ("bfloat16", dtypes.bfloat16),
        ("int", dtypes.int32),
        ("short", dtypes.int16),
        ("long", dtypes.int64),
        ("bool", dtypes.bool),
    ],
)
def test_casts(name: str, dtype: object) -> None:
    assert getattr(Tensor([1.5]), name)().dtype is dtype


def test_sizes() -> None:
    x = Tensor([[1.0, 2.0, 3.0]])
    assert (x.numel(), x.nbytes(), x.element_size(), x.ndim) == (3, 12, 4, 2)
    assert x.size() == (1, 3) and x.size(-1) == 3
    part = x[:, : Variable("n", 1, 3).bind(2)]
    assert part.max_numel() == 3 and part.max_shape == (1, 3)
    with pytest.raises(IndexingError, match="size"):
        x.size(2)
    with pytest.raises(ShapeError, match="no width"):
        Tensor.const(1).nbytes()


def test_cast_errors() -> None:
    with pytest.raises(DTypeError, match="unknown"):
        Tensor([1]).cast("float99")
    with pytest.raises(DTypeError, match="void"):
        Tensor([1]).cast(dtypes.void)
