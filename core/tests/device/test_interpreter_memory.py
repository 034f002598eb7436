from __future__ import annotations

import numpy as np

from tg_core.device.interpreter_memory import argument_storage, store
from tg_core.dtype import dtypes


def stored(index: list[int], values: list[int], active: list[bool] | None = None) -> list[int]:
    cells = np.zeros(6, np.int32)
    storage = argument_storage("memory", dtypes.int32, 6, cells)
    gate = None if active is None else np.array(active)
    store(storage, np.array(index, np.int32), 0, np.array(values, np.int32), gate)
    return cells.tolist()


def test_items_write_where_their_index_says() -> None:
    assert stored([4, 0, 2], [7, 8, 9]) == [8, 0, 9, 0, 7, 0]


def test_of_items_that_write_one_element_the_last_wins() -> None:
    assert stored([3, 3, 3], [1, 2, 5]) == [0, 0, 0, 5, 0, 0]
    assert stored([3], [1, 2, 5]) == [0, 0, 0, 5, 0, 0]


def test_one_value_for_several_elements() -> None:
    assert stored([1, 2], [6]) == [0, 6, 6, 0, 0, 0]


def test_items_that_are_not_active_write_nothing() -> None:
    assert stored([0, 1, 99], [1, 2, 3], [True, False, False]) == [1, 0, 0, 0, 0, 0]
    assert stored([3], [1, 2, 5], [True, True, False]) == [0, 0, 0, 2, 0, 0]
