"""Activation functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tg_core.errors import DTypeError
from tg_core.uop.mixin.matmul import MatmulMixin

if TYPE_CHECKING:
    from typing import Self


class ActivationMixin(MatmulMixin):
    """`relu sigmoid gelu silu ...`, with the definitions and constants of PyTorch."""

    __slots__ = ()

    def relu(self) -> Self:
        """Return self where it is positive, else 0."""
        return self.maximum(0)

    def relu6(self) -> Self:
        """Return self limited to [0, 6]."""
        return self.maximum(0).minimum(6)

    def leaky_relu(self, neg_slope: float = 0.01) -> Self:
        """Return self where it is positive, else `neg_slope * self`."""
        value = self._require_float()
        return (value > 0.0).where(value, value * neg_slope)

    def sigmoid(self) -> Self:
        """Return `1 / (1 + exp(-self))`."""
        wide = self._wide()
        # e^x for negative and e^-x for positive x never overflows, so no gradient is inf * 0
        decay = (-wide._magnitude()).exp()
        negative = wide < 0.0
        # d - d^2 / (1 + d) is d / (1 + d), with the roundings of a small part only
        split = negative & (decay < 0.35)
        dividend = split.where(decay * decay, negative.where(decay, 1.0))
        quotient = dividend / (1.0 + decay)
        return split.where(decay - quotient, quotient)._narrow(self)

    def logsigmoid(self) -> Self:
        """Return the logarithm of `sigmoid`."""
        return self._require_float().neg().softplus().neg()

    def hardsigmoid(self, alpha: float = 1 / 6, beta: float = 0.5) -> Self:
        """Return `alpha * self + beta` limited to [0, 1]."""
        return (self._wide() * alpha + beta).maximum(0.0).minimum(1.0)._narrow(self)

    def hardswish(self) -> Self:
        """Return self times `relu6(self + 3) / 6`."""
        wide = self._wide()
        # the factor first: the product with up to 6 could overflow
        return (wide * ((wide + 3.0).relu6() * (1 / 6)))._narrow(self)

    def hardtanh(self, min_val: float = -1, max_val: float = 1) -> Self:
        """Return self limited to [min_val, max_val]."""
        return self.maximum(min_val).minimum(max_val)

    def softplus(self, beta: float = 1.0) -> Self:
        """Return `log(1 + exp(beta * self)) / beta`."""
        if beta == 0:
            raise DTypeError("softplus: beta must not be 0")
        wide = self._wide() * beta
        return (
            ((wide < 0.0).where(0.0, wide) + (-wide._magnitude()).exp().log1p()) * (1 / beta)
        )._narrow(self)

    def softsign(self) -> Self:
        """Return `self / (1 + |self|)`."""
        wide = self._wide()
        return (wide / (wide.abs() + 1.0))._narrow(self)

    def silu(self) -> Self:
        """Return `self * sigmoid(self)`."""
        wide = self._wide()
        return (wide * wide.sigmoid())._narrow(self)

    def swish(self) -> Self:
        """Return `silu`."""
        return self.silu()

    def mish(self) -> Self:
        """Return `self * tanh(softplus(self))`."""
        wide = self._wide()
        # with d = exp(-|x|), which never overflows, tanh(softplus(x)) is a ratio of polynomials
        decay, negative = (-wide._magnitude()).exp(), wide < 0.0
        dividend = negative.where(decay * (decay + 2.0), 1.0 + 2.0 * decay)
        divisor = dividend + negative.where(2.0, 2.0 * decay * decay)
        return (wide * (dividend / divisor))._narrow(self)

    def elu(self, alpha: float = 1.0) -> Self:
        """Return self where it is positive, else `alpha * (exp(self) - 1)`."""
        wide = self._wide()
        # the ramp, unlike minimum(0), has gradient 1 at zero
        below = (wide > 0.0).where(0.0, wide)
        return (wide > 0.0).where(wide, below.expm1() * alpha)._narrow(self)

    def celu(self, alpha: float = 1.0) -> Self:
        """Return self where it is positive, else `alpha * (exp(self / alpha) - 1)`."""
        wide = self._wide()
        below = ((wide > 0.0).where(0.0, wide) / alpha).expm1() * alpha
        return (wide > 0.0).where(wide, below)._narrow(self)

    def selu(self, alpha: float = 1.67326, gamma: float = 1.0507) -> Self:
        """Return `gamma * elu(self, alpha)`."""
        wide = self._wide()
        below = (wide > 0.0).where(0.0, wide)
        return (
            (wide > 0.0)
            .where(wide * gamma, below.expm1() * (wide._operand(alpha, "selu") * gamma))
            ._narrow(self)
        )

    def gelu(self, approximate: str = "tanh") -> Self:
        """Return self times the normal distribution function of self.

        Args:
            approximate: `tanh` for the usual approximation, `none` for the error function.

        Raises:
            DTypeError: `approximate` is neither.
        """
        wide = self._wide()
        if approximate == "none":
            return (wide * 0.5 * (wide * -math.sqrt(0.5))._erfc())._narrow(self)
        if approximate != "tanh":
            raise DTypeError(f"gelu: approximate must be 'tanh' or 'none', found {approximate!r}")
        # (1 + tanh(u)) / 2 is sigmoid(2 u), which does not cancel for negative u
        inner = (wide + wide * wide * wide * 0.044715) * (2 * math.sqrt(2 / math.pi))
        return (wide * inner.sigmoid())._narrow(self)

    def quick_gelu(self) -> Self:
        """Return `self * sigmoid(1.702 * self)`."""
        wide = self._wide()
        return (wide * (wide * 1.702).sigmoid())._narrow(self)

    def allclose(
        self, other: Self, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Self:
        """Return whether all values are close, see `isclose`."""
        return self.isclose(other, rtol, atol, equal_nan).all()
