"""`backward`: what gets a gradient, and how it adds up."""

import pytest

from tg_core.errors import GradientError
from tg_core.tensor import Tensor


def test_parameters_get_gradients_that_add_up() -> None:
    weight = Tensor([1.0, 2.0], is_param=True)
    other = Tensor([5.0, 5.0])
    (weight * other).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [5, 5]
    assert other.grad is None
    (weight * weight).sum().backward()
    assert weight.grad.tolist() == [7, 9]
    weight.grad = None
    assert weight.is_param_(False).is_param is False


def test_unused_parameters_stay_without() -> None:
    used, unused = Tensor([1.0], is_param=True), Tensor([1.0], is_param=True)
    (used * 2).sum().backward()
    assert used.grad is not None and unused.grad is None


def test_flag_is_not_inherited_but_moves() -> None:
    weight = Tensor([1.0], is_param=True)
    assert not (weight + 1).is_param
    assert weight.clone().is_param
    (weight * 3).sum().backward()
    assert weight.clone().grad is not None


def test_training_loop_converges() -> None:
    weight = Tensor([0.0, 0.0], is_param=True).realize()
    points, wanted = Tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), Tensor([2.0, -1.0, 1.0])
    for _ in range(60):
        weight.grad = None
        loss = (points.dot(weight) - wanted).square().mean()
        loss.backward()
        weight.assign(weight - weight.grad * 0.5).realize()
    assert [round(v, 3) for v in weight.tolist()] == [2.0, -1.0]


def test_errors() -> None:
    with pytest.raises(GradientError, match="needs a scalar"):
        Tensor([1.0, 2.0], is_param=True).backward()
