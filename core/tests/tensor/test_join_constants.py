"""Very many values that are joined: the values of numpy, in few kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core import Tensor, TinyJit
from tg_core.dtype import DType, dtypes
from tg_core.uop.mixin.shaping import GROUP, MOST_JOINED
from tg_core.uop.ops import Ops

MANY = 80


def kernels(tensor: Tensor) -> int:
    return sum(call.src[0].op is not Ops.COPY for call in tensor.schedule_linear().src)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.int8, dtypes.bool, dtypes.bfloat16])
def test_constants_alone_are_data(dtype: DType) -> None:
    values = [
        number % 3 - 1 if dtype is not dtypes.bool else number % 3 == 0 for number in range(MANY)
    ]
    stacked = Tensor.stack(*[Tensor(value, dtype=dtype) for value in values])
    assert stacked.dtype is dtype and stacked.shape == (MANY,)
    assert kernels(stacked) <= 1
    assert stacked.tolist() == values


def test_the_sign_of_zero_is_kept() -> None:
    stacked = Tensor.stack(*[Tensor(-0.0)] * MANY)
    assert np.signbit(stacked.numpy()).all()


def test_nested_lists_of_scalar_tensors() -> None:
    rows = [[Tensor(float(10 * row + column)) for column in range(3)] for row in range(60)]
    wanted = 10.0 * np.arange(60)[:, None] + np.arange(3)
    np.testing.assert_array_equal(Tensor(rows).numpy(), wanted)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_constants_between_computed_values(dim: int) -> None:
    base = np.arange(MANY, dtype=np.float32).reshape(MANY, 1, 1)
    x = Tensor(base).realize()
    parts = [x[n] * 2 if n % 3 else Tensor(float(n)).reshape(1, 1) for n in range(MANY)]
    wanted = [base[n] * 2 if n % 3 else np.float32([[n]]) for n in range(MANY)]
    np.testing.assert_array_equal(Tensor.cat(*parts, dim=dim).numpy(), np.concatenate(wanted, dim))
    np.testing.assert_array_equal(Tensor.stack(*parts, dim=dim).numpy(), np.stack(wanted, dim))


def test_parts_of_many_sizes_in_groups() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 9, (2, n % 4)).astype(np.int16) for n in range(MANY)]
    joined = Tensor.cat(*[Tensor(a) for a in arrays], dim=1)
    groups = sum(a.shape[1] > 0 for a in arrays) / GROUP
    assert kernels(joined) <= groups + 3
    np.testing.assert_array_equal(joined.numpy(), np.concatenate(arrays, 1))


def test_padded_constants_are_not_their_constant() -> None:
    parts = [Tensor.ones(0).pad((1, 0)) for _ in range(MOST_JOINED + 1)]
    assert Tensor.cat(*parts).tolist() == [0.0] * (MOST_JOINED + 1)


def test_gradients_and_replays() -> None:
    x = Tensor(np.arange(MANY, dtype=np.float32)).realize()
    weight = Tensor(np.arange(MANY, dtype=np.float32) + 1)

    def joined(x: Tensor) -> Tensor:
        return Tensor.stack(*[x[n] * n if n % 5 else Tensor(1.0) for n in range(MANY)])

    (grad,) = (joined(x) * weight).sum().gradient(x)
    numbers = np.arange(MANY)
    wanted = np.where(numbers % 5, numbers * (numbers + 1), 0)
    np.testing.assert_array_equal(grad.numpy(), wanted)
    replayed = TinyJit(lambda x: joined(x).realize())
    for turn in range(4):
        result = replayed(Tensor(np.full(MANY, turn, np.float32)).realize())
        np.testing.assert_array_equal(result.numpy(), np.where(numbers % 5, numbers * turn, 1))


def test_on_another_device() -> None:
    x = Tensor([2.0], device="CPU:1").realize()
    joined = Tensor.cat(*[x if n == 7 else Tensor([1.0], device="CPU:1") for n in range(40)])
    constants = Tensor.stack(*[x[0] if n == 7 else Tensor(1.0) for n in range(40)])
    assert joined.device == constants.device == "CPU:1"
    np.testing.assert_array_equal(constants.numpy(), joined.numpy())
