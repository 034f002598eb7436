"""The geometry of windows: kernels, strides, dilations and padding of convolutions and pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tg_core.errors import ShapeError

__all__ = ["Pairs", "Windows", "per_axis", "windows_of"]

Pairs: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Windows:
    """Windows over the spatial axes of a tensor."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: Pairs
    """Before and after each axis, as the model asks for."""
    hanging: tuple[int, ...]
    """What `ceil_mode` adds after each axis, so that the last window fits."""

    @property
    def grown(self) -> Pairs:
        """The padding with what the last windows hang over."""
        return tuple((a, b + more) for (a, b), more in zip(self.pads, self.hanging, strict=True))


def per_axis(values: tuple[int, ...] | None, spatial: int, name: str) -> tuple[int, ...]:
    """Return one value for each spatial axis, 1 unless given.

    Raises:
        ShapeError: there are more or fewer.
    """
    if values is None or not values:
        return (1,) * spatial
    if len(values) != spatial:
        raise ShapeError(f"{name} {values} for {spatial} spatial axes")
    return tuple(values)


def windows_of(
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    *,
    strides: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    auto_pad: str = "NOTSET",
    ceil_mode: bool = False,
) -> Windows:
    """Return the windows that the attributes of a node describe.

    Args:
        shape: the sizes of the spatial axes.
        kernel: the sizes of a window.
        strides: the distance of windows.
        dilations: the distance of values in a window.
        pads: all amounts before the axes, then all after them.
        auto_pad: how padding is computed instead.
        ceil_mode: also take windows that hang over the end.

    Raises:
        ShapeError: the numbers do not fit each other.
    """
    spatial = len(kernel)
    if len(shape) != spatial:
        raise ShapeError(f"kernel {kernel} for spatial axes of {shape}")
    steps = per_axis(strides, spatial, "strides")
    gaps = per_axis(dilations, spatial, "dilations")
    if min((*kernel, *steps, *gaps), default=1) < 1:
        raise ShapeError(f"kernel {kernel}, strides {steps} and dilations {gaps} must be positive")
    reach = tuple(gap * (taps - 1) + 1 for gap, taps in zip(gaps, kernel, strict=True))
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        pairs = tuple(
            _same(size, step, length, auto_pad == "SAME_UPPER")
            for size, step, length in zip(shape, steps, reach, strict=True)
        )
    elif auto_pad == "VALID" or not pads:
        pairs = ((0, 0),) * spatial
    else:
        if len(pads) != 2 * spatial:
            raise ShapeError(f"pads {pads} for {spatial} spatial axes")
        pairs = tuple(zip(pads[:spatial], pads[spatial:], strict=True))
    hanging = [0] * spatial
    for axis, (size, step, length, (before, after)) in enumerate(
        zip(shape, steps, reach, pairs, strict=True)
    ):
        room = size + before + after - length
        if room < 0 and not (ceil_mode and room > -step):
            raise ShapeError(
                f"a window of {length} exceeds an axis of {size} padded by ({before}, {after})"
            )
        last = -(-room // step) * step
        # a window that starts in the padding behind the values is left out
        if ceil_mode and last > room and last < size + before:
            hanging[axis] = last - room
    return Windows(tuple(kernel), steps, gaps, pairs, tuple(hanging))


def _same(size: int, step: int, length: int, upper: bool) -> tuple[int, int]:
    """Return the padding for as many windows as there are strides in the axis."""
    total = max((-(-size // step) - 1) * step + length - size, 0)
    less, more = total // 2, total - total // 2
    return (less, more) if upper else (more, less)
