"""How layers draw their first weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tg_core.tensor import Tensor

__all__ = ["parameter", "uniform_by_fan_in"]


def parameter(value: Tensor) -> Tensor:
    """Mark a tensor as one that gradients are accumulated for, and return it."""
    value.is_param_()
    return value


def uniform_by_fan_in(shape: Sequence[int], fan_in: int) -> Tensor:
    """Draw a parameter from the uniform distribution on `[-1/sqrt(fan_in), 1/sqrt(fan_in))`.

    Args:
        shape: shape of the parameter.
        fan_in: number of inputs that one output sums over; 0 gives zeros.

    Returns:
        A tensor of the default float dtype, marked as a parameter.

    Source: the default of PyTorch's `Linear` and `Conv2d`, `kaiming_uniform_(a=sqrt(5))`.
    """
    bound = 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    return parameter(Tensor.uniform(*shape, low=-bound, high=bound))
