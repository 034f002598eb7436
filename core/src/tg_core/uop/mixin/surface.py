"""The whole op surface as one class."""

from __future__ import annotations

from tg_core.uop.mixin.digest import DigestMixin
from tg_core.uop.mixin.types import TypesMixin


class OpMixin(DigestMixin, TypesMixin):
    """Every op that `Tensor` and `UOp` share."""

    __slots__ = ()
