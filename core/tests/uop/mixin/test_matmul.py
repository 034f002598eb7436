"""Matrix products and Einstein sums against numpy."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor

RNG = np.random.default_rng(0)
A = RNG.standard_normal((4, 5, 6)).astype(np.float32)
B = RNG.standard_normal((6, 3)).astype(np.float32)
C = RNG.standard_normal((2, 2, 3)).astype(np.float32)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (A, B),
        (A[0, 0], B),
        (B.T, B[:, 0]),
        (B[:, 0], B[:, 0]),
        (A, A.transpose(0, 2, 1)),
        (A[:1], A.transpose(0, 2, 1)),
    ],
)
def test_matmul(left: np.ndarray, right: np.ndarray) -> None:
    np.testing.assert_allclose(
        value(Tensor(left) @ Tensor(right)), left @ right, rtol=1e-4, atol=1e-5
    )


def test_matmul_dtypes() -> None:
    ints = Tensor([[1, 2], [3, 4]], dtype=dtypes.int8)
    assert (ints @ ints).dtype is dtypes.int8
    half = Tensor(np.full((1, 4096), 4.0), dtype=dtypes.float16)
    assert value(half @ half.T).item() == np.inf
    assert value(half.dot(half.T, dtype=dtypes.float32)).item() == 65536.0
    assert value((half * 0.25) @ half.T).item() == 16384.0


def test_matmul_errors() -> None:
    with pytest.raises(ShapeError, match=r"inner sizes 6 and 5"):
        Tensor(A) @ Tensor(A)
    with pytest.raises(ShapeError, match="need an axis"):
        Tensor(A) @ Tensor(1.0)
    with pytest.raises(DTypeError, match="image storage"):
        Tensor(A).image_dot(Tensor(B))


def test_linear() -> None:
    bias = RNG.standard_normal(3).astype(np.float32)
    got = value(Tensor(A).linear(Tensor(B), Tensor(bias)))
    np.testing.assert_allclose(got, A @ B + bias, rtol=1e-4, atol=1e-5)
    scaled = value(Tensor(A).linear(Tensor(B[:, 0])))
    np.testing.assert_allclose(scaled, A * B[:, 0], rtol=1e-6)


@pytest.mark.parametrize(
    ("formula", "operands"),
    [
        ("iij->ij", [C]),
        ("iij", [C]),
        (" i j , k j -> i k ", [B, B]),
        ("...id,...jd->...ij", [B, B]),
        ("...d,de", [A, B]),
        ("abc,cd->abd", [A, B]),
        ("abc->ca", [A]),
        ("abc,abc", [A, A]),
        ("ij,jk,kl->il", [B, B.T, B]),
        ("ii", [C[0][:, :2]]),
        ("ij->", [B]),
        ("a...->...a", [A]),
    ],
)
def test_einsum(formula: str, operands: list[np.ndarray]) -> None:
    got = value(Tensor.einsum(formula, *(Tensor(o) for o in operands)))
    np.testing.assert_allclose(got, np.einsum(formula, *operands), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("formula", ["ij,jk", "i1->i", "ij->k", "ij->ii", "i->i", "ijk->i"])
def test_einsum_errors(formula: str) -> None:
    with pytest.raises(ShapeError, match="einsum"):
        Tensor.einsum(formula, Tensor(B))


def test_gradient() -> None:
    left, right = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((4, 2))
    check_gradient(lambda a, b: a @ b, left, right)
    check_gradient(lambda a, b: a.einsum("bij,jk->kbi", a, b), left, right)
