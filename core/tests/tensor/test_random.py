"""Random numbers: reproducible, the same on every device, with the right moments."""

import numpy as np
import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import Ops, UOp


@pytest.fixture(autouse=True)
def seeded() -> None:
    Tensor.manual_seed(42)


def test_threefry_known_answers() -> None:
    # Random123 1.09, kat_vectors, threefry2x32 with 20 rounds
    def words(low: int, high: int) -> Tensor:
        return Tensor([high << 32 | low], dtype=dtypes.uint64)

    ones = 0xFFFFFFFF
    vectors = [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ones, ones), (ones, ones), (0x1CB996FC, 0xBB002BE7)),
        ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
    ]
    for counter, key, wanted in vectors:
        got = int(words(*counter).threefry(words(*key)).item())
        assert (got & ones, got >> 32) == wanted


def test_same_numbers_on_every_device() -> None:
    first = Tensor.rand(7).tolist()
    Tensor.manual_seed(42)
    assert Tensor.rand(7, device="PYTHON").tolist() == first
    Tensor.manual_seed(43)
    assert Tensor.rand(7).tolist() != first


def test_counter_is_taken_when_built() -> None:
    a, b = Tensor.rand(4), Tensor.rand(4)
    late, early = b.tolist(), a.tolist()
    assert late != early
    Tensor.manual_seed(42)
    assert Tensor.rand(4).tolist() == early


def test_draws_share_their_graph() -> None:
    def unbound(draw: Tensor) -> UOp:
        nodes = draw.uop.toposort()
        return draw.uop.substitute({n: n.src[0] for n in nodes if n.op is Ops.BIND})

    first, second = Tensor.rand(4, contiguous=False), Tensor.rand(4, contiguous=False)
    assert first.uop is not second.uop
    assert unbound(first) is unbound(second)


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64])
def test_uniform_moments(dtype: object) -> None:
    x = Tensor.rand(4000, dtype=dtype).numpy()
    assert x.min() >= 0 and x.max() < 1
    assert abs(x.astype(np.float64).mean() - 0.5) < 0.02
    assert abs(x.astype(np.float64).var() - 1 / 12) < 0.01


def test_normal_moments() -> None:
    x = Tensor.normal(4000, mean=3.0, std=2.0).numpy()
    assert abs(x.mean() - 3) < 0.15 and abs(x.std() - 2) < 0.15
    assert abs(((x - 3) ** 3).mean()) < 1.5
    assert np.isfinite(Tensor.randn(4000).numpy()).all()


def test_integers() -> None:
    x = Tensor.randint(5000, low=-2, high=3)
    counts = np.bincount(x.numpy() + 2, minlength=5)
    assert x.dtype is dtypes.int32 and len(counts) == 5 and counts.min() > 800
    assert sorted(Tensor.randperm(50).tolist()) == list(range(50))
    assert Tensor.uniform(3, low=0, high=9, dtype=dtypes.int8).dtype is dtypes.int8


def test_initialisers() -> None:
    for name, bound in (("scaled_uniform", 300**-0.5), ("glorot_uniform", (6 / 40) ** 0.5)):
        x = getattr(Tensor, name)(10, 30).numpy()
        assert 0.8 * bound < np.abs(x).max() <= bound
    assert abs(Tensor.kaiming_normal(200, 30, a=0.0).numpy().std() - (2 / 30) ** 0.5) < 0.01
    assert Tensor.kaiming_uniform(10, 30).shape == (10, 30)


def test_multinomial() -> None:
    weights = Tensor([1.0, 3.0, 0.0])
    drawn = weights.multinomial(2000, replacement=True).numpy()
    shares = np.bincount(drawn, minlength=3) / 2000
    assert abs(shares[1] - 0.75) < 0.05 and shares[2] == 0
    rows = Tensor([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]).multinomial(2).numpy()
    assert all(len(set(row)) == 2 for row in rows.tolist()) and 0 not in rows[1]


def test_dropout_keeps_its_mask() -> None:
    x = Tensor([1.0] * 200)
    assert x.dropout(0.5) is x
    with Tensor.train():
        dropped = x.dropout(0.25)
    (grad,) = dropped.sum().gradient(x)
    got = dropped.numpy()
    assert set(got.round(4).tolist()) == {0.0, np.float32(4 / 3).round(4)}
    np.testing.assert_array_equal(grad.numpy(), got)
    assert not Tensor.training


def test_errors_and_empty() -> None:
    assert Tensor.rand(0, 3).shape == (0, 3)
    with pytest.raises(DTypeError, match="expected a float dtype"):
        Tensor.rand(3, dtype=dtypes.int32)
    with pytest.raises(ShapeError, match="sizes must be ints >= 0"):
        Tensor.rand(-1)
    with pytest.raises(ShapeError, match="empty or wider"):
        Tensor.randint(3, low=5, high=5)
    with pytest.raises(ShapeError, match="without replacement"):
        Tensor([1.0, 1.0]).multinomial(3)
    with pytest.raises(ShapeError, match="dropout"):
        Tensor([1.0]).dropout(1.5)
