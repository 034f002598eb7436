"""Gradients as methods of the tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.errors import GradientError, ShapeError
from tg_core.tensor.registry import live_tensors
from tg_core.uop.mixin.shape_utils import shape_text
from tg_core.uop.ops import UOp

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor


class AutogradMethods:
    """`gradient`, `backward` and the parameter flag."""

    __slots__ = ()

    def is_param_(self: Tensor, is_param: bool = True) -> Tensor:
        """Set whether `backward` leaves a gradient in this tensor; return it."""
        self.is_param = is_param
        return self

    def _seed(self: Tensor, name: str, gradient: Tensor | None) -> UOp:
        if not dtypes.is_float(self.dtype):
            raise GradientError(f"{name}: a value of dtype {self.dtype.name} has no gradient")
        if gradient is None:
            if self.shape != ():
                raise GradientError(
                    f"{name}: needs a scalar or an explicit gradient, found shape "
                    f"{shape_text(self.shape)}"
                )
            return UOp.const(1.0, self.dtype)
        if gradient.shape != self.shape:
            raise ShapeError(
                f"{name}: gradient of shape {shape_text(gradient.shape)} for a value of shape "
                f"{shape_text(self.shape)}"
            )
        return gradient.cast(self.dtype).uop

    def gradient(self: Tensor, *targets: Tensor, gradient: Tensor | None = None) -> list[Tensor]:
        """Return the gradient of self with respect to each target.

        Args:
            targets: tensors that self was computed from.
            gradient: the gradient of self; may be left out when self is a scalar.

        Returns:
            One tensor for each target, of its shape and dtype; zeros where self depends on it
            only through steps.

        Raises:
            GradientError: self is no scalar and `gradient` is missing, or a target is not a part
                of the graph of self.
            ShapeError: `gradient` has another shape than self.
        """
        # most processes take no gradients
        from tg_core.tensor.gradient import compute_gradients
        from tg_core.tensor.shard_gradient import is_part_of

        seed = self._seed("gradient", gradient)
        nodes = set(self.uop.toposort())
        for position, target in enumerate(targets):
            self._same_kind(target, "gradient")
            if not dtypes.is_float(target.dtype):
                raise GradientError(
                    f"gradient: target {position} has dtype {target.dtype.name}, expected a float"
                )
            if not is_part_of(target.uop, nodes):
                raise GradientError(
                    f"gradient: target {position} of shape {shape_text(target.shape)} is not a "
                    "part of the graph of this value"
                )
        found = compute_gradients(self.uop, seed, [target.uop for target in targets])
        return [
            target.zeros_like(buffer=False) if grad is None else type(target)._from_uop(grad)
            for target, grad in zip(targets, found, strict=True)
        ]

    def backward(self: Tensor, gradient: Tensor | None = None) -> Tensor:
        """Add the gradient of self to `.grad` of every live parameter it was computed from.

        Args:
            gradient: the gradient of self; may be left out when self is a scalar.

        Raises:
            GradientError: self is no scalar and `gradient` is missing.
            ShapeError: `gradient` has another shape than self.
        """
        from tg_core.tensor.gradient import compute_gradients
        from tg_core.tensor.shard_gradient import is_part_of

        seed = self._seed("backward", gradient)
        nodes = set(self.uop.toposort())
        params = [t for t in live_tensors() if t.is_param and is_part_of(t.uop, nodes)]
        found = compute_gradients(self.uop, seed, [param.uop for param in params])
        for param, grad in zip(params, found, strict=True):
            if grad is None:
                continue
            new = type(param)._from_uop(grad)
            if param.grad is None:
                param.grad = new
            else:
                # the same tensor: a captured call that adds to it does so at each replay
                param.grad.replace(param.grad + new)
        return self
