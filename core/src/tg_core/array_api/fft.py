"""The Fourier transform extension of the standard, as far as it goes without complex numbers.

The transforms themselves take or give complex arrays, whose data types do not exist here; they
say so. The functions around them are complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from tg_core.array_api.creation import on_device
from tg_core.array_api.operands import array_of
from tg_core.dtype import DType, dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.mixin.shape_utils import resolve_axes

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Axes = int | Sequence[int] | None


def _needs_complex(name: str) -> NoReturn:
    raise DTypeError(f"fft: {name} needs complex data types, which do not exist here")


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Refuse: the Fourier transform needs complex numbers.

    Raises:
        DTypeError: always.
    """
    _needs_complex("fft")


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Refuse: the inverse Fourier transform needs complex numbers.

    Raises:
        DTypeError: always.
    """
    _needs_complex("ifft")


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Refuse: the Fourier transform of real values needs complex numbers.

    Raises:
        DTypeError: always.
    """
    _needs_complex("rfft")


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Refuse: the inverse of `rfft` needs complex numbers.

    Raises:
        DTypeError: always.
    """
    _needs_complex("irfft")


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Refuse: the Fourier transform of a Hermitian signal needs complex numbers.

    Raises:
        DTypeError: always.
    """
    _needs_complex("hfft")


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Refuse: the inverse of `hfft` needs complex numbers.

    Raises:
        DTypeError: always.
    """
    _needs_complex("ihfft")


def fftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Refuse: the n-dimensional `fft` needs complex numbers.

    Raises:
        DTypeError: always.
    """
    _needs_complex("fftn")


def ifftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Refuse: the n-dimensional `ifft` needs complex numbers.

    Raises:
        DTypeError: always.
    """
    _needs_complex("ifftn")


def rfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Refuse: the n-dimensional `rfft` needs complex numbers.

    Raises:
        DTypeError: always.
    """
    _needs_complex("rfftn")


def irfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Refuse: the n-dimensional `irfft` needs complex numbers.

    Raises:
        DTypeError: always.
    """
    _needs_complex("irfftn")


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None
) -> Tensor:
    """Return the frequencies of the places of a transform: 0, 1, ... then the negative ones.

    Args:
        n: how many samples.
        d: the time between two samples.
        dtype: the data type, the default float unless given.
        device: where the array is.

    Raises:
        ShapeError: there is no sample.
    """
    count = _places(n, "fftfreq")._leading(0, n)
    signed = (count < (n + 1) // 2).where(count, count - n)
    return _scaled(signed, n, d, dtype, device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None
) -> Tensor:
    """Return the frequencies of the places of a real transform, from 0 up.

    Args:
        n: how many samples.
        d: the time between two samples.
        dtype: the data type, the default float unless given.
        device: where the array is.

    Raises:
        ShapeError: there is no sample.
    """
    return _scaled(_places(n, "rfftfreq")._leading(0, n // 2 + 1), n, d, dtype, device)


def _places(n: int, name: str) -> Tensor:
    from tg_core.tensor import Tensor

    if n < 1:
        raise ShapeError(f"{name}: expected at least one sample, found {n}")
    return Tensor._counting(n + 1, dtypes.int32)


def _scaled(places: Tensor, n: int, d: float, dtype: DType | None, device: str | None) -> Tensor:
    wide = places.cast(dtypes.float64) / (n * d)
    return on_device(wide.cast(dtype or dtypes.default_float()), device)


def fftshift(x: Tensor, /, *, axes: Axes = None) -> Tensor:
    """Return x with the zero frequency moved to the middle of the axes, all unless given."""
    value = array_of(x, "fftshift")
    where = resolve_axes("fftshift", axes, value.ndim)
    return value.roll([size // 2 for size in _sizes(value, where)], where)


def ifftshift(x: Tensor, /, *, axes: Axes = None) -> Tensor:
    """Return x with what `fftshift` does undone."""
    value = array_of(x, "ifftshift")
    where = resolve_axes("ifftshift", axes, value.ndim)
    return value.roll([-(size // 2) for size in _sizes(value, where)], where)


def _sizes(x: Tensor, axes: tuple[int, ...]) -> list[int]:
    shape = x._int_shape()
    return [shape[axis] for axis in axes]
