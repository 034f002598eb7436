"""Commit index arithmetic to machine integers.

Input: a kernel SINK after all index simplification. Output: no weak dtype but inside `CAST(CONST)`.
Arithmetic whose bounds fit uses int32, else int64; RANGE and SPECIAL have the dtype of their size;
indices into storage are int32 or int64. On a target that asks for 64 bits, one value is int64 and
only lanes may be int32: an address that needs no extension is cheaper to compile and to run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_core.codegen.utils import with_sources
from tg_core.dtype import DType, Invalid, dtypes
from tg_core.uop.ops import GroupOp, Ops, UOp

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

_INT32_MIN: Final = -(1 << 31)
_INT32_MAX: Final = (1 << 31) - 1
_INDEX_DTYPES: Final = (dtypes.int32, dtypes.int64)


def _fits(node: UOp) -> bool:
    low, high = node.bounds
    return _INT32_MIN <= low and high <= _INT32_MAX


def _at(node: UOp, dtype: DType) -> UOp:
    """Return a lowered integer at a width."""
    if node.dtype is dtype:
        return node
    value = node.const_value
    if value is not None and value is not Invalid:
        return UOp.const(value, dtype)
    return UOp(Ops.CAST, (node,), dtype)


class _Lowering:
    """Lowers one kernel for a target."""

    def __init__(self, narrow: bool) -> None:
        self.narrow = narrow

    def width(self, nodes: tuple[UOp, ...]) -> DType:
        """Return the width of arithmetic on weak integers."""
        if not self.narrow and not any(n.shape for n in nodes):
            return dtypes.int64
        return dtypes.int32 if all(_fits(n) for n in nodes) else dtypes.int64

    def lower(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        """Lower one node; `src` are its lowered sources, `node` still shows the weak bounds."""
        if node.op is Ops.CONST:
            if node.dtype is dtypes.weakint:
                return UOp.const(node.arg, self.width((node,)))
            if node.dtype is dtypes.weakfloat:
                return UOp.const(node.arg, dtypes.default_float())
            return node
        if node.op is Ops.PARAM and node.dtype is dtypes.weakint:
            arg = node.arg
            sized = type(arg)(**{**vars(arg), "dtype": self.width((node,))})
            return UOp(Ops.PARAM, (), sized, node.tag)
        if node.op is Ops.CAST:
            if node.src[0].op is Ops.CONST:
                return src[0] if node.arg is dtypes.weakint else node
            if node.arg is dtypes.weakint:
                if src[0].dtype in _INDEX_DTYPES:
                    return src[0]
                return UOp(Ops.CAST, src, self.width((node,)))
            return src[0] if src[0].dtype is node.arg else with_sources(node, src)
        if node.op in GroupOp.ALU or node.op is Ops.STACK:
            weak = tuple(s for s in node.src if s.dtype is dtypes.weakint)
            if weak:
                sized = (*weak, node) if node.dtype is dtypes.weakint else weak
                width = self.width(sized)
                src = tuple(
                    [
                        _at(new, width) if old.dtype is dtypes.weakint else new
                        for old, new in zip(node.src, src, strict=True)
                    ]
                )
            return with_sources(node, src)
        if node.op is Ops.INDEX and src[1].dtype not in _INDEX_DTYPES:
            return with_sources(node, (src[0], _at(src[1], dtypes.int64)))
        return with_sources(node, src)


def lower_weak_to_ints(sink: UOp, renderer: Renderer) -> UOp:
    """Return the kernel with concrete dtypes only.

    Args:
        sink: a kernel after `lower_divisions`.
        renderer: the target; `index_bits` is the least width of an index.
    """
    lowering = _Lowering(renderer.index_bits < 64)
    done: dict[UOp, UOp] = {}
    for node in sink.toposort():
        done[node] = lowering.lower(node, tuple([done[s] for s in node.src]))
    return done[sink]
