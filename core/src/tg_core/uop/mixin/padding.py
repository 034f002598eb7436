"""Values around a tensor: constants, reflections, repeated edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.errors import ShapeError
from tg_core.uop.mixin.shape_utils import flatten_args, shape_text
from tg_core.uop.mixin.shaping import ShapingMixin

if TYPE_CHECKING:
    from typing import Self

PAD_MODES = ("constant", "reflect", "replicate", "circular")


class PaddingMixin(ShapingMixin):
    """`pad pad_to`."""

    __slots__ = ()

    def pad(self, padding: Sequence[Any], mode: str = "constant", value: Any = 0.0) -> Self:
        """Return self with values around it; negative amounts cut off.

        Args:
            padding: `(before, after)` or None for every axis, or a flat sequence of amounts that
                starts with the last axis.
            mode: `constant`, `reflect`, `replicate` or `circular`.
            value: what `constant` pads with.

        Raises:
            ShapeError: the padding does not fit the shape, or the mode is unknown.
        """
        if mode not in PAD_MODES:
            raise ShapeError(f"pad: mode must be one of {', '.join(PAD_MODES)}, found {mode!r}")
        pairs = self._pad_pairs(padding)
        if mode != "constant":
            return self._pad_mode(pairs, mode)
        cut = self.shrink(
            tuple(
                (-min(before, 0), size + min(after, 0))
                if _is_int(before) and _is_int(after)
                else (0, size)
                for (before, after), size in zip(pairs, self.shape, strict=True)
            )
        )
        grown = [
            tuple(max(amount, 0) if _is_int(amount) else amount for amount in pair)
            for pair in pairs
        ]
        padded = cut._pad_zeros(grown)
        if padded is cut or value == 0:
            return padded
        inside = self._const(True)._broadcast_to(cut.shape)._pad_zeros(grown)
        return inside.where(padded, self._const(value, self.dtype))

    def _pad_pairs(self, padding: Sequence[Any]) -> list[tuple[Any, Any]]:
        if not isinstance(padding, (tuple, list)):
            raise ShapeError(f"pad: expected a sequence of amounts, found {padding!r}")
        entries = list(padding)
        if all(entry is None or isinstance(entry, (tuple, list)) for entry in entries):
            if len(entries) != self.ndim or any(e is not None and len(e) != 2 for e in entries):
                raise ShapeError(
                    f"pad: expected {self.ndim} pairs for shape {shape_text(self.shape)}, "
                    f"found {padding}"
                )
            return [(0, 0) if entry is None else (entry[0], entry[1]) for entry in entries]
        if len(entries) % 2 or len(entries) > 2 * self.ndim:
            raise ShapeError(
                f"pad: expected up to {2 * self.ndim} amounts in pairs for shape "
                f"{shape_text(self.shape)}, found {padding}"
            )
        pairs = [(entries[i], entries[i + 1]) for i in range(0, len(entries), 2)]
        return [(0, 0)] * (self.ndim - len(pairs)) + pairs[::-1]

    def _pad_mode(self, pairs: list[tuple[int, int]], mode: str) -> Self:
        result = self
        for axis, (before, after) in enumerate(pairs):
            size = result.shape[axis]
            limit = size - 1 if mode == "reflect" else size
            if (mode != "replicate" and max(before, after) > limit) or (
                size == 0 and before + after
            ):
                raise ShapeError(f"pad: {mode} by ({before}, {after}) along an axis of size {size}")
            parts = [
                result._edge(axis, before, mode, True),
                result,
                result._edge(axis, after, mode, False),
            ]
            kept = [part for part in parts if part is not None]
            joined = kept[0].cat(*kept[1:], dim=axis) if len(kept) > 1 else kept[0]
            keep: list[Any] = [None] * self.ndim
            keep[axis] = (max(-before, 0), joined.shape[axis] - max(-after, 0))
            result = joined.shrink(keep)
        return result

    def _edge(self, axis: int, amount: int, mode: str, leading: bool) -> Self | None:
        """Return what goes before or after the axis."""
        if amount <= 0:
            return None
        size = self.shape[axis]
        keep: list[Any] = [None] * self.ndim
        if mode == "replicate":
            keep[axis] = (0, 1) if leading else (size - 1, size)
            grown = list(self.shape)
            grown[axis] = amount
            return self.shrink(keep).expand(tuple(grown))
        if mode == "circular":
            keep[axis] = (size - amount, size) if leading else (0, amount)
            return self.shrink(keep)
        keep[axis] = (1, amount + 1) if leading else (size - amount - 1, size - 1)
        return self.shrink(keep).flip(axis)

    def pad_to(self, shape: Any, *args: Any, value: Any = 0) -> Self:
        """Return self grown at the end of every axis to `shape`; None keeps an axis.

        Raises:
            ShapeError: an axis would shrink.
        """
        sizes = flatten_args(shape, args)
        if len(sizes) != self.ndim:
            raise ShapeError(
                f"pad_to: {shape_text(sizes)} does not fit shape {shape_text(self.shape)}"
            )
        pairs = [
            (0, 0 if size is None else size - have)
            for have, size in zip(self.shape, sizes, strict=True)
        ]
        if any(_is_int(after) and after < 0 for _, after in pairs):
            raise ShapeError(
                f"pad_to: shape {shape_text(self.shape)} does not grow to {shape_text(sizes)}"
            )
        return self.pad(pairs, value=value)


def _is_int(size: Any) -> bool:
    return isinstance(size, int)
