"""Device and open loops of nodes."""

from __future__ import annotations

import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DeviceMismatch
from tg_core.uop.ops import AxisType, Ops, UOp, Variable

r0, r1, r2 = (UOp.range(4 + i, i, AxisType.REDUCE if i == 2 else AxisType.LOOP) for i in range(3))


def on(device: str | None, slot: int = 0) -> UOp:
    return UOp.param(slot, dtypes.float32, (4,), device)


def test_devices() -> None:
    x = on("NULL")
    one = UOp.const(1.0, dtypes.float32)
    assert one.device is None
    assert (x + 1.0).device == "NULL"
    assert x.copy_to("PYTHON").device == "PYTHON"
    assert x.store(on("CPU")).device == "NULL"
    assert x.after(x.store(x + 1.0)).device == "NULL"
    assert x.index(UOp.const(0)).load().device == "NULL"
    assert UOp.sink(x).device is None
    assert UOp.call(UOp.sink(x), x).device is None
    assert x.copy_to(("A", "B")).device == ("A", "B")
    assert Variable("n", 0, 3).bind(2).device is None


def test_mixed_devices_name_both_operands() -> None:
    with pytest.raises(
        DeviceMismatch,
        match=r"add: .*float32 on NULL and .*float32 on PYTHON; move one with .to\(\)",
    ):
        (on("NULL") + on("PYTHON", 1)).device


def test_ranges_in_order_of_first_use() -> None:
    assert (r1 + r0 * r1).ranges == (r1, r0)
    assert UOp.const(3).ranges == ()
    inner = UOp.range(r0 + 1, 9)
    assert inner.ranges == (r0, inner)


def test_ends_and_reductions_close_loops() -> None:
    value = on("NULL").index(r0 * 5 + r2).load()
    assert value.ranges == (r0, r2)
    assert value.reduce(Ops.ADD, r2).ranges == (r0,)
    assert (value.reduce(Ops.ADD, r2) + r1.cast(dtypes.float32)).ranges == (r0, r1)
    store = on("NULL", 1).index(r0).store(value.reduce(Ops.ADD, r2))
    assert store.end(r0).ranges == ()
    assert on("NULL", 1).after(store.end(r0)).ranges == ()


def test_loops_of_a_called_body_are_its_own() -> None:
    assert UOp.call(UOp.sink(r0 + r1), r2).ranges == (r2,)
