from __future__ import annotations

import pytest
from hcq_utils import filled, ramp, storage

from tg_core.dtype import dtypes
from tg_core.errors import ScheduleError
from tg_core.hcq.arguments import base_of, call_device, parse_argument, resolve
from tg_core.uop.ops import Ops, UOp


def part(node: UOp, begin: int, end: int) -> UOp:
    return node._movement(Ops.SHRINK, ((begin, end),))


def test_offsets_of_nested_views_add_up_in_bytes() -> None:
    base = storage(3)
    inner = part(part(base, 8, 40).bitcast(dtypes.uint8), 16, 32)
    found = parse_argument(inner)
    assert found.base is base
    assert (found.offset, found.size, found.dtype, found.whole) == (48, 16, dtypes.uint8, False)


def test_whole_storage_is_the_buffer_itself() -> None:
    buffer = filled(0)
    written = storage(0).after(storage(0).store(storage(1)))
    assert resolve(parse_argument(storage(0)), [buffer]) is buffer
    assert resolve(parse_argument(written), [buffer]) is buffer


def test_a_part_is_a_view_of_the_buffer() -> None:
    found = resolve(parse_argument(part(storage(1), 4, 6)), [0, filled(5)])
    assert found.numpy().tolist() == ramp(9, 2).tolist()


def test_a_variable_is_its_own_base() -> None:
    variable = UOp.variable("n", 0, 9, slot=2)
    assert base_of(variable) is variable


def test_values_are_no_storage() -> None:
    with pytest.raises(ScheduleError, match="ADD over ADD is no storage"):
        base_of(storage(0) + storage(1))


def test_a_call_runs_where_its_first_storage_is() -> None:
    body = UOp(Ops.COPY, (storage(1),), "NULL")
    assert call_device(UOp.call(body, storage(0, device="NULL"), storage(1))) == "NULL"
