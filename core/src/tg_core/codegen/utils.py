"""Helpers that several passes share: walking a kernel, its ranges, linear forms of indices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tg_core.dtype import DType, Invalid, InvalidType, PyConst, dtypes
from tg_core.uop.ops import AxisType, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def map_graph(root: UOp, visit: Callable[[UOp, tuple[UOp, ...]], UOp]) -> UOp:
    """Rebuild a graph from the leaves up; `visit` gets each node once with its rebuilt sources.

    Args:
        root: the graph.
        visit: returns what takes the node's place.
    """
    done: dict[UOp, UOp] = {}
    for node in root.toposort():
        done[node] = visit(node, tuple([done[s] for s in node.src]))
    return done[root]


def with_sources(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """Return the node reading other sources; the node itself when they are the same."""
    return node if src == node.src else UOp(node.op, src, node.arg, node.tag)


def axis_type(rng: UOp) -> AxisType:
    """Return the axis type of a RANGE."""
    kind: AxisType = rng.arg[-1]
    return kind


def with_axis_type(rng: UOp, kind: AxisType) -> UOp:
    """Return the RANGE with another axis type."""
    return UOp(Ops.RANGE, rng.src, (*rng.arg[:-1], kind), rng.tag)


def constant_size(rng: UOp) -> int | None:
    """Return the trip count of a RANGE or SPECIAL, None when it depends on a variable or another
    range.
    """
    value = rng.src[0].const_value
    return None if value is None or isinstance(value, InvalidType) else int(value)


def known_size(rng: UOp) -> int:
    """Return the trip count of a RANGE that has a constant one."""
    size = constant_size(rng)
    assert size is not None
    return size


def greatest_size(rng: UOp) -> int:
    """Return the greatest trip count a RANGE can have."""
    return int(rng.src[0].vmax)


def next_range_id(root: UOp) -> int:
    """Return an id above the first id of every RANGE in the graph."""
    return 1 + max((node.arg[0] for node in root.toposort() if node.op is Ops.RANGE), default=-1)


def closed_ranges(node: UOp) -> tuple[UOp, ...]:
    """Return the RANGEs that an END or REDUCE closes, outermost first."""
    return tuple(s for s in node.src[1:] if s.op is Ops.RANGE)


def depends_on(node: UOp, ranges: Iterable[UOp]) -> bool:
    """Tell whether the node changes with one of the ranges."""
    mine = node.ranges
    return any(r in mine for r in ranges)


def substitute_open(root: UOp, mapping: Mapping[UOp, UOp]) -> UOp:
    """Replace ranges where they are open; a loop inside that closes the same range keeps it."""

    def is_open(node: UOp) -> bool:
        return node not in mapping and depends_on(node, mapping)

    done: dict[UOp, UOp] = dict(mapping)
    for node in root.toposort(is_open):
        if node in done:
            continue
        if not depends_on(node, mapping):
            done[node] = node
            continue
        done[node] = with_sources(node, tuple([done[s] for s in node.src]))
    return done[root]


def replace_ranges(root: UOp, mapping: Mapping[UOp, tuple[UOp, tuple[UOp, ...]]]) -> UOp:
    """Replace loop variables everywhere, in the lists of END and REDUCE by the loops that take
    their place.

    Args:
        root: the graph.
        mapping: RANGE to (expression of its value, loops that replace it in order, possibly none).
    """

    def visit(node: UOp, src: tuple[UOp, ...]) -> UOp:
        found = mapping.get(node)
        if found is not None:
            return found[0]
        if node.op in (Ops.END, Ops.REDUCE):
            loops: list[UOp] = []
            for old, new in zip(node.src[1:], src[1:], strict=True):
                replaced = mapping.get(old)
                loops.extend((new,) if replaced is None else replaced[1])
            if node.op is Ops.REDUCE or loops:
                return UOp(node.op, (src[0], *loops), node.arg, node.tag)
            return src[0]
        return with_sources(node, src)

    return map_graph(root, visit)


@dataclass
class LinearForm:
    """An index as `sum(coefficient * range) + constant + sum(factor * term)`."""

    coefficients: dict[UOp, int] = field(default_factory=dict)
    """Coefficient of each RANGE that appears linearly."""
    constant: int = 0
    terms: list[tuple[UOp, int]] = field(default_factory=list)
    """Everything else with its factor: products of variables, divisions, loads."""

    def is_linear_in(self, rng: UOp) -> bool:
        """Tell whether the range appears in no other term."""
        return not any(rng in term.ranges for term, _ in self.terms)

    def stride(self, rng: UOp) -> int | None:
        """Return by how much the index grows per step of the range; None when that is not
        constant.
        """
        return self.coefficients.get(rng, 0) if self.is_linear_in(rng) else None


def linear_form(index: UOp) -> LinearForm:
    """Split an integer expression into its linear form."""
    form = LinearForm()
    work: list[tuple[UOp, int]] = [(index, 1)]
    while work:
        node, factor = work.pop()
        if node.op is Ops.CONST and node.arg is not Invalid:
            form.constant += int(node.arg) * factor
        elif node.op in (Ops.RANGE, Ops.SPECIAL):
            form.coefficients[node] = form.coefficients.get(node, 0) + factor
        elif node.op is Ops.ADD:
            work.extend((s, factor) for s in reversed(node.src))
        elif node.op is Ops.SUB:
            work.append((node.src[1], -factor))
            work.append((node.src[0], factor))
        elif node.op is Ops.MUL and isinstance(node.src[1].const_value, int):
            work.append((node.src[0], factor * int(node.src[1].const_value)))
        elif node.op is Ops.MUL and isinstance(node.src[0].const_value, int):
            work.append((node.src[1], factor * int(node.src[0].const_value)))
        else:
            form.terms.append((node, factor))
    return form


def split_mask(index: UOp) -> tuple[UOp | None, UOp]:
    """Split `WHERE(valid, i, Invalid)` into (valid, i); without a mask, (None, index)."""
    if index.op is Ops.WHERE and index.src[2].op is Ops.CONST and index.src[2].arg is Invalid:
        return index.src[0], index.src[1]
    return None, index


def mask_accesses(root: UOp, rng: UOp, valid: UOp) -> UOp:
    """Mask every access whose index depends on a range, beside the masks there are.

    Args:
        root: the graph.
        rng: the range.
        valid: where the accesses may happen.
    """

    def visit(node: UOp, src: tuple[UOp, ...]) -> UOp:
        if node.op is not Ops.INDEX or rng not in node.src[1].ranges:
            return with_sources(node, src)
        mask, index = split_mask(src[1])
        both = valid if mask is None else UOp(Ops.AND, (mask, valid))
        masked = UOp(Ops.WHERE, (both, index, UOp.const(Invalid)))
        return with_sources(node, (src[0], masked, *src[2:]))

    return map_graph(root, visit)


def identity_of(op: Ops, dtype: DType) -> PyConst:
    """Return the value that changes nothing under a reduction."""
    if op is Ops.MAX:
        return dtypes.min(dtype)
    return 1 if op is Ops.MUL else 0


def balanced(op: Ops, values: list[UOp]) -> UOp:
    """Combine values in a tree: neighbours first, an odd one passes to the next level."""
    while len(values) > 1:
        pairs = [UOp(op, (values[i], values[i + 1])) for i in range(0, len(values) - 1, 2)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def build_folded(op: Ops, src: tuple[UOp, ...], arg: object, tag: object) -> UOp:
    """Build a node; sums and products of index constants are folded on the spot, the bulk of what
    copying creates.
    """
    if op in (Ops.ADD, Ops.MUL) and src[1].op is Ops.CONST and src[1].dtype is dtypes.weakint:
        left, right = src
        if left.op is Ops.CONST and left.dtype is dtypes.weakint:
            value = left.arg + right.arg if op is Ops.ADD else left.arg * right.arg
            return UOp.const(value)
        if right.arg == (0 if op is Ops.ADD else 1):
            return left
    if (
        op is Ops.ADD
        and src[0].op is Ops.CONST
        and src[0].dtype is dtypes.weakint
        and src[0].arg == 0
    ):
        return src[1]
    return UOp(op, src, arg, tag)
