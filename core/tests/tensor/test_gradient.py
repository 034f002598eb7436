"""The reverse pass: shared values, stops, depth, second derivatives, writes."""

import numpy as np
import pytest
from tensor_eval import value

from tg_core.dtype import dtypes
from tg_core.errors import GradientError, ShapeError
from tg_core.tensor import Tensor


def test_shared_values_add_up() -> None:
    x = Tensor([2.0, 3.0])
    y = x * x
    (grad,) = (y * y + y).sum().gradient(x)
    assert value(grad).tolist() == [4 * 8 + 4, 4 * 27 + 6]


def test_several_targets_one_below_the_other() -> None:
    x = Tensor([2.0])
    y = x * 3
    to_y, to_x = (y * y).sum().gradient(y, x)
    assert (value(to_y).item(), value(to_x).item()) == (12, 36)


def test_stops() -> None:
    x = Tensor([1.5, -2.5])
    (grad,) = (x.detach() * x).sum().gradient(x)
    assert value(grad).tolist() == [1.5, -2.5]
    (grad,) = x.floor().sum().gradient(x)
    assert value(grad).tolist() == [0, 0]


def test_dtype_and_shape_of_gradients() -> None:
    half = Tensor([1.0, 2.0], dtype=dtypes.float16)
    (grad,) = (half.float() * 3).sum().gradient(half)
    assert grad.dtype is dtypes.float16 and grad.shape == (2,)
    scale = Tensor(2.0)
    (grad,) = (Tensor([1.0, 2.0]) * scale).sum().gradient(scale)
    assert grad.shape == () and value(grad) == 3


def test_second_derivative() -> None:
    x = Tensor([0.5, 2.0])
    (first,) = (x * x * x).sum().gradient(x)
    (second,) = first.sum().gradient(x)
    np.testing.assert_allclose(value(second), [3, 12], rtol=1e-6)
    (first,) = x.sin().sum().gradient(x)
    (second,) = first.sum().gradient(x)
    np.testing.assert_allclose(value(second), -np.sin([0.5, 2.0]), rtol=1e-6)


def test_explicit_seed() -> None:
    x = Tensor([1.0, 2.0])
    (grad,) = (x * x).gradient(x, gradient=Tensor([1.0, 10.0]))
    assert value(grad).tolist() == [2, 40]


def test_deep_graphs() -> None:
    x = Tensor([0.0])
    y = x
    for _ in range(5000):
        y = y + 1.0
    (grad,) = y.sum().gradient(x)
    assert value(grad).item() == 1


def test_through_clone_and_writes() -> None:
    v, base = Tensor([1.0, 2.0, 3.0]), Tensor([5.0] * 5)
    target = base.clone()
    target[1:4].assign(v)
    weights = Tensor([1.0, 10.0, 100.0, 1000.0, 10000.0])
    to_v, to_base = (target * weights).sum().gradient(v, base)
    assert value(to_v).tolist() == [10, 100, 1000]
    assert value(to_base).tolist() == [1, 0, 0, 0, 10000]


def test_ties_of_a_maximum_share() -> None:
    x = Tensor([[1.0, 3.0, 3.0]])
    (grad,) = x.max(1).sum().gradient(x)
    assert value(grad).tolist() == [[0, 0.5, 0.5]]
    (grad,) = x.relu().sum().gradient(x)
    assert value(grad).tolist() == [[1, 1, 1]]
    (grad,) = (x - 1).relu().sum().gradient(x)
    assert value(grad).tolist() == [[0, 1, 1]]


def test_errors() -> None:
    x = Tensor([1.0, 2.0])
    with pytest.raises(GradientError, match=r"found shape \(2,\)"):
        x.gradient(x)
    with pytest.raises(GradientError, match="not a part of the graph"):
        x.sum().gradient(Tensor([1.0]))
    with pytest.raises(GradientError, match="dtype int32"):
        Tensor([1]).sum().gradient(x)
    with pytest.raises(GradientError, match="target 0 has dtype"):
        x.sum().gradient(Tensor([1]))
    with pytest.raises(ShapeError, match="gradient of shape"):
        x.gradient(x, gradient=Tensor([1.0]))


def test_deviation_of_equal_values_is_flat() -> None:
    x = Tensor([[2.0, 2.0], [1.0, 3.0]])
    (grad,) = x.std(1).sum().gradient(x)
    np.testing.assert_allclose(value(grad), [[0, 0], [-(0.5**0.5), 0.5**0.5]], rtol=1e-6)


def test_normalizing_zeros_is_flat() -> None:
    for p in (1.0, 2.0, 3.0):
        x = Tensor([[0.0, 0.0], [3.0, 4.0]])
        (grad,) = x.normalize(p).sum().gradient(x)
        assert np.isfinite(value(grad)).all()
