"""Losses against their formulas in numpy."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor

RNG = np.random.default_rng(0)
SCORES = RNG.standard_normal((4, 5)).astype(np.float32)
LABELS = RNG.integers(0, 5, 4)
LOG = SCORES - np.log(np.exp(SCORES).sum(1, keepdims=True))
PICKED = LOG[np.arange(4), LABELS]


def test_cross_entropy() -> None:
    x, y = Tensor(SCORES), Tensor(LABELS)
    np.testing.assert_allclose(value(x.cross_entropy(y)), -PICKED.mean(), rtol=1e-5)
    np.testing.assert_allclose(value(x.cross_entropy(y, "none")), -PICKED, rtol=1e-5)
    smooth = -(PICKED * 0.9 + LOG.mean(1) * 0.1)
    np.testing.assert_allclose(
        value(x.cross_entropy(y, "sum", label_smoothing=0.1)), smooth.sum(), rtol=1e-5
    )
    shares = np.eye(5, dtype=np.float32)[LABELS]
    got = value(x.cross_entropy(Tensor(shares), label_smoothing=0.1))
    np.testing.assert_allclose(got, smooth.mean(), rtol=1e-5)


def test_sparse_and_nll() -> None:
    x, y = Tensor(SCORES), Tensor(LABELS)
    np.testing.assert_allclose(
        value(x.sparse_categorical_crossentropy(y)), -PICKED.mean(), rtol=1e-5
    )
    ignored = int(LABELS[0])
    kept = LABELS != ignored
    got = value(x.sparse_categorical_crossentropy(y, ignore_index=ignored))
    np.testing.assert_allclose(got, -PICKED[kept].mean(), rtol=1e-5)
    weight = RNG.uniform(0.5, 2, 5).astype(np.float32)
    scale = weight[LABELS] * kept
    got = value(Tensor(LOG).nll_loss(y, Tensor(weight), ignore_index=ignored))
    np.testing.assert_allclose(got, -(PICKED * scale).sum() / scale.sum(), rtol=1e-5)


def test_nll_over_images() -> None:
    scores = RNG.standard_normal((2, 3, 4)).astype(np.float32)
    labels = RNG.integers(0, 3, (2, 4))
    wanted = -np.take_along_axis(scores, labels[:, None], 1)[:, 0]
    np.testing.assert_allclose(
        value(Tensor(scores).nll_loss(Tensor(labels), reduction="none")), wanted
    )


def test_binary() -> None:
    chance = RNG.uniform(0.05, 0.95, 6).astype(np.float32)
    target = RNG.integers(0, 2, 6).astype(np.float32)
    wanted = -(target * np.log(chance) + (1 - target) * np.log(1 - chance))
    got = value(Tensor(chance).binary_crossentropy(Tensor(target), "none"))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    logits = np.log(chance / (1 - chance))
    got = value(Tensor(logits).binary_crossentropy_logits(Tensor(target)))
    np.testing.assert_allclose(got, wanted.mean(), rtol=1e-5)
    weighted = -(3 * target * np.log(chance) + (1 - target) * np.log(1 - chance))
    got = value(Tensor(logits).binary_crossentropy_logits(Tensor(target), "sum", Tensor(3.0)))
    np.testing.assert_allclose(got, weighted.sum(), rtol=1e-5)
    assert value(Tensor([0.0]).binary_crossentropy(Tensor([1.0]))) == 100.0


def test_errors() -> None:
    x, y = Tensor(SCORES), Tensor(LABELS)
    with pytest.raises(ShapeError, match=r"expected \(4,\)"):
        x.cross_entropy(y[:3])
    with pytest.raises(ShapeError, match="label_smoothing"):
        x.cross_entropy(y, label_smoothing=2.0)
    with pytest.raises(DTypeError, match="must be integers"):
        x.nll_loss(Tensor([0.0] * 4))
    with pytest.raises(DTypeError, match="reduction must be"):
        x.cross_entropy(y, "average")


def test_gradient() -> None:
    x = RNG.standard_normal((3, 4))
    shares = np.eye(4)[[0, 2, 1]]
    check_gradient(lambda a, b: a.cross_entropy(b), x, shares)
