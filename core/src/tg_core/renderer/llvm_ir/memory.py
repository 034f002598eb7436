"""Addresses, loads and stores in LLVM IR.

Accesses are aligned to their element. A gate of one value becomes a branch; a gate of lanes becomes
a masked access when the lanes are contiguous, else a branch per lane. Memory whose gate is false is
never touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.renderer.llvm_ir.lanes import render_lane
from tg_core.renderer.llvm_ir.types import memory_type, overload, value_type, with_lanes
from tg_core.renderer.utils import is_storage, lanes_of

if TYPE_CHECKING:
    from tg_core.dtype import DType
    from tg_core.renderer.llvm_ir.kernel import Kernel
    from tg_core.uop.ops import UOp


def address(kernel: Kernel, storage: UOp, position: UOp, index: str) -> str:
    """Return a pointer to an element.

    Args:
        kernel: the function.
        storage: PARAM or BUFFER.
        position: the node the index comes from, for its dtype.
        index: the index as a scalar value.
    """
    builder = kernel.builder
    kind = value_type(position.dtype)
    if dtypes.is_unsigned(position.dtype) and position.dtype.bits < 64:
        # LLVM extends the sign of narrow indices
        index = builder.value(f"zext {kind} {index} to i64")
        kind = "i64"
    element, base = memory_type(storage.dtype), kernel.operand(storage)
    pointer = kernel.renderer.pointer_type(storage)
    return builder.value(f"getelementptr inbounds {element}, {pointer} {base}, {kind} {index}")


def render_index(kernel: Kernel, uop: UOp) -> str | None:
    """Render INDEX: the address of an element of storage, or lanes of a value.

    A vector of indices has no address; LOAD and STORE take it lane by lane.
    """
    storage, position = uop.src
    if not is_storage(storage):
        return render_lane(kernel, uop)
    if lanes_of(position):
        return None
    return address(kernel, storage, position, kernel.operand(position))


def _from_memory(kernel: Kernel, value: str, dtype: DType, lanes: int) -> str:
    if dtype is not dtypes.bool:
        return value
    zero = "zeroinitializer" if lanes else "0"
    return kernel.builder.value(f"icmp ne {memory_type(dtype, lanes)} {value}, {zero}")


def _to_memory(kernel: Kernel, value: str, dtype: DType, lanes: int) -> str:
    if dtype is not dtypes.bool:
        return value
    source, target = value_type(dtype, lanes), memory_type(dtype, lanes)
    return kernel.builder.value(f"zext {source} {value} to {target}")


def _gather(index: UOp) -> bool:
    return bool(lanes_of(index.src[1]))


def _storage_of(uop: UOp) -> UOp:
    index = uop.src[0]
    storage: UOp = index.src[0]
    if not is_storage(storage):
        raise CompileError(f"{uop.op.name}: {storage.op.name} is not storage")
    return storage


def _load(kernel: Kernel, pointer: str, storage: UOp, lanes: int) -> str:
    kind, space = memory_type(storage.dtype, lanes), kernel.renderer.pointer_type(storage)
    value = kernel.builder.value(f"load {kind}, {space} {pointer}, align {storage.dtype.itemsize}")
    return _from_memory(kernel, value, storage.dtype, lanes)


def _store(kernel: Kernel, pointer: str, storage: UOp, value: str, lanes: int) -> None:
    kind, space = memory_type(storage.dtype, lanes), kernel.renderer.pointer_type(storage)
    text = _to_memory(kernel, value, storage.dtype, lanes)
    kernel.builder.line(f"store {kind} {text}, {space} {pointer}, align {storage.dtype.itemsize}")


def _load_if(kernel: Kernel, gate: str, pointer: str, storage: UOp, alt: str, lanes: int) -> str:
    """Load where a scalar gate holds, else yield `alt`."""
    builder = kernel.builder
    before, inside, after = builder.block, builder.name("load"), builder.name("loaded")
    builder.branch(gate, inside, after)
    builder.label(inside)
    value = _load(kernel, pointer, storage, lanes)
    builder.jump(after)
    builder.label(after)
    kind = value_type(storage.dtype, lanes)
    return builder.value(f"phi {kind} [ {value}, %{inside} ], [ {alt}, %{before} ]")


def _store_if(
    kernel: Kernel, gate: str, pointer: str, storage: UOp, value: str, lanes: int
) -> None:
    builder = kernel.builder
    inside, after = builder.name("store"), builder.name("stored")
    builder.branch(gate, inside, after)
    builder.label(inside)
    _store(kernel, pointer, storage, value, lanes)
    builder.jump(after)
    builder.label(after)


def _lane(kernel: Kernel, uop: UOp, lanes: int, lane: int) -> str:
    """Return one lane of a node that has lanes, or the node's one value."""
    if not lanes_of(uop):
        return kernel.operand(uop)
    return kernel.builder.value(f"extractelement {kernel.typed(uop, lanes)}, i32 {lane}")


def _gather_lanes(kernel: Kernel, uop: UOp, storage: UOp, lanes: int) -> str:
    index, gate = uop.src[0], uop.src[2] if len(uop.src) > 2 else None
    kind, scalar = value_type(uop.dtype, lanes), value_type(uop.dtype)
    result = "poison"
    for lane in range(lanes):
        position = _lane(kernel, index.src[1], lanes, lane)
        pointer = address(kernel, storage, index.src[1], position)
        if gate is None:
            value = _load(kernel, pointer, storage, 0)
        else:
            alt, passes = _lane(kernel, uop.src[1], lanes, lane), _lane(kernel, gate, lanes, lane)
            value = _load_if(kernel, passes, pointer, storage, alt, 0)
        result = kernel.builder.value(
            f"insertelement {kind} {result}, {scalar} {value}, i32 {lane}"
        )
    return result


