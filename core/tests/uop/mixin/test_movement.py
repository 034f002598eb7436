"""Movement ops against numpy, their errors, and symbolic sizes."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.errors import IndexingError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import Variable

X = np.arange(24).reshape(2, 3, 4)


def test_reshape_forms() -> None:
    x = Tensor(X)
    assert value(x.reshape(4, -1)).tolist() == X.reshape(4, 6).tolist()
    assert value(x.reshape((None, 12))).tolist() == X.reshape(2, 12).tolist()
    assert x.reshape(2, 3, 4) is x
    assert value(x.view(24)).tolist() == X.reshape(24).tolist()
    assert value(x.flatten(1)).tolist() == X.reshape(2, 12).tolist()
    assert value(x.unflatten(2, (-1, 2))).tolist() == X.reshape(2, 3, 2, 2).tolist()


@pytest.mark.parametrize("shape", [(5, 5), (-1, 7), (-1, -1), (-2, 12)])
def test_reshape_errors(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="reshape"):
        Tensor(X).reshape(shape)


def test_order_of_axes() -> None:
    x = Tensor(X)
    assert value(x.permute(2, 0, 1)).tolist() == X.transpose(2, 0, 1).tolist()
    assert value(x.transpose(0, -1)).tolist() == X.swapaxes(0, 2).tolist()
    assert value(x[0].T).tolist() == X[0].T.tolist()
    assert value(x.flip(0, 2)).tolist() == np.flip(X, (0, 2)).tolist()
    with pytest.raises(ShapeError, match="order"):
        x.permute(0, 1, 1)
    with pytest.raises(IndexingError, match="out of range"):
        x.transpose(0, 3)


def test_expand_and_shrink() -> None:
    x = Tensor(X)
    assert value(x[:, :1].expand(2, 5, -1)).shape == (2, 5, 4)
    assert value(x.shrink(((0, 1), None, (1, 3)))).tolist() == X[0:1, :, 1:3].tolist()
    with pytest.raises(ShapeError, match="does not expand"):
        x.expand(2, 4, 4)
    with pytest.raises(ShapeError, match="outside"):
        x.shrink(((0, 3), None, None))


def test_axes_of_size_one() -> None:
    x = Tensor(X)
    assert x.unsqueeze(-1).shape == (2, 3, 4, 1)
    assert x.unsqueeze(1).squeeze().shape == (2, 3, 4)
    assert x.unsqueeze(1).squeeze(0).shape == (2, 1, 3, 4)
    assert Tensor(5).flatten().shape == (1,)
    with pytest.raises(IndexingError, match="squeeze"):
        x.squeeze(3)


def test_symbolic_sizes() -> None:
    size = Variable("n", 1, 4).bind(3)
    part = Tensor(X).shrink((None, None, (0, size)))
    assert part.shape[2] is size
    assert value(part).tolist() == X[:, :, :3].tolist()
    assert value(part.permute(2, 0, 1)).tolist() == X[:, :, :3].transpose(2, 0, 1).tolist()


def test_gradient() -> None:
    x = np.random.default_rng(0).standard_normal((3, 4))
    check_gradient(
        lambda a: a.permute(1, 0).flip(0).shrink(((1, 3), (0, 2)))._pad_zeros(((1, 0), (0, 2))), x
    )
    check_gradient(lambda a: a.reshape(2, 6).unsqueeze(0).expand(3, 2, 6), x)
