"""One surface: what a tensor does, a node does too."""

import numpy as np
import pytest
from graph_eval import evaluate
from tensor_eval import value

from tg_core.dtype import dtypes
from tg_core.tensor import Tensor
from tg_core.uop.mixin import OpMixin
from tg_core.uop.ops import UOp

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
CALLS = {
    "softmax": {},
    "layernorm": {},
    "cumsum": {"axis": 1},
    "sort": {},
    "gelu": {},
    "max_pool2d": {"kernel_size": (2, 2)},
    "pad": {"padding": (1, 1)},
    "std": {"axis": 0},
}


@pytest.mark.parametrize("name", CALLS)
def test_nodes_and_tensors_agree(name: str) -> None:
    param = UOp.param(0, dtypes.float32, (X.size,))
    ours = getattr(param.reshape(X.shape), name)(**CALLS[name])
    theirs = getattr(Tensor(X), name)(**CALLS[name])
    for node, tensor in zip(_tuple(ours), _tuple(theirs), strict=True):
        np.testing.assert_array_equal(evaluate(node, {param: X.reshape(-1)}), value(tensor))


def _tuple(result: object) -> tuple[object, ...]:
    return result if isinstance(result, tuple) else (result,)


def test_both_carry_it_without_instance_dictionaries() -> None:
    assert issubclass(Tensor, OpMixin) and issubclass(UOp, OpMixin)
    assert not hasattr(Tensor([1]), "__dict__")
    for cls in OpMixin.__mro__[:-1]:
        assert cls.__dict__.get("__slots__") == (), cls
