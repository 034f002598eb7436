"""Convolutions against loops in numpy."""

import itertools

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 4, 7, 6)).astype(np.float32)


def _each(value, count):  # type: ignore[no-untyped-def]
    return (value,) * count if isinstance(value, int) else value


def convolved(x, w, groups=1, stride=1, dilation=1, padding=0):  # type: ignore[no-untyped-def]
    n, kernel = w.ndim - 2, w.shape[2:]
    stride, dilation, padding = (_each(v, n) for v in (stride, dilation, padding))
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    counts = [
        (x.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(n)
    ]
    inputs, outputs = w.shape[1], w.shape[0] // groups
    out = np.zeros((x.shape[0], w.shape[0], *counts))
    for at in itertools.product(*map(range, counts)):
        window = tuple(
            slice(
                at[i] * stride[i],
                at[i] * stride[i] + dilation[i] * (kernel[i] - 1) + 1,
                dilation[i],
            )
            for i in range(n)
        )
        for g in range(groups):
            patch = x[(slice(None), slice(g * inputs, (g + 1) * inputs), *window)]
            axes = list(range(1, n + 2))
            filters = w[g * outputs : (g + 1) * outputs]
            out[(slice(None), slice(g * outputs, (g + 1) * outputs), *at)] = np.tensordot(
                patch, filters, axes=(axes, axes)
            )
    return out


def transposed(x, w, groups, stride, dilation, padding, extra):  # type: ignore[no-untyped-def]
    n, kernel = w.ndim - 2, w.shape[2:]
    inputs, outputs = x.shape[1] // groups, w.shape[1]
    sizes = [
        (x.shape[2 + i] - 1) * stride + dilation * (kernel[i] - 1) + 1 + extra for i in range(n)
    ]
    out = np.zeros((x.shape[0], outputs * groups, *sizes))
    for at in itertools.product(*map(range, x.shape[2:])):
        window = tuple(
            slice(at[i] * stride, at[i] * stride + dilation * (kernel[i] - 1) + 1, dilation)
            for i in range(n)
        )
        for g in range(groups):
            values = x[(slice(None), slice(g * inputs, (g + 1) * inputs), *at)]
            part = np.tensordot(values, w[g * inputs : (g + 1) * inputs], axes=(1, 0))
            out[(slice(None), slice(g * outputs, (g + 1) * outputs), *window)] += part
    cut = tuple(slice(padding, size - padding) for size in out.shape[2:])
    return out[(slice(None), slice(None), *cut)]


@pytest.mark.parametrize(
    ("groups", "stride", "dilation", "padding"),
    [(1, 1, 1, 0), (2, 2, 1, 1), (4, 1, 2, 2), (1, 3, 1, (1, 0)), (1, (2, 1), (1, 2), 1)],
)
def test_conv2d(groups, stride, dilation, padding) -> None:  # type: ignore[no-untyped-def]
    w = RNG.standard_normal((8, 4 // groups, 3, 2)).astype(np.float32)
    b = RNG.standard_normal(8).astype(np.float32)
    got = Tensor(X).conv2d(Tensor(w), Tensor(b), groups, stride, dilation, padding)
    wanted = convolved(X, w, groups, stride, dilation, padding) + b.reshape(1, -1, 1, 1)
    np.testing.assert_allclose(value(got), wanted, rtol=1e-4, atol=1e-5)


def test_other_numbers_of_axes() -> None:
    x = RNG.standard_normal((2, 3, 9)).astype(np.float32)
    w = RNG.standard_normal((5, 3, 4)).astype(np.float32)
    got = value(Tensor(x).conv2d(Tensor(w), stride=2, padding=1))
    np.testing.assert_allclose(got, convolved(x, w, stride=2, padding=1), rtol=1e-4, atol=1e-5)
    x = RNG.standard_normal((1, 2, 4, 5, 4)).astype(np.float32)
    w = RNG.standard_normal((3, 2, 2, 3, 2)).astype(np.float32)
    got = value(Tensor(x).conv2d(Tensor(w), padding=1))
    np.testing.assert_allclose(got, convolved(x, w, padding=1), rtol=1e-4, atol=1e-5)


def test_padding_on_each_side() -> None:
    w = RNG.standard_normal((1, 4, 3, 2)).astype(np.float32)
    got = value(Tensor(X).conv2d(Tensor(w), padding=(1, 0, 2, 3)))
    padded = np.pad(X, ((0, 0), (0, 0), (2, 3), (1, 0)))
    np.testing.assert_allclose(got, convolved(padded, w), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("groups", "stride", "dilation", "padding", "extra"),
    [(1, 1, 1, 0, 0), (2, 2, 1, 1, 0), (1, 3, 2, 1, 1), (1, 2, 1, 0, 1), (1, 1, 1, 2, 0)],
)
def test_conv_transpose2d(groups, stride, dilation, padding, extra) -> None:  # type: ignore[no-untyped-def]
    w = RNG.standard_normal((4, 6 // groups, 3, 2)).astype(np.float32)
    got = value(
        Tensor(X).conv_transpose2d(Tensor(w), None, groups, stride, dilation, padding, extra)
    )
    wanted = transposed(X, w, groups, stride, dilation, padding, extra)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_errors() -> None:
    weight = Tensor.zeros(8, 3, 3, 3)
    with pytest.raises(ShapeError, match="expected 3 channels"):
        Tensor(X).conv2d(weight)
    with pytest.raises(ShapeError, match="exceeds shape"):
        Tensor(X).conv2d(Tensor.zeros(1, 4, 9, 9))
    with pytest.raises(DTypeError, match="image storage"):
        Tensor(X).image_conv2d(weight)


def test_gradient() -> None:
    x, w = RNG.standard_normal((1, 2, 4, 3)), RNG.standard_normal((2, 2, 2, 2))
    check_gradient(lambda a, b: a.conv2d(b, stride=2, padding=1), x, w)
    check_gradient(lambda a, b: a.conv_transpose2d(b, stride=2), x, w)


def test_transposed_convolution_whose_rows_fold_to_zeros() -> None:
    # every other row and column is zero, which takes copies of the sum out of the loop over rows
    draw = np.random.default_rng(0).standard_normal
    x, weight = draw((1, 2, 3, 3)).astype(np.float32), draw((2, 1, 1, 1)).astype(np.float32)
    result = Tensor(x).conv_transpose2d(Tensor(weight), stride=2, output_padding=1)
    wanted = np.zeros((1, 1, 6, 6))
    wanted[0, 0, ::2, ::2] = np.einsum("chw,c->hw", x[0], weight[:, 0, 0, 0])
    np.testing.assert_allclose(result.cast("float64").numpy(), wanted, rtol=1e-5)
