"""Storage of BUFFER nodes."""

from __future__ import annotations

import gc

import pytest

from tg_core.device import Buffer, GlobalCounters, bind_buffer, buffer_of, new_buffer_uop
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError
from tg_core.uop.ops import UOp


def test_a_new_node_has_storage_of_its_own() -> None:
    first = new_buffer_uop("PYTHON", 4, dtypes.int32)
    second = new_buffer_uop("PYTHON", 4, dtypes.int32)
    assert first is not second
    assert first.arg.slot > 0
    buffer = buffer_of(first)
    assert buffer is not None
    assert buffer is not buffer_of(second)
    assert not buffer.is_allocated()
    assert (buffer.size, buffer.dtype, buffer.device) == (4, dtypes.int32, "PYTHON")


def test_names_are_canonical() -> None:
    assert new_buffer_uop("python:0", 4, dtypes.int32).arg.device == "PYTHON"


def test_storage_dies_with_its_node() -> None:
    before = GlobalCounters.mem_used
    node = new_buffer_uop("PYTHON", 100, dtypes.uint8)
    buffer = buffer_of(node)
    assert buffer is not None
    buffer.allocate()
    del buffer
    assert GlobalCounters.mem_used == before + 100
    del node
    gc.collect()
    assert GlobalCounters.mem_used == before


def test_unbound_storage_and_other_nodes_have_none() -> None:
    assert buffer_of(UOp.buffer(4, dtypes.int32, "PYTHON")) is None
    assert buffer_of(UOp.const(1, dtypes.int32)) is None


def test_bind() -> None:
    node = UOp.buffer(4, dtypes.int32, "PYTHON")
    buffer = Buffer("PYTHON", 4, dtypes.int32)
    bind_buffer(node, buffer)
    assert buffer_of(node) is buffer
    with pytest.raises(DeviceError, match="for a BUFFER of 4 int32 on PYTHON"):
        bind_buffer(node, Buffer("PYTHON", 5, dtypes.int32))
    with pytest.raises(DeviceError, match="CONST is not storage"):
        bind_buffer(UOp.const(True), buffer)
