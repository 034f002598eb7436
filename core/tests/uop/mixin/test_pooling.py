"""Pooling against loops in numpy."""

import itertools

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.errors import ShapeError
from tg_core.tensor import Tensor

X = np.random.default_rng(0).standard_normal((2, 4, 7, 6)).astype(np.float32)
CASES = [
    ((2, 2), (2, 2), (0, 0), (1, 1), False),
    ((3, 2), (2, 1), (1, 0), (1, 1), True),
    ((3, 3), (2, 2), (1, 1), (1, 1), True),
    ((2, 2), (3, 3), (0, 0), (2, 2), True),
    ((2, 3), (1, 2), (0, 1), (2, 1), False),
]


def pooled(x, kernel, stride, padding, dilation, ceil, average, include_pad=True):  # type: ignore[no-untyped-def]
    spatial, sizes = len(kernel), x.shape[-len(kernel) :]
    counts = []
    for i in range(spatial):
        room = sizes[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1
        count = (-(-room // stride[i]) if ceil else room // stride[i]) + 1
        if ceil and (count - 1) * stride[i] >= sizes[i] + padding[i]:
            count -= 1
        counts.append(count)
    out = np.zeros((*x.shape[:-spatial], *counts), np.float32)
    for at in itertools.product(*map(range, counts)):
        places = [
            [at[i] * stride[i] - padding[i] + dilation[i] * j for j in range(kernel[i])]
            for i in range(spatial)
        ]
        found, number = [], 0
        for place in itertools.product(*places):
            if all(0 <= p < size for p, size in zip(place, sizes, strict=True)):
                found.append(x[(..., *place)])
                number += 1
            elif include_pad:
                number += all(
                    -pad <= p < size + pad
                    for p, size, pad in zip(place, sizes, padding, strict=True)
                )
        out[(..., *at)] = np.sum(found, 0) / number if average else np.max(found, 0)
    return out


@pytest.mark.parametrize("case", CASES)
def test_max_pool(case) -> None:  # type: ignore[no-untyped-def]
    kernel, stride, padding, dilation, ceil = case
    got, index = Tensor(X).max_pool2d(kernel, stride, dilation, padding, ceil, return_indices=True)
    wanted = pooled(X, kernel, stride, padding, dilation, ceil, False)
    np.testing.assert_array_equal(value(got), wanted)
    flat = value(index).reshape(2, 4, -1)
    found = np.take_along_axis(X.reshape(2, 4, -1), flat, 2)
    np.testing.assert_array_equal(found, wanted.reshape(2, 4, -1))


@pytest.mark.parametrize("include_pad", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_avg_pool(case, include_pad: bool) -> None:  # type: ignore[no-untyped-def]
    kernel, stride, padding, dilation, ceil = case
    got = Tensor(X).avg_pool2d(kernel, stride, dilation, padding, ceil, include_pad)
    wanted = pooled(X, kernel, stride, padding, dilation, ceil, True, include_pad)
    np.testing.assert_allclose(value(got), wanted, rtol=1e-4, atol=1e-6)


def test_unpool_puts_values_back() -> None:
    best, index = Tensor(X).max_pool2d((2, 2), return_indices=True)
    back = value(best.max_unpool2d(index, output_size=(7, 6)))
    assert back.shape == X.shape
    assert np.count_nonzero(back) == best.numel()
    np.testing.assert_array_equal(back[back != 0], X[back != 0])


def test_integers_one_axis_and_errors() -> None:
    assert value(Tensor([[-3, -5, -4]]).max_pool2d((2,), 1, padding=1)).tolist() == [
        [-3, -3, -4, -4]
    ]
    with pytest.raises(ShapeError, match="a window of 9"):
        Tensor(X).max_pool2d((9, 2))
    with pytest.raises(ShapeError, match="must be positive"):
        Tensor(X).avg_pool2d((2, 2), stride=0)
    with pytest.raises(ShapeError, match="padding"):
        Tensor(X).avg_pool2d((2, 2), padding=(1, 1, 1))


def test_gradient() -> None:
    x = np.random.default_rng(0).standard_normal((1, 1, 5, 4))
    check_gradient(lambda a: a.max_pool2d((2, 2), 1), x)
    check_gradient(lambda a: a.avg_pool2d((3, 2), 2, 1, 1, True), x)


def test_ceil_mode_with_a_window_that_exceeds_the_axis() -> None:
    x = Tensor([[[[1.0, 5.0, 3.0]]]])
    # the window of reach 5 hangs over by 2, and sees the first and the last value
    assert value(x.max_pool2d((1, 3), dilation=2, ceil_mode=True)).tolist() == [[[[3.0]]]]
    with pytest.raises(ShapeError, match="a window of 5 exceeds an axis of 3"):
        x.max_pool2d((1, 3), dilation=2)
    with pytest.raises(ShapeError, match="a window of 5 exceeds an axis of 3"):
        x.max_pool2d((1, 3), dilation=2, stride=1, ceil_mode=True)
