"""Merge neighbouring loops that every access walks as one.

Input and output: a kernel SINK. Loops `r0` (size `m`) around `r1` (size `n`) become one of size
`m*n` where every index that uses them is linear in both with `coefficient(r0) == n *
coefficient(r1)`, and nothing else looks at them. Fewer, longer loops vectorise and divide among
threads better.
"""

from __future__ import annotations

from itertools import pairwise

from tg_core.codegen.utils import (
    LinearForm,
    axis_type,
    closed_ranges,
    constant_size,
    linear_form,
    replace_ranges,
    split_mask,
)
from tg_core.uop.ops import Ops, UOp


def _ranges_seen_by_values(sink: UOp) -> set[UOp]:
    """Return the ranges that reach something other than an index or a list of loops."""
    seen: set[UOp] = set()
    visited: set[UOp] = set()
    work = [sink]
    while work:
        node = work.pop()
        if node in visited:
            continue
        visited.add(node)
        if node.op is Ops.RANGE:
            seen.add(node)
        if node.op in (Ops.END, Ops.REDUCE):
            work.append(node.src[0])
        elif node.op is Ops.INDEX:
            work.append(node.src[0])
            mask, index = split_mask(node.src[1])
            if mask is not None:
                work.append(mask)
            work.extend(term for term, _ in linear_form(index).terms)
        else:
            work.extend(node.src)
    return seen


def _mergeable(outer: UOp, inner: UOp, forms: list[LinearForm]) -> bool:
    size = constant_size(inner)
    if size is None or constant_size(outer) is None or axis_type(outer) is not axis_type(inner):
        return False
    return all(
        form.coefficients.get(outer, 0) == form.coefficients.get(inner, 0) * size for form in forms
    )


def merge_adjacent_ranges(sink: UOp) -> UOp:
    """Return the kernel with neighbouring loops merged where all indices allow it.

    Args:
        sink: a kernel whose ranges each belong to one loop.
    """
    merged = True
    while merged:
        merged = False
        nodes = sink.toposort()
        blocked = _ranges_seen_by_values(sink)
        forms = [linear_form(split_mask(n.src[1])[1]) for n in nodes if n.op is Ops.INDEX]
        taken: set[UOp] = set()
        mapping: dict[UOp, tuple[UOp, tuple[UOp, ...]]] = {}
        for node in nodes:
            if node.op not in (Ops.END, Ops.REDUCE):
                continue
            loops = closed_ranges(node)
            for outer, inner in pairwise(loops):
                if outer in blocked or inner in blocked or outer in taken or inner in taken:
                    continue
                if not _mergeable(outer, inner, forms):
                    continue
                taken.update((outer, inner))
                size = outer.src[0] * inner.src[0].const_value
                whole = UOp(Ops.RANGE, (UOp.const(size.vmax),), inner.arg)
                mapping[outer] = (UOp.const(0), ())
                mapping[inner] = (whole, (whole,))
        if mapping:
            sink = replace_ranges(sink, mapping)
            merged = True
    return sink
