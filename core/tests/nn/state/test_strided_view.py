"""Views by shape and strides against numpy's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tg_core.errors import ShapeError
from tg_core.nn.state.strided_view import strided_view
from tg_core.tensor import Tensor

COUNT = 60
VALUES = np.arange(COUNT, dtype=np.float32)


@st.composite
def numpy_views(draw: st.DrawFn) -> np.ndarray:
    """Draw a view of the values made by slices, permutations and broadcasts."""
    view = VALUES.reshape(draw(st.sampled_from([(60,), (6, 10), (3, 4, 5), (5, 2, 6)])))
    cuts = []
    for size in view.shape:
        begin = draw(st.integers(0, size - 1))
        cuts.append(slice(begin, draw(st.integers(begin + 1, size)), draw(st.integers(1, 3))))
    view = view[tuple(cuts)].transpose(draw(st.permutations(range(view.ndim))))
    if draw(st.booleans()):
        view = np.broadcast_to(view, (2, *view.shape))
    return view


@settings(max_examples=25, deadline=None, derandomize=True)
@given(view=numpy_views())
def test_views_equal_those_of_numpy(view: np.ndarray) -> None:
    first = VALUES.__array_interface__["data"][0]
    offset = (view.__array_interface__["data"][0] - first) // 4
    strides = [stride // 4 for stride in view.strides]
    found = strided_view(Tensor(VALUES), offset, view.shape, strides)
    np.testing.assert_array_equal(found.numpy(), view)


@pytest.mark.parametrize(
    ("offset", "shape", "strides", "message"),
    [
        (0, (61,), (1,), "reach element 60 of 60"),
        (0, (10, 10), (2, 1), "overlap"),
        (0, (2,), (-1,), "fit no view"),
        (0, (2, 2), (1,), "fit no view"),
        (0, (2**62, 2), (0, 0), "too many elements"),
    ],
)
def test_views_that_do_not_fit_invalid(
    offset: int, shape: tuple[int, ...], strides: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ShapeError, match=message):
        strided_view(Tensor(VALUES), offset, shape, strides)
