"""Estimate the work of one launch of a kernel, for statistics."""

from __future__ import annotations

import math

from tg_core.codegen.utils import closed_ranges, greatest_size
from tg_core.dtype import dtypes
from tg_core.uop.ops import Estimates, GroupOp, Ops, UOp


def estimate_work(sink: UOp) -> Estimates:
    """Return operations and bytes of a kernel before expansion.

    An operation counts once per iteration of the loops it depends on, a reduction one operation per
    element. Bytes count each storage argument once, whole or as far as the loops reach.
    """
    flops = 0
    touched: dict[tuple[UOp, bool], int] = {}
    for node in sink.toposort():
        trips = math.prod(greatest_size(r) for r in node.ranges)
        if node.op is Ops.REDUCE:
            flops += trips * math.prod(greatest_size(r) for r in closed_ranges(node))
        elif (
            node.op in GroupOp.ALU
            and not dtypes.is_weak(node.dtype)
            and node.dtype is not dtypes.bool
        ):
            flops += trips * (2 if node.op is Ops.MULACC else 1)
        elif node.op in (Ops.LOAD, Ops.STORE):
            storage = node.src[0].src[0]
            while storage.op is Ops.AFTER:
                storage = storage.src[0]
            size = storage.max_shape[0] if storage.shape else 1
            key = (storage, node.op is Ops.STORE)
            reach = min(size, max(trips, 1)) * storage.dtype.itemsize
            touched[key] = max(touched.get(key, 0), reach)
    return Estimates(flops, sum(touched.values()))
