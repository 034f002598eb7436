"""Conversions against the extended types of numpy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

from onnx import helper

from tg_core import Tensor
from tg_core.errors import DTypeError
from tg_core.onnx.casting import converted, element_of_code
from tg_core.onnx.element_types import CODES

SPREAD = np.concatenate(
    [
        np.random.default_rng(0).standard_normal(200) * scale
        for scale in (1e-4, 0.1, 1.0, 30.0, 400.0)
    ]
).astype(np.float32)


@pytest.mark.parametrize("code", [16, 17, 18, 19, 20, 23])
def test_floats_round_as_the_types_do(code: int) -> None:
    element = CODES[code]
    kind = helper.tensor_dtype_to_np_dtype(code)
    top = element.limits[1] if element.limits else min(element.dtype.finite_max, 1e30)
    found = converted(Tensor(SPREAD), element).tensor.float().numpy()
    expected = SPREAD.clip(-top, top).astype(kind).astype(np.float32)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("code", [17, 18, 19, 20])
def test_without_saturation_overflow_is_infinite_or_nan(code: int) -> None:
    kind = helper.tensor_dtype_to_np_dtype(code)
    top = CODES[code].dtype.finite_max
    x = np.array(
        [top, top * 1.01, top * 1.1, top * 2, -top * 2, np.inf, -np.inf, np.nan], np.float32
    )
    found = converted(Tensor(x), CODES[code], saturate=False).tensor.float().numpy()
    with np.errstate(all="ignore"):
        expected = x.astype(kind).astype(np.float32)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_powers_of_two(mode: str) -> None:
    x = np.array([1.0, 1.25, 1.5, 1.75, 3.0, 2.0**-130, 1e30], np.float32)
    found = converted(Tensor(x), CODES[24], round_mode=mode).tensor.numpy()
    low = np.exp2(np.floor(np.log2(x.astype(np.float64))))
    low = np.maximum(low, 2.0**-127)
    if mode == "up":
        expected = np.where(x > low, low * 2, low)
    elif mode == "down":
        expected = low
    else:
        expected = np.where(x >= low * 1.5, low * 2, low)
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize("code", [21, 22, 25, 26])
def test_narrow_integers_keep_their_low_bits(code: int) -> None:
    element = CODES[code]
    assert element.limits is not None
    low, high = element.limits
    x = np.arange(-20, 20, dtype=np.int32)
    found = converted(Tensor(x), element)
    assert found.element is element
    assert found.tensor.tolist() == [(int(n) - low) % (high - low + 1) + low for n in x]
    floats = converted(Tensor(x.astype(np.float32)), element).tensor.tolist()
    assert floats == [int(n) if low <= n <= high else 0 for n in x]


def test_unknown_types_are_named() -> None:
    with pytest.raises(DTypeError, match="complex64: no dtype here"):
        element_of_code(14)
    with pytest.raises(DTypeError, match="unknown element type 77"):
        element_of_code(77)
