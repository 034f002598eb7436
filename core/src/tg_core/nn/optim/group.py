"""Parameter groups: several optimizers that step as one."""

from __future__ import annotations

from tg_core.errors import ConfigError, GradientError
from tg_core.nn.optim.api import Optimizer
from tg_core.tensor import Tensor

__all__ = ["OptimizerGroup"]


class OptimizerGroup:
    """Several optimizers, each with its own parameters and settings, that step together.

    Args:
        optimizers: at least one; no parameter may be in two of them.

    Raises:
        ConfigError: there is no optimizer, or two share a parameter.
    """

    def __init__(self, *optimizers: Optimizer) -> None:
        if not optimizers:
            raise ConfigError("OptimizerGroup: expected at least one optimizer")
        self.optimizers = optimizers
        self.params: list[Tensor] = [
            tensor for optimizer in optimizers for tensor in optimizer.params
        ]
        """The optimized tensors of all."""
        if len({id(tensor) for tensor in self.params}) < len(self.params):
            raise ConfigError("OptimizerGroup: a parameter is in two optimizers")

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()

    def step(self) -> None:
        """Update all parameters at once.

        Raises:
            GradientError: no parameter has a gradient.
        """
        changed = self.schedule_step()
        changed[0].realize(*changed[1:])

    def schedule_step(self) -> list[Tensor]:
        """Build the update of a step without running it.

        An optimizer none of whose parameters has a gradient is left out, its state included.

        Returns:
            The tensors with pending writes; realizing them together is the step.

        Raises:
            GradientError: no parameter has a gradient.
        """
        active = [
            optimizer
            for optimizer in self.optimizers
            if any(tensor.grad is not None for tensor in optimizer.params)
        ]
        if not active:
            raise GradientError(
                f"OptimizerGroup: none of the {len(self.params)} parameters has a gradient;"
                " call backward on a loss that depends on them"
            )
        return [tensor for optimizer in active for tensor in optimizer.schedule_step()]
