"""The dropout layer."""

from __future__ import annotations

from tg_core.errors import ConfigError
from tg_core.tensor import Tensor

__all__ = ["Dropout"]


class Dropout:
    """Zero elements at random and scale the rest, while `Tensor.training` is set.

    Args:
        p: probability that an element is zeroed.

    Raises:
        ConfigError: `p` is not a probability.
    """

    def __init__(self, p: float = 0.5) -> None:
        if not 0.0 <= p <= 1.0:
            raise ConfigError(f"Dropout: expected a probability, found p={p}")
        self.p = p

    def __call__(self, x: Tensor) -> Tensor:
        """Return `x` with elements dropped in training, and `x` itself otherwise."""
        return x.dropout(self.p)
