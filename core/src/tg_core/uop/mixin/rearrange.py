"""Axes named by a formula, and resizing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.mixin.attention import AttentionMixin
from tg_core.uop.mixin.shape_utils import prod, shape_text
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from typing import Self

_REST = "..., not merged"
INTERPOLATIONS = ("linear", "nearest", "nearest-exact")


class RearrangeMixin(AttentionMixin):
    """`rearrange interpolate sequential`."""

    __slots__ = ()

    def rearrange(self, formula: str, **sizes: int) -> Self:
        """Return self with its axes split, ordered and merged as the formula says.

        Args:
            formula: such as `"b (h d) t -> b h t d"`; `...` stands for all other axes.
            **sizes: sizes of named axes that the shape leaves open.

        Raises:
            ShapeError: the formula does not fit the shape.
        """
        if not isinstance(formula, str):
            raise DTypeError(f"rearrange: the formula must be a str, found {formula!r}")
        left, arrow, right = formula.partition("->")
        if not arrow:
            raise ShapeError(f"rearrange: {formula!r} has no '->'")
        inputs, outputs = _groups(formula, left), _groups(formula, right)
        if [_REST] in inputs:
            where, hidden = inputs.index([_REST]), self.ndim - len(inputs) + 1
            spare = [[f"...{number}"] for number in range(hidden)]
            inputs[where : where + 1] = spare
            outputs = _with_rest(outputs, spare)
        names = [*_flat(inputs)]
        wanted = [*_flat(outputs)]
        if len(inputs) != self.ndim or len(set(names)) != len(names):
            raise ShapeError(f"rearrange: {formula!r} does not fit shape {shape_text(self.shape)}")
        known = {name for name in (*names, *wanted) if name != "1"}
        if sorted(known & set(names)) != sorted(known & set(wanted)) or set(sizes) - known:
            raise ShapeError(f"rearrange: the two sides of {formula!r} name different axes")
        lengths: dict[str, Any] = dict(sizes)
        for group, size in zip(inputs, self.shape, strict=True):
            _solve_group(formula, group, size, lengths)
        split = self.reshape(tuple(lengths[name] for name in names if name != "1"))
        order = [name for name in names if name != "1"]
        moved = split.permute(tuple(order.index(name) for name in wanted if name != "1"))
        return moved.reshape(
            tuple(prod([lengths[name] for name in group if name != "1"]) for group in outputs)
        )

    def interpolate(
        self, size: tuple[int, ...], mode: str = "linear", align_corners: bool = False
    ) -> Self:
        """Return self resized along its last axes.

        Args:
            size: the new sizes of the last axes.
            mode: `linear`, `nearest` (rounds down) or `nearest-exact`.
            align_corners: the first and last values stay at the ends (linear only).

        Raises:
            ShapeError: there are more sizes than axes behind the first two.
            DTypeError: the mode is unknown, or does not take `align_corners`.
        """
        if mode not in INTERPOLATIONS or (align_corners and mode != "linear"):
            raise DTypeError(
                f"interpolate: mode {mode!r} with align_corners={align_corners}, expected one of "
                f"{', '.join(INTERPOLATIONS)}"
            )
        if not isinstance(size, (tuple, list)) or not all(isinstance(n, int) for n in size):
            raise ShapeError(f"interpolate: size must be a tuple of ints, found {size!r}")
        if not size or len(size) > max(self.ndim - 2, 0) or min(size) < 1:
            raise ShapeError(f"interpolate: size {size} for shape {shape_text(self.shape)}")
        result = self
        for number, length in enumerate(size):
            result = result._resized(self.ndim - len(size) + number, length, mode, align_corners)
        return result._as(self.dtype)

    def _resized(self, axis: int, length: int, mode: str, align_corners: bool) -> Self:
        size = static_size(self.shape[axis], "interpolate")
        if size == length:
            return self
        exact = dtypes.float64 if self.dtype is dtypes.float64 else dtypes.float32
        place = self._counting(length, dtypes.int32)._as(exact)
        if mode == "nearest":
            return self._pick((place * (size / length)).floor()._as(dtypes.int32), axis)
        if mode == "nearest-exact":
            spot = ((place + 0.5) * (size / length)).floor()
            return self._pick(spot.minimum(size - 1)._as(dtypes.int32), axis)
        if align_corners:
            spot = place * ((size - 1) / max(length - 1, 1))
        else:
            spot = ((place + 0.5) * (size / length) - 0.5).maximum(0.0)
        low = spot.floor().minimum(float(size - 1))
        high = (low + 1.0).minimum(float(size - 1))
        shape = (length, *(1,) * (self.ndim - axis - 1))
        weight = (spot - low).reshape(shape)
        value = self._wide()
        first = value._pick(low._as(dtypes.int32), axis)
        return first.lerp(value._pick(high._as(dtypes.int32), axis), weight)

    def sequential(self, ll: Sequence[Callable[[Any], Any]]) -> Any:
        """Return self after all functions, each applied to the result of the one before."""
        result: Any = self
        for function in ll:
            result = function(result)
        return result


def _groups(formula: str, side: str) -> list[list[str]]:
    """Return the names of each axis of one side; parentheses merge names into one axis.

    Raises:
        ShapeError: parentheses do not match or a name is no name.
    """
    groups: list[list[str]] = []
    inside = False
    for token in side.replace("(", " ( ").replace(")", " ) ").split():
        if token in "()":
            if inside == (token == "("):
                raise ShapeError(f"rearrange: parentheses of {formula!r} do not match")
            inside = token == "("
            if inside:
                groups.append([])
            continue
        if not (token.isidentifier() or token in ("...", "1")):
            raise ShapeError(f"rearrange: {token!r} of {formula!r} is no name")
        if inside:
            groups[-1].append(token)
        else:
            groups.append([_REST if token == "..." else token])
    if inside:
        raise ShapeError(f"rearrange: parentheses of {formula!r} do not match")
    return groups


def _with_rest(groups: list[list[str]], spare: list[list[str]]) -> list[list[str]]:
    """Put the axes that the ellipsis stands for in its place, apart or merged with others."""
    result: list[list[str]] = []
    for group in groups:
        if group == [_REST]:
            result.extend(spare)
        else:
            result.append(
                [n for name in group for n in (_flat(spare) if name == "..." else [name])]
            )
    return result


def _flat(groups: Sequence[Sequence[str]]) -> list[str]:
    return [name for group in groups for name in group]


def _solve_group(formula: str, group: list[str], size: Any, lengths: dict[str, Any]) -> None:
    """Find the size of the only unknown name of an axis."""
    names = [name for name in group if name != "1"]
    unknown = [name for name in names if name not in lengths]
    known = prod([lengths[name] for name in names if name in lengths])
    if len(unknown) > 1:
        raise ShapeError(f"rearrange: the sizes of {unknown} in {formula!r} are not determined")
    if unknown:
        if known == 0 or size % known:
            raise ShapeError(f"rearrange: {group} of {formula!r} does not divide {size}")
        lengths[unknown[0]] = size // known
    elif known != size:
        raise ShapeError(f"rearrange: {group} of {formula!r} is {known}, the axis has {size}")
