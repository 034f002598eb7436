"""Checks of positions."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core.engine.position_check import PositionCheck
from tg_core.errors import IndexingError


def test_positions_wrap_once() -> None:
    check = PositionCheck(None, (2, 3), "gather", 1, 4)
    check.check(np.array([0, 3, -4, 1, -1, 2], np.int32))
    for bad, place in ((4, 0), (-5, 5)):
        values = np.zeros(6, np.int64)
        values[place] = bad
        where = divmod(place, 3)
        message = rf"gather: index value {bad} at position \({where[0]}, {where[1]}\) is out of"
        with pytest.raises(IndexingError, match=message):
            check.check(values)
