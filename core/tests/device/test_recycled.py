"""Storage that is lent again once nobody has it."""

from __future__ import annotations

import gc

from tg_core.device import GlobalCounters, RecycledStorage, bind_buffer, buffer_of
from tg_core.device.buffer import Buffer
from tg_core.dtype import dtypes
from tg_core.uop.ops import BufferArg

LIKE = BufferArg(1, dtypes.float32, 16, "PYTHON")


def test_what_is_held_is_never_lent_again() -> None:
    storage = RecycledStorage(LIKE)
    lent = [storage.lend() for _ in range(5)]
    assert len({id(b.opaque) for _, b in lent}) == 5
    assert len({node.arg.slot for node, _ in lent}) == 5
    assert all(buffer_of(node) is buffer for node, buffer in lent)


def test_memory_comes_back_with_its_slot() -> None:
    storage = RecycledStorage(LIKE)
    node, buffer = storage.lend()
    opaque, arg = buffer.opaque, node.arg
    del node, buffer
    node, buffer = storage.lend()
    assert buffer.opaque is opaque
    assert node.arg is arg


def test_a_buffer_without_its_node_is_still_held() -> None:
    storage = RecycledStorage(LIKE)
    _, buffer = storage.lend()
    view = buffer.view(4, dtypes.float32, 0)
    del buffer
    gc.collect()
    _, other = storage.lend()
    assert other.opaque is not view.root.opaque


def test_a_node_bound_to_other_storage_keeps_its_slot() -> None:
    storage = RecycledStorage(LIKE)
    node, buffer = storage.lend()
    bind_buffer(node, Buffer("PYTHON", 16, dtypes.float32))
    del buffer
    other, _ = storage.lend()
    assert other is not node


def test_two_idle_blocks_are_kept_until_the_lender_goes() -> None:
    before = GlobalCounters.mem_used
    storage = RecycledStorage(LIKE)
    lent = [storage.lend() for _ in range(8)]
    assert GlobalCounters.mem_used - before == 8 * 64
    lent.clear()
    assert GlobalCounters.mem_used - before == 2 * 64
    late = storage.lend()
    del storage
    assert GlobalCounters.mem_used - before == 64
    del late
    assert GlobalCounters.mem_used == before
