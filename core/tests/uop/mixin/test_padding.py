"""Padding in all modes against numpy."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.errors import ShapeError
from tg_core.tensor import Tensor

X = np.random.default_rng(0).standard_normal((4, 5, 6)).astype(np.float32)


@pytest.mark.parametrize(
    ("mode", "theirs"),
    [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")],
)
def test_pad_modes(mode: str, theirs: str) -> None:
    amounts = ((1, 2), (0, 1), (2, 0))
    np.testing.assert_array_equal(
        value(Tensor(X).pad(amounts, mode=mode)), np.pad(X, amounts, mode=theirs)
    )


def test_pad_forms() -> None:
    x = Tensor(X)
    wanted = np.pad(X, ((0, 0), (0, 0), (1, 2)), constant_values=7)
    np.testing.assert_array_equal(value(x.pad((1, 2), value=7)), wanted)
    np.testing.assert_array_equal(
        value(x.pad((None, (-1, 1), None))), np.pad(X[:, 1:], ((0, 0), (0, 1), (0, 0)))
    )
    assert x.pad_to(4, 7, None).shape == (4, 7, 6)
    low = value(x.pad((1, 0), value=-np.inf))
    assert np.isneginf(low[..., 0]).all()
    with pytest.raises(ShapeError, match="mode must be"):
        x.pad((1, 1), mode="mirror")
    with pytest.raises(ShapeError, match="expected up to 6"):
        x.pad((1,))
    with pytest.raises(ShapeError, match="reflect by"):
        x.pad((6, 0), mode="reflect")
    with pytest.raises(ShapeError, match="does not grow"):
        x.pad_to(3, 5, 6)


def test_gradient() -> None:
    x = np.random.default_rng(0).standard_normal((3, 4))
    check_gradient(lambda a: a.pad(((1, 1), (2, 0)), mode="reflect"), x)
    check_gradient(lambda a: a.pad((1, 2), value=3.0), x)
