"""Muon: momentum whose steps are orthogonalized."""

from __future__ import annotations

from collections.abc import Sequence

from tg_core.errors import ConfigError
from tg_core.nn.optim.api import Optimizer
from tg_core.tensor import Tensor

__all__ = ["Muon"]

NEWTON_SCHULZ = (3.4445, -4.775, 2.0315)
"""Coefficients of the odd polynomial, chosen for a steep slope at zero."""


class Muon(Optimizer):
    """Move matrices along the orthogonal matrix that is nearest to their momentum.

    With gradient g of parameter p, and momentum buffer b (zero at first)::

        b = momentum * b + g
        u = orthogonal(g + momentum * b if nesterov else b)
        p = p - lr * weight_decay * p
        p = p - lr * sqrt(max(1, rows / columns)) * u

    Axes after the first are one for this, as in the weights of convolutions. Vectors have no
    orthogonal form: give biases, norms and embeddings to another optimizer, in an `OptimizerGroup`.

    Args:
        params: the tensors to optimize, of two axes or more.
        lr: learning rate.
        momentum: share of the last update that is kept.
        weight_decay: share of a parameter, times `lr`, taken off each step.
        ns_steps: how often the polynomial that orthogonalizes is applied.
        nesterov: whether to look ahead along the momentum.

    Raises:
        ConfigError: a parameter has fewer than two axes, or a number is out of range.

    Source: Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024).
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        ns_steps: int = 5,
        nesterov: bool = True,
    ) -> None:
        super().__init__(params, lr)
        self.require("momentum", momentum, 0.0 <= momentum < 1.0)
        self.require("weight_decay", weight_decay, weight_decay >= 0.0)
        self.require("ns_steps", ns_steps, ns_steps >= 1)
        for tensor in self.params:
            if tensor.ndim < 2:
                raise ConfigError(f"Muon: expected two axes or more, found shape {tensor.shape}")
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.ns_steps = ns_steps
        self.nesterov = nesterov
        self.b: list[Tensor] = self.new_state()
        """Momentum buffer of each parameter."""

    def move(
        self, index: int, value: Tensor, gradient: Tensor, rate: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        buffer = self.b[index]
        buffer.assign(buffer * self.momentum + gradient)
        direction = gradient + buffer * self.momentum if self.nesterov else buffer
        matrix = direction.flatten(1)
        rows, columns = matrix.shape
        assert isinstance(rows, int)
        assert isinstance(columns, int)
        scale = max(1.0, rows / columns) ** 0.5
        step = matrix.newton_schulz(self.ns_steps, NEWTON_SCHULZ).reshape(value.shape)
        if self.weight_decay:
            value = value - value * (rate * self.weight_decay)
        return value - step * (rate * scale), [buffer]
