"""What the front end composes is evaluated as one function by the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core.tensor import Tensor


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["exp", "cos", "tan", "log", "log10"])
def test_a_composed_function_is_rounded_once(name: str, kind: type) -> None:
    values = np.concatenate([np.linspace(-80, 80, 321), 10.0 ** np.arange(3, 30)]).astype(kind)
    values = values if name in ("cos", "tan") else values[:321]
    values = abs(values) if name.startswith("log") else values
    got = getattr(Tensor(values, device="PYTHON"), name)().numpy()
    with np.errstate(divide="ignore"):
        wanted = getattr(np, name)(values.astype(np.float64)).astype(kind)
    np.testing.assert_array_equal(got, wanted)


def test_an_exponential_of_a_negated_argument() -> None:
    values = np.linspace(-80, 80, 321, dtype=np.float32)
    got = (-Tensor(values, device="PYTHON")).exp().numpy()
    np.testing.assert_array_equal(got, np.exp(-values.astype(np.float64)).astype(np.float32))
