"""The unary ops of the IR, bit casts and markers."""

import numpy as np
import pytest
from tensor_eval import value

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import Ops, Variable


@pytest.mark.parametrize("name", ["exp2", "log2", "sin", "sqrt", "reciprocal"])
def test_integers_become_floats(name: str) -> None:
    assert getattr(Tensor([1, 2]), name)().dtype is dtypes.float32
    assert getattr(Variable("i", 1, 4), name)().dtype is dtypes.weakfloat


def test_bitcast() -> None:
    bits = np.array([[1.5, -2.0]], np.float32)
    x = Tensor(bits)
    assert value(x.bitcast(dtypes.int32)).tolist() == bits.view(np.int32).tolist()
    assert value(x.bitcast("uint8")).tolist() == bits.view(np.uint8).tolist()
    assert value(x.bitcast("uint8").bitcast("float32")).tolist() == bits.tolist()
    assert x.bitcast(dtypes.float32) is x
    with pytest.raises(ShapeError, match="no whole number"):
        Tensor([1, 2, 3], dtype=dtypes.uint8).bitcast(dtypes.int16)
    with pytest.raises(DTypeError, match="need a width"):
        Tensor.const(1).bitcast(dtypes.int8)


def test_markers() -> None:
    x = Tensor([1.0]) + 1
    assert x.detach().uop.op is Ops.DETACH
    assert x.contiguous_backward().uop.op is Ops.CONTIGUOUS_BACKWARD
    assert x.contiguous().uop.op is Ops.CONTIGUOUS


def test_threefry_takes_64_bit_words() -> None:
    with pytest.raises(DTypeError, match="must be uint64"):
        Tensor([1]).threefry(Tensor([1]))
