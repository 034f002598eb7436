"""Learning-rate schedules.

A schedule multiplies the learning rates that its optimizer had at first by a factor of the step.
`step()` writes the next rate into the tensor `optimizer.lr`, so a captured training step sees it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from tg_core.errors import ConfigError
from tg_core.nn.optim.api import Optimizer
from tg_core.nn.optim.group import OptimizerGroup

__all__ = [
    "CosineAnnealingLR",
    "ExponentialLR",
    "LinearWarmupLR",
    "MultiStepLR",
    "OneCycleLR",
    "Schedule",
]


class Schedule(ABC):
    """A learning rate that changes from step to step.

    Args:
        optimizer: the optimizer, or a group of them; each keeps its share.
    """

    def __init__(self, optimizer: Optimizer | OptimizerGroup) -> None:
        self.optimizers: tuple[Optimizer, ...] = (
            optimizer.optimizers if isinstance(optimizer, OptimizerGroup) else (optimizer,)
        )
        self.base: list[float] = [float(each.lr.item()) for each in self.optimizers]
        """The learning rates that factor 1 stands for."""
        self.steps = 0
        """How many steps were taken."""

    @abstractmethod
    def factor(self, step: int) -> float:
        """Return what the learning rates are multiplied by after a number of steps."""

    def step(self) -> None:
        """Go on by one step."""
        self.steps += 1
        self.apply()

    def apply(self) -> None:
        """Write the learning rates of the present step."""
        scale = self.factor(self.steps)
        for optimizer, base in zip(self.optimizers, self.base, strict=True):
            optimizer.lr.assign([base * scale]).realize()

    def require(self, name: str, value: float, holds: bool) -> None:
        """Raise ConfigError, naming the setting and its value, unless it holds."""
        if not holds:
            raise ConfigError(f"{type(self).__name__}: {name}={value} is out of range")


class MultiStepLR(Schedule):
    """Multiply by `gamma` at each milestone.

    Args:
        optimizer: the optimizer, or a group of them.
        milestones: steps at which the rate changes.
        gamma: the factor.

    Raises:
        ConfigError: `gamma` is negative.
    """

    def __init__(
        self, optimizer: Optimizer | OptimizerGroup, milestones: Sequence[int], gamma: float = 0.1
    ) -> None:
        super().__init__(optimizer)
        self.require("gamma", gamma, gamma >= 0.0)
        self.milestones = tuple(milestones)
        self.gamma = gamma

    def factor(self, step: int) -> float:
        return self.gamma ** sum(step >= milestone for milestone in self.milestones)


class ExponentialLR(Schedule):
    """Multiply by `gamma` at each step.

    Args:
        optimizer: the optimizer, or a group of them.
        gamma: the factor.

    Raises:
        ConfigError: `gamma` is negative.
    """

    def __init__(self, optimizer: Optimizer | OptimizerGroup, gamma: float) -> None:
        super().__init__(optimizer)
        self.require("gamma", gamma, gamma >= 0.0)
        self.gamma = gamma

    def factor(self, step: int) -> float:
        return self.gamma**step


class LinearWarmupLR(Schedule):
    """Rise in equal steps to the full rate, from `1 / warmup` of it at the start.

    Args:
        optimizer: the optimizer, or a group of them.
        warmup: number of steps until the full rate is reached.

    Raises:
        ConfigError: `warmup` is below 1.
    """

    def __init__(self, optimizer: Optimizer | OptimizerGroup, warmup: int) -> None:
        super().__init__(optimizer)
        self.require("warmup", warmup, warmup >= 1)
        self.warmup = warmup
        self.apply()

    def factor(self, step: int) -> float:
        return min((step + 1) / self.warmup, 1.0)


class CosineAnnealingLR(Schedule):
    """Fall along half a cosine to `end` times the first rate, and stay there.

    Args:
        optimizer: the optimizer, or a group of them.
        total: number of steps of the fall.
        end: share of the rate that is left.

    Raises:
        ConfigError: `total` is below 1, or `end` is no share.

    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts" (2017),
    equation 5.
    """

    def __init__(self, optimizer: Optimizer | OptimizerGroup, total: int, end: float = 0.0) -> None:
        super().__init__(optimizer)
        self.require("total", total, total >= 1)
        self.require("end", end, 0.0 <= end <= 1.0)
        self.total = total
        self.end = end

    def factor(self, step: int) -> float:
        return between(1.0, self.end, min(step / self.total, 1.0))


class OneCycleLR(Schedule):
    """Rise along half a cosine to the optimizer's rate, and fall along another to almost nothing.

    Args:
        optimizer: the optimizer, or a group of them.
        total: number of steps of the cycle.
        rise: share of the cycle that rises.
        start: share of the rate at the start.
        end: share of the rate at the end.

    Raises:
        ConfigError: a number is out of range.

    Source: Smith and Topin, "Super-convergence: very fast training of neural networks using large
    learning rates" (2018).
    """

    def __init__(
        self,
        optimizer: Optimizer | OptimizerGroup,
        total: int,
        rise: float = 0.3,
        start: float = 0.04,
        end: float = 4e-6,
    ) -> None:
        super().__init__(optimizer)
        self.require("total", total, total >= 1)
        self.require("rise", rise, 0.0 < rise < 1.0)
        self.require("start", start, 0.0 <= start <= 1.0)
        self.require("end", end, 0.0 <= end <= 1.0)
        self.total = total
        self.rise = rise
        self.start = start
        self.end = end
        self.apply()

    def factor(self, step: int) -> float:
        peak = self.rise * self.total
        if step < peak:
            return between(self.start, 1.0, step / peak)
        return between(1.0, self.end, min((step - peak) / (self.total - peak), 1.0))


def between(first: float, last: float, share: float) -> float:
    """Return the point of half a cosine from `first` to `last`."""
    return last + (first - last) * (1.0 + math.cos(math.pi * share)) / 2.0
