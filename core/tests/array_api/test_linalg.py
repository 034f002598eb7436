"""Linear algebra: identities that define each factorisation, on sizes and stacks of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

import tg_core.array_api as xp
from tg_core import Tensor
from tg_core.errors import ShapeError

RNG = np.random.default_rng(7)
la = xp.linalg


def matrices(*shape: int, dtype: str = "float64") -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


def close(found: Tensor, expected: np.ndarray, units: float = 200) -> None:
    values = found.numpy()
    assert values.dtype == expected.dtype and values.shape == expected.shape
    bound = units * np.finfo(values.dtype).eps * max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(values, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3)])
def test_elimination(shape: tuple[int, ...]) -> None:
    given = matrices(*shape)
    given[..., 0, 0] = 0  # needs an exchange of rows
    x = Tensor(given)
    close(la.inv(x), np.linalg.inv(given), 5000)
    close(la.det(x), np.linalg.det(given))
    sign, logarithm = la.slogdet(x)
    close(sign, np.linalg.slogdet(given)[0])
    close(logarithm, np.linalg.slogdet(given)[1], 2000)
    right = matrices(*shape[:-1], 2)
    close(la.solve(x, Tensor(right)), np.linalg.solve(given, right), 5000)


def test_singular_matrices() -> None:
    x = Tensor(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert la.det(x).item() == 0.0
    assert la.slogdet(x).sign.item() == 0.0 and la.slogdet(x).logabsdet.item() == -np.inf
    assert not np.isfinite(la.inv(x).numpy()).any()
    assert la.matrix_rank(x).item() == 1


def test_matrices_without_rows() -> None:
    x = xp.zeros((0, 0))
    assert la.det(x).item() == 1.0 and la.inv(x).shape == (0, 0)
    assert la.eigvalsh(x).shape == (0,) and la.cholesky(x).shape == (0, 0)
    assert la.svdvals(xp.zeros((0, 3))).shape == (0,)
    assert la.svd(xp.zeros((3, 0))).U.tolist() == np.eye(3).tolist()
    assert la.pinv(xp.zeros((2, 0))).shape == (0, 2)
    assert la.matrix_rank(xp.zeros((2, 0))).item() == 0


def test_constants_have_factors_too() -> None:
    assert la.det(xp.eye(3)).item() == 1.0
    assert la.inv(xp.eye(2) * 2).tolist() == [[0.5, 0.0], [0.0, 0.5]]
    assert la.eigvalsh(xp.eye(3)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cholesky(dtype: str) -> None:
    given = matrices(5, 5, dtype=dtype)
    given = given @ given.T + np.eye(5, dtype=dtype)
    close(la.cholesky(Tensor(given)), np.linalg.cholesky(given), 500)
    close(la.cholesky(Tensor(given), upper=True), np.linalg.cholesky(given).T.copy(), 500)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
def test_qr(shape: tuple[int, ...]) -> None:
    given = matrices(*shape)
    for mode in ("reduced", "complete"):
        q, r = la.qr(Tensor(given), mode=mode)
        close(q @ r, given)
        close(
            q.mT @ q, np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1]))
        )
        assert not np.tril(r.numpy(), -1).any()
    with pytest.raises(ShapeError, match="mode must be"):
        la.qr(Tensor(given), mode="full")


@pytest.mark.parametrize(("size", "dtype"), [(2, "float64"), (4, "float64"), (7, "float32")])
def test_eigh(size: int, dtype: str) -> None:
    given = matrices(size, size, dtype=dtype)
    given = given + given.T
    values, vectors = la.eigh(Tensor(given))
    close(values, np.linalg.eigvalsh(given))
    close((vectors * values) @ vectors.mT, given)
    close(vectors.mT @ vectors, np.eye(size, dtype=dtype))
    assert (np.diff(values.numpy()) >= 0).all()


def test_eigh_reads_the_lower_triangle_and_takes_any_scale() -> None:
    given = np.array([[1.0, np.nan], [2.0, -3.0]])
    close(la.eigvalsh(Tensor(given)), np.linalg.eigvalsh(given))
    for scale in (1e-200, 1e200):
        found = la.eigvalsh(Tensor(given * scale)).numpy()
        np.testing.assert_allclose(found, np.linalg.eigvalsh(given * scale), rtol=1e-14)


def test_eigenvectors_stay_orthonormal_through_many_rounds() -> None:
    # rounding made the angles of a pair differ here, a little in each round
    given = np.array(
        [
            [1.52916586, 1.39033061, -2.62292337],
            [1.39033061, 2.53544998, 2.03947055],
            [-2.62292337, 2.03947055, 0.0],
        ]
    )
    values, vectors = la.eigh(Tensor(given))
    close(vectors.mT @ vectors, np.eye(3), 8)
    close((vectors * values) @ vectors.mT, given, 8)


def test_equal_eigenvalues() -> None:
    given = np.full((4, 4), 1.0) + 2 * np.eye(4)
    values, vectors = la.eigh(Tensor(given))
    close(values, np.array([2.0, 2.0, 2.0, 6.0]))
    close(vectors.mT @ vectors, np.eye(4))


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 2)])
def test_svd(shape: tuple[int, ...]) -> None:
    given = matrices(*shape)
    expected = np.linalg.svd(given)
    for full in (True, False):
        u, s, vh = la.svd(Tensor(given), full_matrices=full)
        wanted = np.linalg.svd(given, full_matrices=full)
        assert (u.shape, s.shape, vh.shape) == tuple(part.shape for part in wanted)
        close(s, expected[1])
        least = s.shape[-1]
        close((u[..., :least] * s[..., None, :]) @ vh[..., :least, :], given)
        close(
            u.mT @ u, np.broadcast_to(np.eye(u.shape[-1]), (*shape[:-2], u.shape[-1], u.shape[-1]))
        )


def test_singular_values_of_zero_have_orthonormal_vectors() -> None:
    given = np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0])
    u, s, vh = la.svd(Tensor(given))
    close(s, np.linalg.svd(given)[1])
    close(u.mT @ u, np.eye(3))
    close(vh @ vh.mT, np.eye(3))
    assert la.matrix_rank(Tensor(given)).item() == 1
    close(la.pinv(Tensor(given)), np.linalg.pinv(given))


def test_ranks_and_pseudoinverses_with_a_tolerance() -> None:
    x = Tensor(np.diag([1.0, 1e-3, 1e-9]))
    assert la.matrix_rank(x).item() == 3
    assert la.matrix_rank(x, rtol=1e-6).item() == 2
    close(la.pinv(x, rtol=1e-6), np.diag([1.0, 1e3, 0.0]))


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norms(order: object) -> None:
    given = matrices(2, 3, 4)
    found = la.matrix_norm(Tensor(given), ord=order)  # type: ignore[arg-type]
    close(found, np.linalg.matrix_norm(given, ord=order))
    assert la.matrix_norm(Tensor(given), keepdims=True).shape == (2, 1, 1)


def test_powers() -> None:
    given = matrices(3, 3)
    for power in (0, 1, 5, -2):
        close(la.matrix_power(Tensor(given), power), np.linalg.matrix_power(given, power), 1e5)


def test_wrong_shapes() -> None:
    with pytest.raises(ShapeError, match="expected square matrices"):
        la.det(xp.ones((2, 3)))
    with pytest.raises(ShapeError, match="expected matrices"):
        la.svd(xp.ones((3,)))
    with pytest.raises(ShapeError, match="do not fit"):
        la.solve(xp.eye(3), xp.ones((2,)))
    with pytest.raises(ShapeError, match="has not size 3"):
        la.cross(xp.ones((2,)), xp.ones((2,)))
    with pytest.raises(ShapeError, match="do not fit"):
        xp.vecdot(xp.ones((2,)), xp.ones((3,)))


def test_gradients_go_through_steps() -> None:
    given = matrices(3, 3) + 3 * np.eye(3)
    x = Tensor(given).is_param_()
    la.slogdet(x).logabsdet.backward()
    assert x.grad is not None
    close(x.grad, np.linalg.inv(given).T.copy(), 2000)
