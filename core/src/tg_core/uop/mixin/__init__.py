"""The op surface that `Tensor` and `UOp` share."""

from tg_core.uop.mixin.surface import OpMixin

__all__ = ["OpMixin"]
