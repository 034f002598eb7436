"""Masked accesses of every width compile: an LLVM pass aborts the process on some of them."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core import Tensor


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float64"])
def test_padding_of_three_axes(dtype: str) -> None:
    values = np.arange(6 * 37 * 5).reshape(6, 37, 5).astype(dtype)
    got = Tensor(values, device="CPU").pad(((1, 2), (0, 3), (4, 0))).numpy()
    np.testing.assert_array_equal(got, np.pad(values, ((1, 2), (0, 3), (4, 0))))
