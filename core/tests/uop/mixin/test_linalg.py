"""Factorisations: the factors multiply back and are orthogonal."""

import numpy as np
import pytest
from tensor_eval import value

from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor

RNG = np.random.default_rng(0)


def _is_orthonormal(columns: np.ndarray) -> None:
    gram = columns.swapaxes(-1, -2) @ columns
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(gram.shape[-1]), gram.shape), atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3), (1, 1), (3, 1)])
def test_qr(shape: tuple[int, ...]) -> None:
    matrix = RNG.standard_normal(shape).astype(np.float32)
    q, r = (value(t) for t in Tensor(matrix).qr())
    assert q.shape[-1] == r.shape[-2] == min(shape[-2:])
    np.testing.assert_allclose(q @ r, matrix, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(r, np.triu(r))
    _is_orthonormal(q)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3), (1, 1), (3, 1)])
def test_svd(shape: tuple[int, ...], full: bool) -> None:
    matrix = RNG.standard_normal(shape).astype(np.float32)
    u, s, vt = (value(t) for t in Tensor(matrix).svd(full))
    theirs = np.linalg.svd(matrix, full_matrices=full)
    assert (u.shape, vt.shape) == (theirs[0].shape, theirs[2].shape)
    np.testing.assert_allclose(s, theirs[1], rtol=1e-4, atol=1e-5)
    k = s.shape[-1]
    back = (u[..., :k] * s[..., None, :]) @ vt[..., :k, :]
    np.testing.assert_allclose(back, matrix, rtol=1e-4, atol=1e-4)
    _is_orthonormal(u)
    _is_orthonormal(vt.swapaxes(-1, -2))


def test_svd_of_low_rank() -> None:
    matrix = np.outer([1.0, 2, 3], [1.0, 1, 1]).astype(np.float32)
    u, s, vt = (value(t) for t in Tensor(matrix).svd())
    np.testing.assert_allclose(u @ np.diag(s) @ vt, matrix, atol=1e-4)
    _is_orthonormal(u)
    _is_orthonormal(vt)


def test_newton_schulz_and_errors() -> None:
    matrix = RNG.standard_normal((4, 6)).astype(np.float32)
    got = value(Tensor(matrix).newton_schulz(12, (1.5, -0.5)))
    np.testing.assert_allclose(np.linalg.svd(got)[1], np.ones(4), atol=1e-2)
    with pytest.raises(ShapeError, match="expected matrices"):
        Tensor([1.0]).qr()
    with pytest.raises(DTypeError, match="expected a float"):
        Tensor([[1]]).svd()
