"""Moves keep every bit: all codes of the narrow formats, payloads of NaN, zeros with a sign, the ends
of integers; and what picks or negates values keeps infinities in formats that saturate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tg_core import Tensor, dtypes
from tg_core.dtype import DType
from tg_core.support import floats

DEVICES = ["CPU", "PYTHON"]
WORDS = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}
KINDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
DTYPES = [
    *dtypes.fp8s, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.int8,
    dtypes.uint64,
]  # fmt: skip


def codes_of(dtype: DType) -> np.ndarray:
    """Return all codes of 8 bits; of a wider dtype those with every choice of the first 9 bits, with
    the last and with all others set: both signs, zeros, infinities, NaNs that signal.
    """
    kind = KINDS[dtype.itemsize]
    if dtype.bits == 8:
        return np.arange(256, dtype=np.uint8)
    head = 9
    upper = np.arange(1 << head, dtype=kind) << kind(dtype.bits - head)
    return np.concatenate(
        [upper, upper | kind(1), upper | kind((1 << (dtype.bits - head - 1)) - 1)]
    )


class Moved:
    """Tensors of codes and numpy's view of them, in random order."""

    def __init__(self, dtype: DType, device: str) -> None:
        draw = np.random.default_rng(0)
        self.codes = codes_of(dtype)
        self.size = len(self.codes)
        self.order = draw.permutation(self.size)
        self.others = self.codes[self.order]
        self.chosen = draw.integers(0, 2, self.size).astype(bool)
        self.dtype, self.device = dtype, device

    def tensor(self, array: np.ndarray) -> Tensor:
        """Return an array, codes as values, in storage."""
        held = Tensor(array, device=self.device)
        if array.dtype in (bool, np.int32):
            return held
        return held.bitcast(self.dtype).clone().realize()

    def moves(self) -> dict[str, tuple[Tensor, np.ndarray]]:
        """Return moved tensors and the codes they should hold."""
        a, b, size = self.codes, self.others, self.size
        x, y = self.tensor(a), self.tensor(b)
        mask, order = self.tensor(self.chosen), self.tensor(self.order.astype(np.int32))
        none = np.zeros(2, a.dtype)
        written, target = a.copy(), self.tensor(a)
        written[3:9] = b[3:9]
        target[3:9] = y[3:9]
        masked = self.tensor(a)
        masked[mask] = y[mask]
        other = "PYTHON" if self.device == "CPU" else "CPU"
        return {
            "where": (mask.where(x, y), np.where(self.chosen, a, b)),
            "masked_fill": (x.masked_fill(mask, 0), np.where(self.chosen, 0, a)),
            "shrink and flip": (x[5 : size - 3].flip(0).clone(), a[5 : size - 3][::-1]),
            "step": (x[::3].clone(), a[::3]),
            "pad": (x.pad(((2, 2),)), np.concatenate([none, a, none])),
            "reflect": (x.pad(((2, 3),), mode="reflect"), np.pad(a, (2, 3), mode="reflect")),
            "cat": (x.cat(y, x), np.concatenate([a, b, a])),
            "stack": (Tensor.stack(x, y, dim=1), np.stack([a, b], 1)),
            "transpose": (x.reshape(size // 4, 4).T.clone(), a.reshape(-1, 4).T),
            "repeat": (x.reshape(size, 1).expand(size, 3).clone(), np.repeat(a[:, None], 3, 1)),
            "roll": (x.roll(7, 0), np.roll(a, 7)),
            "lookup": (x[order], a[self.order]),
            "gather": (x.gather(0, order), a[self.order]),
            "write": (target, written),
            "masked write": (masked, np.where(self.chosen, b, a)),
            "scatter": (x.scatter(0, order, y), self.scattered()),
            "copy": (x.to(other).clone().to(self.device), a),
            "bytes": (x.bitcast(dtypes.uint8).clone().bitcast(self.dtype), a),
        }

    def scattered(self) -> np.ndarray:
        """Return the codes after a scatter of the others."""
        result = self.codes.copy()
        result[self.order] = self.others
        return result


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_moves_keep_bits(dtype: DType, device: str) -> None:
    for name, (got, want) in Moved(dtype, device).moves().items():
        bits = got.bitcast(WORDS[dtype.itemsize]).numpy()
        np.testing.assert_array_equal(bits, want, err_msg=name)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", dtypes.fp8s, ids=str)
def test_fp8_maximum_and_minimum_of_all_pairs(dtype: DType, device: str) -> None:
    codes = np.arange(256, dtype=np.uint8)
    values = floats.decode(codes, dtype.name)
    column, row = (
        Tensor(codes, device=device).bitcast(dtype).reshape(s) for s in ((-1, 1), (1, -1))
    )
    with np.errstate(invalid="ignore"):
        cases: list[tuple[Tensor, Callable[..., np.ndarray]]] = [
            (column.maximum(row), np.maximum),
            (column.minimum(row), np.minimum),
        ]
        for got, function in cases:
            want = function(values[:, None], values[None])
            np.testing.assert_array_equal(
                floats.decode(got.bitcast(dtypes.uint8).numpy(), dtype.name), want
            )


@pytest.mark.parametrize("device", DEVICES)
def test_what_picks_or_negates_keeps_infinities(device: str) -> None:
    infinity, largest = 0x7C, 0x7B
    rows = np.array([[0xFC, 0xFC], [0xFC, 0x3C], [infinity, 1]], np.uint8)
    x = Tensor(rows, device=device).bitcast(dtypes.fp8e5m2)
    cases = {
        "max": (x.max(1), [0xFC, 0x3C, infinity]),
        "min": (x.min(1), [0xFC, 0xFC, 1]),
        "neg": (-x, [[infinity, infinity], [infinity, 0xBC], [0xFC, 0x81]]),
        "abs": (x.abs(), [[infinity, infinity], [infinity, 0x3C], [infinity, 1]]),
        "trunc": (x.trunc(), [[0xFC, 0xFC], [0xFC, 0x3C], [infinity, 0]]),
        "sort": (x.sort(1)[0], [[0xFC, 0xFC], [0xFC, 0x3C], [1, infinity]]),
        # arithmetic saturates
        "sum": (x + x, [[0x80 | largest] * 2, [0x80 | largest, 0x40], [largest, 2]]),
        "cast": (Tensor([np.inf, 1.0], device=device).cast(dtypes.fp8e5m2), [largest, 0x3C]),
    }
    for name, (got, want) in cases.items():
        np.testing.assert_array_equal(got.bitcast(dtypes.uint8).numpy(), want, err_msg=name)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.int64])
def test_extrema_of_integers_at_their_ends(kind: type, device: str) -> None:
    info = np.iinfo(kind)
    ends = np.array([info.min, info.min + 1, info.max // 2 + 1, info.max - 1, info.max], kind)
    x = Tensor(ends, device=device)
    column, row = x.reshape(-1, 1), x.reshape(1, -1)
    np.testing.assert_array_equal(
        column.maximum(row).numpy(), np.maximum(ends[:, None], ends[None])
    )
    np.testing.assert_array_equal(
        column.minimum(row).numpy(), np.minimum(ends[:, None], ends[None])
    )
    assert (x.max().item(), x.min().item()) == (info.max, info.min)
