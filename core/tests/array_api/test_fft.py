"""What of the Fourier extension needs no complex numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tg_core.array_api as xp
from tg_core.errors import DTypeError, ShapeError


@pytest.mark.parametrize("count", [1, 4, 5])
def test_frequencies(count: int) -> None:
    for name in ("fftfreq", "rfftfreq"):
        found = getattr(xp.fft, name)(count, d=0.5).numpy()
        np.testing.assert_array_equal(found, getattr(np.fft, name)(count, 0.5).astype(np.float32))


def test_shifts_undo_each_other() -> None:
    given = np.arange(15).reshape(3, 5)
    x = xp.asarray(given)
    np.testing.assert_array_equal(xp.fft.fftshift(x).numpy(), np.fft.fftshift(given))
    np.testing.assert_array_equal(xp.fft.fftshift(x, axes=1).numpy(), np.fft.fftshift(given, 1))
    np.testing.assert_array_equal(xp.fft.ifftshift(xp.fft.fftshift(x)).numpy(), given)


def test_transforms_say_what_they_miss() -> None:
    with pytest.raises(DTypeError, match="rfft needs complex data types"):
        xp.fft.rfft(xp.ones((4,)))
    with pytest.raises(ShapeError, match="at least one sample"):
        xp.fft.fftfreq(0)
