"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Sequence

from tg_core.dtype import dtypes
from tg_core.nn.optim.api import Optimizer
from tg_core.tensor import Tensor

__all__ = ["Adam", "AdamW"]


class AdamW(Optimizer):
    """Adam with decoupled weight decay.

    With gradient g of parameter p at step t, and moments m and v (zero at first)::

        p = p - lr * weight_decay * p
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        p = p - lr * (m / (1 - b1**t)) / (sqrt(v / (1 - b2**t)) + eps)

    Args:
        params: the tensors to optimize.
        lr: learning rate.
        b1: decay of the first moment.
        b2: decay of the second moment.
        eps: added to the denominator.
        weight_decay: share of a parameter, times `lr`, taken off each step.

    Raises:
        ConfigError: a number is out of range.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", algorithm 1; Loshchilov and
    Hutter, "Decoupled weight decay regularization", algorithm 2.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(params, lr)
        self.require("b1", b1, 0.0 <= b1 < 1.0)
        self.require("b2", b2, 0.0 <= b2 < 1.0)
        self.require("eps", eps, eps >= 0.0)
        self.require("weight_decay", weight_decay, weight_decay >= 0.0)
        self.b1 = b1
        self.b2 = b2
        self.eps = eps
        self.weight_decay = weight_decay
        self.m: list[Tensor] = self.new_state()
        """First moment of each parameter."""
        self.v: list[Tensor] = self.new_state()
        """Second moment of each parameter."""
        # 1 - b**t is kept instead of b**t: its recurrence has only positive terms, so it does not
        # lose digits where b is close to 1.
        device = self.params[0].device
        self.bias1 = Tensor.zeros(1, dtype=dtypes.float32, device=device)
        """`1 - b1**t`, shape `(1,)`."""
        self.bias2 = Tensor.zeros(1, dtype=dtypes.float32, device=device)
        """`1 - b2**t`, shape `(1,)`."""

    def advance(self) -> list[Tensor]:
        self.bias1.assign(self.bias1 * self.b1 + (1.0 - self.b1))
        self.bias2.assign(self.bias2 * self.b2 + (1.0 - self.b2))
        return [self.bias1, self.bias2]

    def move(
        self, index: int, value: Tensor, gradient: Tensor, rate: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        direction = self.direction(index, value, gradient)
        if self.weight_decay:
            value = value - value * (rate * self.weight_decay)
        return value - direction * rate, [self.m[index], self.v[index]]

    def direction(self, index: int, value: Tensor, gradient: Tensor) -> Tensor:
        """Update the moments and return the corrected mean over the deviation."""
        first, second = self.m[index], self.v[index]
        first.assign(first * self.b1 + gradient * (1.0 - self.b1))
        second.assign(second * self.b2 + gradient * gradient * (1.0 - self.b2))
        mean = first / self.bias1.to(value.device).reshape(())
        deviation = (second / self.bias2.to(value.device).reshape(())).sqrt()
        return mean / (deviation + self.eps)


class Adam(AdamW):
    """Adam: `AdamW` without weight decay.

    Args:
        params: the tensors to optimize.
        lr: learning rate.
        b1: decay of the first moment.
        b2: decay of the second moment.
        eps: added to the denominator.

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, lr, b1, b2, eps, weight_decay=0.0)
