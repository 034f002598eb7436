"""Vectors in LLVM IR: building them from scalars and taking lanes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.errors import CompileError
from tg_core.renderer.llvm_ir.builder import splat
from tg_core.renderer.llvm_ir.types import scalar_type, value_type, vector_literal
from tg_core.renderer.utils import lane_index, lanes_of

if TYPE_CHECKING:
    from tg_core.renderer.llvm_ir.kernel import Kernel
    from tg_core.uop.ops import UOp


def render_stack(kernel: Kernel, uop: UOp) -> str:
    """Render STACK: a splat, a constant, a shuffle of one or two vectors, or lane by lane."""
    builder, lanes = kernel.builder, lanes_of(uop)
    scalar, vector = scalar_type(uop.dtype), value_type(uop.dtype, lanes)
    if any(lanes_of(s) for s in uop.src):
        raise CompileError(f"STACK: vectors of shape {uop.src[0].shape} cannot be stacked")
    if all(s is uop.src[0] for s in uop.src):
        return splat(builder, kernel.operand(uop.src[0]), scalar, lanes)
    if all(s.const_value is not None for s in uop.src):
        return vector_literal([kernel.operand(s) for s in uop.src], scalar)
    shuffled = _render_shuffle(kernel, uop)
    if shuffled is not None:
        return shuffled
    result = "poison"
    for lane, source in enumerate(uop.src):
        value = kernel.operand(source)
        result = builder.value(f"insertelement {vector} {result}, {scalar} {value}, i32 {lane}")
    return result


def _render_shuffle(kernel: Kernel, uop: UOp) -> str | None:
    """Render a STACK of lanes of at most two vectors of one width as one shuffle."""
    picked = [lane_index(s) for s in uop.src]
    if any(lane is None for lane in picked):
        return None
    origins = list(dict.fromkeys(s.src[0] for s in uop.src))
    if len(origins) > 2 or len({lanes_of(o) for o in origins}) != 1:
        return None
    width = lanes_of(origins[0])
    if any(not 0 <= lane < width for lane in picked if lane is not None):
        return None
    order = [
        (lane or 0) + width * origins.index(source.src[0]) for lane, source in zip(picked, uop.src)
    ]
    if len(origins) == 1 and order == list(range(width)):
        return kernel.operand(origins[0])
    kind = value_type(uop.dtype, width)
    second = kernel.operand(origins[1]) if len(origins) == 2 else "poison"
    mask = vector_literal([str(i) for i in order], "i32")
    return kernel.builder.value(
        f"shufflevector {kind} {kernel.operand(origins[0])}, {kind} {second},"
        f" <{len(order)} x i32> {mask}"
    )


def render_lane(kernel: Kernel, uop: UOp) -> str:
    """Render INDEX of a vector value: one lane, or as many as the argument says."""
    builder = kernel.builder
    vector, position = uop.src
    width = lanes_of(vector)
    kind = value_type(vector.dtype, width)
    if uop.arg is None:
        if lanes_of(position):
            raise CompileError("INDEX: lanes of a vector are taken one at a time")
        return builder.value(
            f"extractelement {kind} {kernel.operand(vector)}, {kernel.typed(position)}"
        )
    first = position.const_value
    if first is None or not 0 <= int(first) <= width - uop.arg:  # type: ignore[arg-type]  # Invalid is no lane
        raise CompileError(f"INDEX: {uop.arg} of {width} lanes need a constant first lane in range")
    start = int(first)  # type: ignore[arg-type]  # Invalid is no lane
    if uop.arg == width:
        return kernel.operand(vector)
    mask = vector_literal([str(start + i) for i in range(uop.arg)], "i32")
    return builder.value(
        f"shufflevector {kind} {kernel.operand(vector)}, {kind} poison, <{uop.arg} x i32> {mask}"
    )
