"""Give weak operands the width of what they meet.

Input: a kernel SINK where an operation may mix concrete and weak operands. Output: the operands of
    every elementwise operation are
all of one dtype, or all weak integers (index arithmetic, which `lower_weak_to_ints` commits once
bounds decide its width).
* Within a kind the weak side adapts: weak float arithmetic is rebuilt at the concrete width, at
  least the default width under a narrower CAST (a cast states a floor, never a narrowing of the
  arithmetic).
* Across kinds a CAST is a conversion of the value.
* A stored weak value commits at the dtype of the destination; weak floats left over commit to the
  default float.
"""

from __future__ import annotations

from typing import Final

from tg_core.codegen.utils import with_sources
from tg_core.dtype import DType, dtypes, promote
from tg_core.uop.ops import GroupOp, Ops, UOp

_SAME_WIDTH: Final = GroupOp.ALU - {Ops.WHERE, Ops.SHL, Ops.SHR}


def commit(value: UOp, dtype: DType) -> UOp:
    """Return a weak value at a concrete dtype."""
    if value.dtype is dtype:
        return value
    if value.op is Ops.CONST and value.dtype is not dtypes.bool:
        return UOp.const(value.arg, dtype)
    return UOp(Ops.CAST, (value,), dtype)


class _Committer:
    """Two forms of each weak float node: one per width that is asked for."""

    def __init__(self) -> None:
        self.done: dict[UOp, UOp] = {}
        self.widened: dict[tuple[UOp, DType], UOp] = {}

    def at(self, value: UOp, dtype: DType) -> UOp:
        """Return a node, given in its original form, at a dtype; weak float arithmetic is done at
        least at that width.
        """
        rebuilt = self.done[value]
        if value.op is Ops.CONST:
            return commit(value, dtype)
        if value.dtype is not dtypes.weakfloat or not dtypes.is_float(dtype):
            return commit(rebuilt, dtype)
        if promote(dtype, dtypes.default_float()) is not dtype:
            return commit(rebuilt, dtype)
        return self._rebuilt_at(value, dtype)

    def _rebuilt_at(self, root: UOp, dtype: DType) -> UOp:
        def is_weak_arithmetic(node: UOp) -> bool:
            return node.dtype is dtypes.weakfloat and node.op in GroupOp.ALU

        for node in root.toposort(is_weak_arithmetic):
            if (node, dtype) in self.widened:
                continue
            if node.dtype is not dtypes.weakfloat:
                form = self.done[node]
                # an operand of weak arithmetic that is not weak itself is a condition or a weak
                # integer
                if form.dtype is not dtypes.bool:
                    form = commit(form, dtype)
            elif node.op in GroupOp.ALU:
                form = with_sources(node, tuple([self.widened[s, dtype] for s in node.src]))
            elif node.op is Ops.CONST:
                form = UOp.const(node.arg, dtype)
            elif node.op is Ops.CAST:
                form = commit(self.done[node.src[0]], dtype)
            else:
                form = commit(self.done[node], dtype)
            self.widened[node, dtype] = form
        return self.widened[root, dtype]

    def visit(self, node: UOp) -> None:
        """Rebuild one node whose sources are rebuilt."""
        done, src = self.done, node.src
        if node.op is Ops.CAST:
            if node.arg is dtypes.weakfloat:
                done[node] = commit(done[src[0]], dtypes.default_float())
            elif src[0].dtype is dtypes.weakfloat:
                done[node] = self.at(src[0], node.arg) if src[0].op is not Ops.CONST else node
            else:
                done[node] = (
                    with_sources(node, (done[src[0]],)).src[0].cast(node.arg)
                    if src[0].op is not Ops.CONST
                    else node
                )
        elif node.op is Ops.CONST:
            done[node] = (
                UOp.const(node.arg, dtypes.default_float())
                if node.dtype is dtypes.weakfloat
                else node
            )
        elif node.op is Ops.STORE:
            value = self.at(src[1], src[0].dtype)
            done[node] = with_sources(node, (done[src[0]], value, *(done[s] for s in src[2:])))
        elif node.op is Ops.LOAD and len(src) > 1:
            done[node] = with_sources(
                node, (done[src[0]], self.at(src[1], node.dtype), done[src[2]])
            )
        elif node.op is Ops.WHERE:
            common = self._common(src[1:], node.dtype)
            values = tuple(done[s] if common is None else self.at(s, common) for s in src[1:])
            done[node] = with_sources(node, (done[src[0]], *values))
        elif node.op in _SAME_WIDTH:
            common = self._common(src, node.dtype)
            done[node] = with_sources(
                node, tuple([done[s] if common is None else self.at(s, common) for s in src])
            )
        elif node.op in (Ops.SHL, Ops.SHR):
            amount = (
                done[src[1]] if src[0].dtype is dtypes.weakint else self.at(src[1], src[0].dtype)
            )
            done[node] = with_sources(node, (done[src[0]], amount))
        else:
            done[node] = with_sources(node, tuple([done[s] for s in src]))

    def _common(self, src: tuple[UOp, ...], result: DType) -> DType | None:
        """Return the dtype that operands agree on, None when they already do."""
        kinds = {s.dtype for s in src}
        if len(kinds) == 1 and dtypes.weakfloat not in kinds:
            if result is dtypes.weakfloat:
                return dtypes.default_float()
            return (
                result
                if dtypes.is_float(result) and not dtypes.is_float(next(iter(kinds)))
                else None
            )
        common = promote(*sorted(kinds))
        return dtypes.default_float() if common is dtypes.weakfloat else common


def commit_weak_operands(sink: UOp) -> UOp:
    """Return the kernel with one dtype per operation."""
    nodes = sink.toposort()
    committer = _Committer()
    for node in nodes:
        committer.visit(node)
    return committer.done[sink]
