"""Optimizers that scale the step of each parameter by its norm: LARS and LAMB."""

from __future__ import annotations

from collections.abc import Sequence

from tg_core.nn.optim.adam import AdamW
from tg_core.nn.optim.api import Optimizer
from tg_core.tensor import Tensor

__all__ = ["LAMB", "LARS"]


class LARS(Optimizer):
    """Momentum with a learning rate of its own for each parameter.

    With gradient g of parameter p, and momentum buffer b (zero at first)::

        trust = tcoef * |p| / (|g| + weight_decay * |p|)
        b = momentum * b + lr * trust * (g + weight_decay * p)
        p = p - b

    where trust is 1 when |p| or |g| is 0.

    Args:
        params: the tensors to optimize.
        lr: learning rate.
        momentum: share of the last update that is kept.
        weight_decay: weight of an L2 penalty.
        tcoef: how far a parameter may move, as a share of its norm.

    Raises:
        ConfigError: a number is out of range.

    Source: You, Gitman and Ginsburg, "Large batch training of convolutional networks" (2017),
    algorithm 1.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        momentum: float = 0.9,
        weight_decay: float = 1e-4,
        tcoef: float = 0.001,
    ) -> None:
        super().__init__(params, lr)
        self.require("momentum", momentum, 0.0 <= momentum < 1.0)
        self.require("weight_decay", weight_decay, weight_decay >= 0.0)
        self.require("tcoef", tcoef, tcoef > 0.0)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.tcoef = tcoef
        self.b: list[Tensor] = self.new_state()
        """Momentum buffer of each parameter."""

    def move(
        self, index: int, value: Tensor, gradient: Tensor, rate: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        size = norm(value)
        slope = norm(gradient) + size * self.weight_decay
        trust = ratio_or_one(size * self.tcoef, slope, norm(gradient))
        direction = gradient + value * self.weight_decay
        buffer = self.b[index]
        buffer.assign(buffer * self.momentum + direction * (trust * rate))
        return value - buffer, [buffer]


class LAMB(AdamW):
    """Adam whose step for each parameter is scaled to the parameter's norm.

    With the direction u of Adam, its weight decay included::

        p = p - lr * |p| / |u| * u

    where the ratio is 1 when |p| or |u| is 0.

    Args:
        params: the tensors to optimize.
        lr: learning rate.
        b1: decay of the first moment.
        b2: decay of the second moment.
        eps: added to the denominator.
        weight_decay: share of a parameter added to the direction.

    Raises:
        ConfigError: a number is out of range.

    Source: You et al., "Large batch optimization for deep learning: training BERT in 76 minutes"
    (2020), algorithm 2.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr, b1, b2, eps, weight_decay)

    def move(
        self, index: int, value: Tensor, gradient: Tensor, rate: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        direction = self.direction(index, value, gradient) + value * self.weight_decay
        trust = ratio_or_one(norm(value), norm(direction), norm(direction))
        return value - direction * (trust * rate), [self.m[index], self.v[index]]


def norm(value: Tensor) -> Tensor:
    """Return the Euclidean norm of all elements, shape `()`."""
    return value.square().sum().sqrt()


def ratio_or_one(size: Tensor, slope: Tensor, gauge: Tensor) -> Tensor:
    """Return `size / slope`, or 1 where `size` or `gauge` is 0."""
    known = (size > 0) & (gauge > 0)
    return known.where(size / known.where(slope, 1.0), 1.0)
