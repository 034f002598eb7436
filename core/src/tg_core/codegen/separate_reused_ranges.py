"""Give every loop its own RANGE.

Input: a kernel SINK in which one RANGE may be closed in several places. Output: the same kernel
    where a RANGE is closed by
reductions that can share one loop (same ranges, same loops around, none reads another's result) or
by one END. The ENDs of independent stores over the same ranges become one END of a GROUP.
"""

from __future__ import annotations

from typing import TypeAlias

from tg_core.codegen.utils import closed_ranges, next_range_id, substitute_open, with_sources
from tg_core.uop.ops import Ops, UOp

LoopKey: TypeAlias = tuple[object, ...]


def reduction_depths(nodes: list[UOp]) -> dict[UOp, int]:
    """Return for each node the longest chain of REDUCE and END nodes at and below it."""
    depth: dict[UOp, int] = {}
    for node in nodes:
        below = max([depth[s] for s in node.src], default=0)
        depth[node] = below + 1 if node.op in (Ops.REDUCE, Ops.END) else below
    return depth


def loop_key(node: UOp, depth: int) -> LoopKey:
    """Return what reductions that share a loop have in common."""
    return node.op, closed_ranges(node), frozenset(node.ranges), depth


def separate_reused_ranges(sink: UOp) -> UOp:
    """Return the kernel in which each RANGE belongs to one loop.

    Args:
        sink: a kernel of scalar values, before optimisation choices.
    """
    nodes = sink.toposort()
    depth = reduction_depths(nodes)
    fresh = next_range_id(sink)
    owner: dict[UOp, LoopKey] = {}
    clones: dict[LoopKey, dict[UOp, UOp]] = {}
    done: dict[UOp, UOp] = {}
    for node in nodes:
        src = tuple([done[s] for s in node.src])
        if node.op in (Ops.REDUCE, Ops.END):
            key = loop_key(node, depth[node])
            mapping = clones.get(key)
            if mapping is None:
                mapping = {}
                if any(owner.setdefault(r, key) != key for r in closed_ranges(node)):
                    for rng in closed_ranges(node):
                        mapping[rng] = UOp(Ops.RANGE, rng.src, (fresh, *rng.arg[1:]))
                        fresh += 1
                clones[key] = mapping
            if mapping:
                renamed = tuple(substitute_open(s, mapping) for s in src[1:])
                src = (substitute_open(src[0], mapping), *renamed)
        done[node] = with_sources(node, src)
    return _merge_ends(done[sink])


def _merge_ends(sink: UOp) -> UOp:
    """Collect the top-level ENDs over the same loops into one END of a GROUP."""
    groups: dict[tuple[UOp, ...], list[UOp]] = {}
    for effect in sink.src:
        key = effect.src[1:] if effect.op is Ops.END else ()
        groups.setdefault(key, []).append(effect.src[0] if effect.op is Ops.END else effect)
    merged: list[UOp] = []
    for key, effects in groups.items():
        if key:
            merged.append(UOp.group(*effects).end(*key))
        else:
            merged.extend(effects)
    return UOp(Ops.SINK, tuple(merged), sink.arg, sink.tag)
