"""What every optimizer shares: parameters, the learning rate, and the step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tg_core.dtype import DType, dtypes
from tg_core.errors import ConfigError, GradientError
from tg_core.nn import statistics
from tg_core.tensor import Tensor

__all__ = ["Optimizer"]


class Optimizer(ABC):
    """Moves parameters along their gradients.

    The statistics of layers and tensors that hold no floats are passed over, so the whole of
    `nn.state.get_parameters(model)` can be given. A parameter without a gradient is left as it is.
    Narrow floats are updated in float32 and rounded once.

    Args:
        params: the tensors to optimize. They are marked as parameters.
        lr: learning rate. It is kept in the tensor `lr`, shape `(1,)`; assign to it to change it.

    Raises:
        ConfigError: no tensor in `params` holds floats, or a number is out of its range.
    """

    def __init__(self, params: Sequence[Tensor], lr: float) -> None:
        self.params: list[Tensor] = []
        """The optimized tensors, each once."""
        seen: set[int] = set()
        for tensor in params:
            trained = dtypes.is_float(tensor.dtype) and not statistics.is_declared(tensor)
            if trained and id(tensor) not in seen:
                seen.add(id(tensor))
                self.params.append(tensor)
        if not self.params:
            raise ConfigError(f"{type(self).__name__}: found no float tensor to optimize")
        self.require("lr", lr, lr >= 0.0)
        for tensor in self.params:
            tensor.is_param_()
        self.lr = Tensor([lr], dtype=dtypes.float32, device=self.params[0].device)
        """The learning rate, shape `(1,)`."""

    def require(self, name: str, value: float, holds: bool) -> None:
        """Raise ConfigError, naming the setting and its value, unless it holds."""
        if not holds:
            raise ConfigError(f"{type(self).__name__}: {name}={value} is out of range")

    def new_state(self) -> list[Tensor]:
        """Return one tensor of zeros for each parameter, in the dtype that updates use."""
        return [tensor.zeros_like(dtype=state_dtype(tensor)) for tensor in self.params]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for tensor in self.params:
            tensor.grad = None

    def step(self) -> None:
        """Update the parameters, the optimizer's state, and the statistics of layers.

        Raises:
            GradientError: no parameter has a gradient.
        """
        changed = self.schedule_step()
        changed[0].realize(*changed[1:])

    def schedule_step(self) -> list[Tensor]:
        """Build the update of a step without running it.

        Returns:
            The tensors with pending writes; realizing them together is the step.

        Raises:
            GradientError: no parameter has a gradient.
        """
        graded = [
            (index, tensor, tensor.grad)
            for index, tensor in enumerate(self.params)
            if tensor.grad is not None
        ]
        if not graded:
            raise GradientError(
                f"{type(self).__name__}: none of the {len(self.params)} parameters has a gradient;"
                " call backward on a loss that depends on them"
            )
        changed = self.advance()
        for index, tensor, gradient in graded:
            dtype = state_dtype(tensor)
            value = tensor.detach().cast(dtype)
            rate = self.lr.to(tensor.device).reshape(())
            moved, states = self.move(index, value, gradient.detach().cast(dtype), rate)
            tensor.assign(moved.cast(tensor.dtype))
            changed += [*states, tensor]
        return changed + statistics.take_writes()

    def advance(self) -> list[Tensor]:
        """Update what all parameters share, once a step; return the tensors written."""
        return []

    @abstractmethod
    def move(
        self, index: int, value: Tensor, gradient: Tensor, rate: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        """Return a parameter's next value.

        Args:
            index: position of the parameter in `params`.
            value: its value, in the dtype of updates.
            gradient: its gradient, likewise.
            rate: the learning rate, shape `()`.

        Returns:
            The next value, and the state tensors that were written.
        """


def state_dtype(tensor: Tensor) -> DType:
    """Return the dtype a parameter is updated in: its own, or float32 when that is narrower."""
    return tensor.dtype if tensor.dtype.itemsize >= 4 else dtypes.float32
