"""Storage that is lent again once nobody has it."""

from __future__ import annotations

import gc

from tg_core.device import GlobalCounters, RecycledStorage, bind_buffer, buffer_of
from tg_core.device.buffer import Buffer
from tg_core.dtype import dtypes
from tg_core.uop.ops import BufferArg, Ops, UOp

LIKE = BufferArg(1, dtypes.float32, 16, "PYTHON")


def held(storage: RecycledStorage) -> tuple[UOp, Buffer]:
    block = storage.lend()
    return block.node, block.buffer


def test_what_is_held_is_never_lent_again() -> None:
    storage = RecycledStorage(LIKE)
    lent = [held(storage) for _ in range(5)]
    assert len({id(b.opaque) for _, b in lent}) == 5
    assert len({node.arg.slot for node, _ in lent}) == 5
    assert all(buffer_of(node) is buffer for node, buffer in lent)


def test_memory_comes_back_with_its_slot() -> None:
    storage = RecycledStorage(LIKE)
    node, buffer = held(storage)
    opaque, arg = buffer.opaque, node.arg
    del node, buffer
    node, buffer = held(storage)
    assert buffer.opaque is opaque
    assert node.arg is arg


def test_a_buffer_without_its_node_is_still_held() -> None:
    storage = RecycledStorage(LIKE)
    _, buffer = held(storage)
    view = buffer.view(4, dtypes.float32, 0)
    del buffer
    gc.collect()
    _, other = held(storage)
    assert other.opaque is not view.root.opaque


def test_a_node_bound_to_other_storage_keeps_its_slot() -> None:
    storage = RecycledStorage(LIKE)
    node, buffer = held(storage)
    bind_buffer(node, Buffer("PYTHON", 16, dtypes.float32))
    del buffer
    other, _ = held(storage)
    assert other is not node


def test_two_idle_blocks_are_kept_until_the_lender_goes() -> None:
    before = GlobalCounters.mem_used
    storage = RecycledStorage(LIKE)
    lent = [held(storage) for _ in range(8)]
    assert GlobalCounters.mem_used - before == 8 * 64
    lent.clear()
    assert GlobalCounters.mem_used - before == 2 * 64
    late = held(storage)
    del storage
    assert GlobalCounters.mem_used - before == 64
    del late
    assert GlobalCounters.mem_used == before


def test_a_block_that_somebody_sees_is_not_idle() -> None:
    storage = RecycledStorage(LIKE)
    block = storage.lend()
    assert block.is_idle()
    assert block.view((4, 4)) is block.view((4, 4))
    assert block.is_idle()
    holders = [
        block.node,
        block.buffer,
        block.view((4, 4)),
        block.node._movement(Ops.SHRINK, ((0, 3),)),
        block.view((4, 4))._movement(Ops.SHRINK, ((0, 1), (0, 4))),
        block.view((2, 8)),
        block.buffer.view(3, dtypes.float32, 4),
        block.buffer.as_memoryview(),
    ]
    while holders:
        assert not block.is_idle(), holders[-1]
        assert storage.lend() is not block
        holders = holders[:-1]
        storage._blocks = (block,)
    assert storage.lend() is block
