"""Loops, branches, storage and arguments in LLVM IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.renderer.llvm_ir.kernel import OpenLoop
from tg_core.renderer.llvm_ir.types import memory_type, value_type
from tg_core.renderer.utils import is_storage
from tg_core.uop.ops import AxisType, Ops

if TYPE_CHECKING:
    from tg_core.renderer.llvm_ir.kernel import Kernel
    from tg_core.uop.ops import UOp

ALIGNMENT = 64
"""Alignment of private arrays in bytes: that of the widest vectors."""


def render_range(kernel: Kernel, uop: UOp) -> str:
    """Open a loop that tests at its end, guarded when it may be empty."""
    builder, size = kernel.builder, uop.src[0]
    kind, count = value_type(uop.dtype), kernel.operand(size)
    counter, following = f"%{builder.name('i')}", f"%{builder.name('n')}"
    before, body = builder.name("before"), builder.name("loop")
    loop = OpenLoop(
        uop, builder.name("latch"), body, builder.name("exit"), counter, following, count
    )
    if size.vmin >= 1:
        builder.jump(before)
    else:
        builder.branch(builder.value(f"icmp sgt {kind} {count}, 0"), before, loop.exit)
    builder.label(before)
    builder.jump(body)
    builder.label(body)
    builder.line(f"{counter} = phi {kind} [ 0, %{before} ], [ {following}, %{loop.latch} ]")
    kernel.loops.append(loop)
    return counter


def render_end(kernel: Kernel, uop: UOp) -> None:
    """Close the loops of an END, innermost first."""
    builder = kernel.builder
    pending = [s for s in uop.src[1:] if s.op is Ops.RANGE]
    while pending:
        if not kernel.loops or kernel.loops[-1].range not in pending:
            raise CompileError(f"END: ranges {[r.arg for r in pending]} are not innermost")
        loop = kernel.loops.pop()
        pending.remove(loop.range)
        kind = value_type(loop.range.dtype)
        builder.jump(loop.latch)
        builder.label(loop.latch)
        builder.line(f"{loop.following} = add nuw nsw {kind} {loop.counter}, 1")
        more = builder.value(f"icmp slt {kind} {loop.following}, {loop.size}")
        # copies of a loop's body are codegen's choice, and more code is more to compile; what
        # reduces is short, and gains from unrolling
        rolled = builder.keep_rolled() if loop.range.arg[-1] is AxisType.LOOP else ""
        builder.branch(more, loop.body, f"{loop.exit}{rolled}")
        builder.label(loop.exit)


def render_if(kernel: Kernel, uop: UOp) -> None:
    """Open a region that runs where the condition holds."""
    builder = kernel.builder
    then, after = builder.name("then"), builder.name("endif")
    builder.branch(kernel.operand(uop.src[0]), then, after)
    builder.label(then)
    kernel.branches.append(after)


def render_endif(kernel: Kernel, uop: UOp) -> None:
    """Close the innermost IF."""
    after = kernel.branches.pop()
    kernel.builder.jump(after)
    kernel.builder.label(after)


def render_buffer(kernel: Kernel, uop: UOp) -> str:
    """Reserve a private array."""
    kind = f"[{uop.arg.size} x {memory_type(uop.dtype)}]"
    return kernel.builder.alloca(kind, ALIGNMENT)


def render_argument(kernel: Kernel, uop: UOp, slot: int) -> str:
    """Read slot `slot` of the argument array: the address of storage, or a variable as 64 bits."""
    builder = kernel.builder
    place = builder.value(f"getelementptr inbounds i64, ptr %args, i64 {slot}")
    if is_storage(uop):
        return builder.value(f"load ptr, ptr {place}, align 8")
    value = builder.value(f"load i64, ptr {place}, align 8")
    if dtypes.is_weak(uop.dtype):
        raise CompileError(f"variable {uop.arg.name} has no width")
    if uop.dtype.bits == 64:
        return value
    return builder.value(f"trunc i64 {value} to {value_type(uop.dtype)}")


def render_chunk(kernel: Kernel, uop: UOp) -> str:
    """Read the work item's index where only `gidx0` exists and is passed as a 64-bit argument."""
    if uop.arg != "gidx0":
        raise CompileError(f"SPECIAL: no {uop.arg} here, only gidx0")
    if uop.dtype.bits == 64:
        return "%chunk"
    return kernel.builder.value(f"trunc i64 %chunk to {value_type(uop.dtype)}")
