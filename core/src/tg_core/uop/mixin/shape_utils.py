"""Pure functions on shapes and axes that the mixins share."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from tg_core.errors import IndexingError, ShapeError

if TYPE_CHECKING:
    from tg_core.uop.uop import sint


def prod(factors: Sequence[Any]) -> Any:
    """Return the product of ints and symbolic nodes, 1 when there are none."""
    result: Any = 1
    for factor in factors:
        result = factor if isinstance(result, int) and result == 1 else result * factor
    return result


def broadcast_shapes(name: str, *shapes: tuple[sint, ...]) -> tuple[sint, ...]:
    """Return the shape that all shapes broadcast to.

    Raises:
        ShapeError: two sizes of an axis differ and neither is 1; the message names `name` and
            the shapes.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[sint] = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for position, size in enumerate(shape):
            axis = offset + position
            have = result[axis]
            if size is have or (isinstance(size, int) and (size == 1 or size == have)):
                continue
            if not (isinstance(have, int) and have == 1):
                raise ShapeError(
                    f"{name}: shapes {' and '.join(map(shape_text, shapes))} do not broadcast, "
                    f"axis {axis - rank} has sizes {have} and {size}"
                )
            result[axis] = size
    return tuple(result)


def shape_text(shape: Sequence[Any]) -> str:
    """Return a shape as errors print it."""
    return f"({', '.join(str(size) for size in shape)}{',' if len(shape) == 1 else ''})"


def resolve_axis(name: str, axis: int, ndim: int, extra: int = 0) -> int:
    """Return `axis` counted from the front.

    `extra` is how many more positions than axes are allowed: 1 where an axis is inserted.

    Raises:
        IndexingError: the axis does not exist.
    """
    limit = max(ndim + extra, 1)
    if type(axis) is not int:
        # numpy's integers are Integral, tensors and nodes are not
        if isinstance(axis, bool) or not isinstance(axis, Integral):
            raise IndexingError(f"{name}: axis must be an int, found {axis!r}")
        axis = int(axis)
    if not -limit <= axis < limit:
        raise IndexingError(
            f"{name}: axis {axis} is out of range for {ndim} axes, expected [{-limit}, {limit - 1}]"
        )
    return axis + limit if axis < 0 else axis


def resolve_axes(name: str, axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return the axes as a sorted tuple; None means all of them.

    Raises:
        IndexingError: an axis does not exist or is given twice.
    """
    if axis is None:
        return tuple(range(ndim))
    listed = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    resolved = sorted(resolve_axis(name, entry, ndim) for entry in listed)
    if len(set(resolved)) != len(resolved):
        raise IndexingError(f"{name}: axes {tuple(listed)} name an axis twice")
    return tuple(entry for entry in resolved if entry < ndim)


def flatten_args(shape: Any, rest: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tuple meant by `f((2, 3))` or `f(2, 3)`: ints, symbolic sizes and None.

    Raises:
        ShapeError: an entry is none of these.
    """
    if isinstance(shape, (tuple, list)):
        if rest:
            raise ShapeError(
                f"shape: expected one sequence or separate sizes, found {shape} and {rest}"
            )
        return tuple(map(_checked_size, shape))
    return tuple(map(_checked_size, (shape, *rest)))


def _checked_size(size: Any) -> Any:
    if type(size) is int or size is None or hasattr(size, "vmin"):
        return size
    # a tensor could be an index, but would have to be computed for it
    if not hasattr(size, "__index__") or hasattr(size, "uop"):
        raise ShapeError(f"shape: expected ints or symbolic sizes, found {size!r}")
    return size.__index__()


def require_int(name: str, value: Any) -> int:
    """Return `value` as an int.

    Raises:
        ShapeError: it is none; the message starts with `name`.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if hasattr(value, "__index__") and not hasattr(value, "uop") and not isinstance(value, bool):
        return int(value.__index__())
    raise ShapeError(f"{name}: expected an int, found {value!r}")


def repeat_to(name: str, value: int | Sequence[int], length: int) -> tuple[int, ...]:
    """Return `value` for each of `length` axes, or the sequence itself when it has that length.

    Raises:
        ShapeError: the sequence has another length.
    """
    if isinstance(value, int):
        return (value,) * length
    if not isinstance(value, (tuple, list)) or not all(isinstance(entry, int) for entry in value):
        raise ShapeError(f"{name}: expected ints, found {value!r}")
    if len(value) != length:
        raise ShapeError(f"{name}: expected one value or {length}, found {tuple(value)}")
    return tuple(value)
