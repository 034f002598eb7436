"""Number the ranges of a kernel by first use, so that equal kernels are equal nodes."""

from __future__ import annotations

from tg_core.uop.ops import Ops, UOp


def normalize_kernel(sink: UOp) -> UOp:
    """Return the kernel with ranges numbered 0, 1, 2... in the order of a walk from the leaves."""
    ranges = [n for n in sink.toposort() if n.op is Ops.RANGE]
    if all(rng.arg[:-1] == (i,) for i, rng in enumerate(ranges)):
        return sink
    mapping: dict[UOp, UOp] = {}
    for i, rng in enumerate(ranges):
        size = rng.src[0].substitute(mapping)
        mapping[rng] = UOp(Ops.RANGE, (size,), (i, rng.arg[-1]))
    return sink.substitute(mapping)
