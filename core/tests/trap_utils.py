"""Helpers of the trap programs: realized buffers, and comparison through float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from tg_core import Tensor


def buf(values: Any, dtype: Any = None) -> Tensor:
    """Return a realized tensor."""
    return Tensor(values, dtype=dtype).contiguous().realize()


def same(found: Any, want: Any, tol: float = 0.0) -> None:
    """Assert equal values, NaN where NaN is wanted."""
    values = found.tolist() if hasattr(found, "tolist") else found
    np.testing.assert_allclose(
        np.array(values, dtype=np.float64),
        np.array(want, dtype=np.float64),
        rtol=tol,
        atol=tol,
        equal_nan=True,
    )
