"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence

from tg_core.errors import ConfigError
from tg_core.nn.optim.api import Optimizer
from tg_core.tensor import Tensor

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent with optional momentum.

    With gradient g of parameter p, and momentum buffer b (zero at first)::

        g = g + weight_decay * p
        b = momentum * b + g
        p = p - lr * (g + momentum * b if nesterov else b)

    Args:
        params: the tensors to optimize.
        lr: learning rate.
        momentum: share of the last update that is kept.
        weight_decay: weight of an L2 penalty.
        nesterov: whether to look ahead along the momentum.

    Raises:
        ConfigError: a number is out of range, or nesterov is asked for without momentum.

    Source: Sutskever et al., "On the importance of initialization and momentum in deep learning"
    (2013), in the form PyTorch's `SGD` documents.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(params, lr)
        self.require("momentum", momentum, 0.0 <= momentum < 1.0)
        self.require("weight_decay", weight_decay, weight_decay >= 0.0)
        if nesterov and momentum == 0.0:
            raise ConfigError("SGD: nesterov needs a momentum above 0")
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.b: list[Tensor] = self.new_state() if momentum else []
        """Momentum buffer of each parameter; empty without momentum."""

    def move(
        self, index: int, value: Tensor, gradient: Tensor, rate: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        if self.weight_decay:
            gradient = gradient + value * self.weight_decay
        if not self.momentum:
            return value - gradient * rate, []
        buffer = self.b[index]
        buffer.assign(buffer * self.momentum + gradient)
        direction = gradient + buffer * self.momentum if self.nesterov else buffer
        return value - direction * rate, [buffer]