def _is_wide(kernel: Kernel, storage: UOp, lanes: int) -> bool:
    """Tell whether a masked access takes more than one vector register.

    LLVM 22 drops the mask of a part in which no lane is active, and reads there; so such an access
    is made lane by lane.
    """
    return 0 < kernel.renderer.vector_bytes < lanes * storage.dtype.itemsize


def _lane_address(kernel: Kernel, uop: UOp, storage: UOp, lane: int) -> str:
    """Return the address of a lane of a contiguous access."""
    pointer = kernel.operand(uop.src[0])
    element, space = memory_type(storage.dtype), kernel.renderer.pointer_type(storage)
    # not inbounds: a lane whose gate is false may lie outside
    return kernel.builder.value(f"getelementptr {element}, {space} {pointer}, i64 {lane}")


def _load_lanes(kernel: Kernel, uop: UOp, storage: UOp, lanes: int) -> str:
    kind, scalar = value_type(uop.dtype, lanes), value_type(uop.dtype)
    result = "poison"
    for lane in range(lanes):
        pointer = _lane_address(kernel, uop, storage, lane)
        alt, passes = (_lane(kernel, source, lanes, lane) for source in uop.src[1:])
        value = _load_if(kernel, passes, pointer, storage, alt, 0)
        result = kernel.builder.value(
            f"insertelement {kind} {result}, {scalar} {value}, i32 {lane}"
        )
    return result


def _store_lanes(kernel: Kernel, uop: UOp, storage: UOp, lanes: int) -> None:
    for lane in range(lanes):
        value, passes = (_lane(kernel, source, lanes, lane) for source in uop.src[1:])
        _store_if(kernel, passes, _lane_address(kernel, uop, storage, lane), storage, value, 0)


def _masked_load(kernel: Kernel, uop: UOp, storage: UOp, lanes: int) -> str:
    builder, dtype = kernel.builder, storage.dtype
    kind, mask = memory_type(dtype, lanes), with_lanes("i1", lanes)
    pointer_type = kernel.renderer.pointer_type(storage)
    alt = _to_memory(kernel, kernel.operand(uop.src[1], lanes), dtype, lanes)
    name = f"@llvm.masked.load.{overload(kind)}.{kernel.renderer.pointer_suffix(storage)}"
    builder.declarations[f"declare {kind} {name}({pointer_type}, i32, {mask}, {kind})"] = None
    value = builder.value(
        f"call {kind} {name}({pointer_type} {kernel.operand(uop.src[0])}, i32 {dtype.itemsize},"
        f" {kernel.typed(uop.src[2])}, {kind} {alt})"
    )
    return _from_memory(kernel, value, dtype, lanes)


def _masked_store(kernel: Kernel, uop: UOp, storage: UOp, lanes: int) -> None:
    builder, dtype = kernel.builder, storage.dtype
    kind, mask = memory_type(dtype, lanes), with_lanes("i1", lanes)
    pointer_type = kernel.renderer.pointer_type(storage)
    value = _to_memory(kernel, kernel.operand(uop.src[1], lanes), dtype, lanes)
    name = f"@llvm.masked.store.{overload(kind)}.{kernel.renderer.pointer_suffix(storage)}"
    builder.declarations[f"declare void {name}({kind}, {pointer_type}, i32, {mask})"] = None
    builder.line(
        f"call void {name}({kind} {value}, {pointer_type} {kernel.operand(uop.src[0])},"
        f" i32 {dtype.itemsize}, {kernel.typed(uop.src[2])})"
    )


def render_load(kernel: Kernel, uop: UOp) -> str:
    """Render LOAD."""
    storage, lanes = _storage_of(uop), lanes_of(uop)
    if _gather(uop.src[0]):
        return _gather_lanes(kernel, uop, storage, lanes)
    pointer = kernel.operand(uop.src[0])
    if len(uop.src) == 1:
        return _load(kernel, pointer, storage, lanes)
    alt, gate = uop.src[1:]
    if lanes_of(gate):
        if _is_wide(kernel, storage, lanes):
            return _load_lanes(kernel, uop, storage, lanes)
        return _masked_load(kernel, uop, storage, lanes)
    return _load_if(
        kernel, kernel.operand(gate), pointer, storage, kernel.operand(alt, lanes), lanes
    )


def render_store(kernel: Kernel, uop: UOp) -> None:
    """Render STORE."""
    storage, index = _storage_of(uop), uop.src[0]
    lanes = lanes_of(index)
    gate = uop.src[2] if len(uop.src) > 2 else None
    if _gather(index):
        for lane in range(lanes):
            position = _lane(kernel, index.src[1], lanes, lane)
            pointer = address(kernel, storage, index.src[1], position)
            value = _lane(kernel, uop.src[1], lanes, lane)
            if gate is None:
                _store(kernel, pointer, storage, value, 0)
            else:
                _store_if(kernel, _lane(kernel, gate, lanes, lane), pointer, storage, value, 0)
        return
    if gate is not None and lanes_of(gate):
        if _is_wide(kernel, storage, lanes):
            _store_lanes(kernel, uop, storage, lanes)
            return
        _masked_store(kernel, uop, storage, lanes)
        return
    pointer, value = kernel.operand(index), kernel.operand(uop.src[1], lanes)
    if gate is None:
        _store(kernel, pointer, storage, value, lanes)
    else:
        _store_if(kernel, kernel.operand(gate), pointer, storage, value, lanes)
