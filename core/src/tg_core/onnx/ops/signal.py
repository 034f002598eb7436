"""Fourier transforms, by multiplication with the matrix of their roots of unity."""

from __future__ import annotations

import math

import numpy as np

from tg_core.dtype import to_numpy
from tg_core.errors import ShapeError
from tg_core.onnx.axes import place_of
from tg_core.onnx.casting import element_of_code
from tg_core.onnx.kinds import Float, Int
from tg_core.onnx.ops.slicing import take
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import check_count, size_of
from tg_core.tensor import Tensor

__all__ = ["dft", "mel_weight_matrix", "stft"]


def _transformed(x: Tensor, axis: int, length: int | None, inverse: bool, onesided: bool) -> Tensor:
    """Return the transform along an axis of numbers whose last axis is (real[, imaginary])."""
    if x.shape[-1] not in (1, 2):
        raise ShapeError(f"the last axis must be of size 1 or 2, found shape {x.shape}")
    have = size_of(x, axis)
    halved = inverse and onesided
    n = length if length is not None else 2 * (have - 1) if halved else have
    if n < 1:
        raise ShapeError(f"a transform of length {n}, expected at least 1")
    check_count(n * n, "the matrix of the transform")
    # the length is that of the signal, of whose transform one half is given
    given = n // 2 + 1 if halved else n
    if given < have:
        x = take(x, axis, np.arange(given))
    elif given > have:
        x = x.pad([(0, given - have if other == axis else 0) for other in range(x.ndim)])
    order = [other for other in range(x.ndim - 1) if other != axis] + [axis, x.ndim - 1]
    moved = x.permute(tuple(order))
    back = tuple(order.index(other) for other in range(x.ndim))
    real = moved[..., 0]
    imaginary = moved[..., 1] if x.shape[-1] == 2 else None
    if halved and given < n:
        # the half that is left out mirrors the one that is there
        rest = n - np.arange(given, n)
        if imaginary is not None:
            tail = take(imaginary, imaginary.ndim - 1, rest)
            imaginary = imaginary.cat(-tail, dim=-1)
        real = real.cat(take(real, real.ndim - 1, rest), dim=-1)
    count = n // 2 + 1 if onesided and not inverse else n
    steps = np.outer(np.arange(n), np.arange(count)) % n
    angle = 2 * math.pi * steps / n * (1 if inverse else -1)
    wide = to_numpy(x.dtype)
    cosine, sine = (Tensor(part(angle).astype(wide)) for part in (np.cos, np.sin))
    first, second = real.matmul(cosine), real.matmul(sine)
    if imaginary is not None:
        first, second = first - imaginary.matmul(sine), second + imaginary.matmul(cosine)
    if inverse:
        first, second = first / n, second / n
    if halved:
        return first.unsqueeze(-1).permute(back)
    return first.stack(second, dim=-1).permute(back)


@operator("DFT", since=17)
def dft_by_attribute(
    x: Tensor,
    dft_length: Int | None = None,
    *,
    axis: int = 1,
    inverse: bool = False,
    onesided: bool = False,
) -> Tensor:
    """Return the discrete Fourier transform along an axis."""
    return _transformed(x, place_of(axis, x.ndim), dft_length, inverse, onesided)


@operator("DFT", since=20)
def dft(
    x: Tensor,
    dft_length: Int | None = None,
    axis: Int | None = None,
    *,
    inverse: bool = False,
    onesided: bool = False,
) -> Tensor:
    """Return the discrete Fourier transform along an axis, the last before the parts."""
    place = -2 if axis is None else axis
    return _transformed(x, place_of(place, x.ndim), dft_length, inverse, onesided)


@operator("STFT", since=17)
def stft(
    signal: Tensor,
    frame_step: Int,
    window: Tensor | None = None,
    frame_length: Int | None = None,
    *,
    onesided: bool = True,
) -> Tensor:
    """Return the transforms of overlapping frames."""
    if window is None and frame_length is None:
        raise ShapeError("a window or frame_length is needed")
    length = (
        frame_length if frame_length is not None else (0 if window is None else size_of(window, 0))
    )
    frames = (size_of(signal, 1) - length) // frame_step + 1
    check_count(frames * length, "cutting frames")
    starts = np.arange(frames)[:, None] * frame_step + np.arange(length)
    if signal.ndim == 2:
        signal = signal.unsqueeze(-1)
    cut = take(signal, 1, starts.reshape(-1))
    cut = cut.reshape((signal.shape[0], frames, length, signal.shape[2]))
    if window is not None:
        cut = cut * window.reshape((1, 1, -1, 1))
    return _transformed(cut, 2, None, False, onesided)


@operator("MelWeightMatrix", since=17)
def mel_weight_matrix(
    num_mel_bins: Int,
    dft_length: Int,
    sample_rate: Int,
    lower_edge_hertz: Float,
    upper_edge_hertz: Float,
    *,
    output_datatype: int = 1,
) -> Tensor:
    """Return the weights of spectral bins in triangles that are even on the mel scale."""
    bins = dft_length // 2 + 1
    check_count(max(bins, 1) * max(num_mel_bins + 2, 1), "the matrix")
    # the definition counts n + 2 edges, and divides the range by as many
    low_mel, high_mel = _mel(lower_edge_hertz), _mel(upper_edge_hertz)
    points = num_mel_bins + 2
    mel = low_mel + np.arange(points) * (high_mel - low_mel) / points
    hertz = 700 * (10 ** (mel / 2595) - 1)
    edges = ((dft_length + 1) * hertz // sample_rate).astype(np.int64)
    spectrum = np.arange(bins)[:, None]
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    rising = np.where(
        centre == low, 1.0, (spectrum - low) / np.where(centre == low, 1, centre - low)
    )
    falling = (high - spectrum) / np.where(high == centre, 1, high - centre)
    inside = np.where(spectrum <= centre, rising, falling)
    covered = (spectrum >= low) & ((spectrum < high) | (spectrum == centre))
    weights = np.where(covered, inside, 0.0)
    return Tensor(weights.astype(np.float32)).cast(element_of_code(output_datatype).dtype)


def _mel(hertz: float) -> float:
    """Source: Operators.md, MelWeightMatrix, the HTK formula."""
    return 2595 * math.log10(1 + hertz / 700)
