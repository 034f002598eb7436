"""The whole op surface as one class."""

from __future__ import annotations

from tg_core.uop.mixin.reduce import ReduceMixin


class OpMixin(ReduceMixin):
    """Every op that `Tensor` and `UOp` share."""

    __slots__ = ()
