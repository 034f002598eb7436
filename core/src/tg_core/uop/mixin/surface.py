"""The whole op surface as one class."""

from __future__ import annotations

from tg_core.uop.mixin.linalg import LinalgMixin
from tg_core.uop.mixin.types import TypesMixin


class OpMixin(LinalgMixin, TypesMixin):
    """Every op that `Tensor` and `UOp` share."""

    __slots__ = ()
