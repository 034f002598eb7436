"""Order a kernel into a linear program.

Input: a kernel SINK with RANGE, END, AFTER and GROUP, concrete dtypes. Output: LINEAR of its nodes
    in execution order.

1. AFTER and GROUP are resolved: what reads `AFTER(x, deps)` reads `x`, and the deps become ordering
   edges of the LOAD or STORE that accesses it. Loads and stores that become equal by this but
   happen at different times are told apart by a tag.
2. Loops form a tree. The parent of a RANGE is the deepest loop still open at its END; of the ranges
   of one END each later one lies in the one before. A node belongs to the deepest loop it depends
   on, so whatever does not change in a loop is outside of it.
3. Every edge is lifted to the two children of the lowest common block; each block is ordered
   topologically (the first in the original order of those that are ready), and written out, a loop
   as RANGE, body, END.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterable

_ORDERED: Final = frozenset(
    (Ops.LOAD, Ops.STORE, Ops.END, Ops.BARRIER, Ops.CALL, Ops.IF, Ops.ENDIF)
)
"""Operations whose moment matters: equal ones at different moments are different."""


@dataclass
class _Block:
    """A loop body, or the whole program (`rng` is None)."""

    rng: UOp | None
    parent: _Block | None
    depth: int
    nodes: list[int] = field(default_factory=list)
    loops: list[_Block] = field(default_factory=list)
    close: UOp | None = None


@dataclass
class _Flat:
    """The kernel without AFTER and GROUP: nodes in original order, with all the positions each must
    follow.
    """

    nodes: list[UOp] = field(default_factory=list)
    before: list[tuple[int, ...]] = field(default_factory=list)


def _flatten(sink: UOp) -> _Flat:
    """Resolve AFTER and GROUP."""
    flat = _Flat()
    position: dict[UOp, int] = {}  # new node -> its position
    resolved: dict[UOp, UOp] = {}  # old node -> new node; absent for pure order
    waits: dict[UOp, tuple[int, ...]] = {}  # old node -> positions its accesses must follow
    copies = 0
    for node in sink.toposort():
        if node.op in (Ops.GROUP, Ops.SINK, Ops.NOOP):
            waits[node] = _positions(node.src, resolved, position, waits)
            continue
        if node.op is Ops.AFTER:
            resolved[node] = resolved[node.src[0]]
            own = waits.get(node.src[0], ())
            waits[node] = (*own, *_positions(node.src[1:], resolved, position, waits))
            continue
        follow: dict[int, None] = {}
        for source in node.src:
            if source in waits:
                follow.update(dict.fromkeys(waits[source]))
        if node.op is Ops.END:
            new = UOp(
                Ops.END,
                tuple(resolved.get(s, s) for s in node.src),
                node.arg,
                ("end", len(flat.nodes)),
            )
        else:
            src = tuple([resolved[s] for s in node.src])
            new = node if src == node.src else UOp(node.op, src, node.arg, node.tag)
        if new in position and node.op in _ORDERED:
            copies += 1
            new = UOp(new.op, new.src, new.arg, copies)
        resolved[node] = new
        if node.op is Ops.INDEX and follow:
            waits[node] = tuple(follow)  # the access waits, its address does not
            follow = {}
        if new in position:
            continue
        for source in new.src:
            if source in position:
                follow[position[source]] = None
        position[new] = len(flat.nodes)
        flat.nodes.append(new)
        flat.before.append(tuple(follow))
    return flat


def _positions(
    nodes: Iterable[UOp],
    resolved: dict[UOp, UOp],
    position: dict[UOp, int],
    waits: dict[UOp, tuple[int, ...]],
) -> tuple[int, ...]:
    found: dict[int, None] = {}
    for node in nodes:
        found.update(dict.fromkeys(waits.get(node, ())))
        if node in resolved:
            found[position[resolved[node]]] = None
    return tuple(found)


def _blocks(flat: _Flat) -> tuple[_Block, list[_Block]]:
    """Build the loop tree and give every node its block; the block of a RANGE or END is the loop
    itself.
    """
    root = _Block(None, None, 0)
    block_of: list[_Block | None] = [None] * len(flat.nodes)
    loop_of: dict[UOp, _Block] = {}
    for node in flat.nodes:
        if node.op is Ops.RANGE:
            loop_of[node] = _Block(node, None, -1)
    _nest_loops(flat, loop_of, root)
    for i, node in enumerate(flat.nodes):
        if node.op is Ops.RANGE:
            block_of[i] = loop_of[node]
            continue
        if node.op is Ops.END:
            outermost = loop_of[node.src[1]]
            block_of[i] = outermost.parent
            continue
        deepest = root
        for j in flat.before[i]:
            other = block_of[j]
            assert other is not None
            if other.depth > deepest.depth:
                deepest = other
        block_of[i] = deepest
        deepest.nodes.append(i)
    return root, [b for b in block_of if b is not None]


def _nest_loops(flat: _Flat, loop_of: dict[UOp, _Block], root: _Block) -> None:
    """Set parent and depth of every loop.

    Open loops are found along `before`, which covers values and order; ENDs come after the ENDs
    inside them, so parents are assigned from the last END to the first.
    """
    open_at: list[tuple[UOp, ...]] = []
    for i, node in enumerate(flat.nodes):
        merged: dict[UOp, None] = {}
        for j in flat.before[i]:
            if open_at[j]:
                merged.update(dict.fromkeys(open_at[j]))
        if node.op is Ops.RANGE:
            merged[node] = None
        elif node.op is Ops.END:
            for rng in node.src[1:]:
                merged.pop(rng, None)
        open_at.append(tuple(merged))
    for i in range(len(flat.nodes) - 1, -1, -1):
        node = flat.nodes[i]
        if node.op is not Ops.END:
            continue
        parent = root
        for rng in open_at[i]:
            loop = loop_of[rng]
            if loop.depth < 0:
                raise CompileError(f"linearize: range {rng.arg} is never closed")
            if loop.depth > parent.depth:
                parent = loop
        for rng in node.src[1:]:
            loop = loop_of[rng]
            if loop.parent is not None:
                raise CompileError(f"linearize: range {rng.arg} is closed twice")
            loop.parent, loop.depth, loop.close = parent, parent.depth + 1, node
            parent.loops.append(loop)
            parent = loop
    for rng, loop in loop_of.items():
        if loop.depth < 0:
            raise CompileError(f"linearize: range {rng.arg} is never closed")


def _order(
    flat: _Flat, root: _Block, block_of: list[_Block]
) -> dict[int, list[tuple[int, _Block | None]]]:
    """Order the children of every block; keyed by `id` of the block, entries are (position, loop or
    None).
    """
    first: dict[int, int] = {}  # id(loop) -> position of its RANGE
    position = {node: i for i, node in enumerate(flat.nodes)}
    children: dict[int, list[tuple[int, _Block | None]]] = {}
    stack = [root]
    while stack:
        block = stack.pop()
        stack.extend(block.loops)
        entries: list[tuple[int, _Block | None]] = [(i, None) for i in block.nodes]
        for loop in block.loops:
            assert loop.rng is not None
            first[id(loop)] = position[loop.rng]
            entries.append((position[loop.rng], loop))
        children[id(block)] = entries
    ends = {loop.close: first[id(loop)] for loop in _outermost(root)}
    after: dict[int, list[int]] = {}
    missing: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    homes = [_home(node, block_of[i], ends, i) for i, node in enumerate(flat.nodes)]
    for i, sources in enumerate(flat.before):
        target = homes[i]
        for j in sources:
            source = homes[j]
            if source[0] is target[0]:
                edge = None if source[1] == target[1] else (source[1], target[1])
            else:
                edge = _lift(source, target, first)
            if edge is None or edge in seen:
                continue
            seen.add(edge)
            after.setdefault(edge[0], []).append(edge[1])
            missing[edge[1]] = missing.get(edge[1], 0) + 1
    return {key: _topological(entries, after, missing) for key, entries in children.items()}


def _outermost(root: _Block) -> list[_Block]:
    """Return of each END the outermost loop it closes."""
    found: list[_Block] = []
    stack = [root]
    while stack:
        block = stack.pop()
        stack.extend(block.loops)
        found.extend(loop for loop in block.loops if loop.close is not block.close or block is root)
    return found


def _lift(
    source: tuple[_Block, int], target: tuple[_Block, int], first: dict[int, int]
) -> tuple[int, int] | None:
    """Lift an edge to two children of one block, named by position; None when it stays inside of
    one child.

    A loop is named by the position of its RANGE.
    """
    (source_block, source_name), (target_block, target_name) = source, target
    while source_block is not target_block:
        if source_block.depth >= target_block.depth:
            source_name = first[id(source_block)]
            assert source_block.parent is not None
            source_block = source_block.parent
        else:
            target_name = first[id(target_block)]
            assert target_block.parent is not None
            target_block = target_block.parent
    return None if source_name == target_name else (source_name, target_name)


def _home(node: UOp, block: _Block, ends: dict[UOp | None, int], i: int) -> tuple[_Block, int]:
    """Return the block a node is a child of, and the name of the child: an END stands for the loop
    it closes.
    """
    if node.op is Ops.RANGE:
        assert block.parent is not None
        return block.parent, i
    return block, ends.get(node, i)


def _topological(
    entries: list[tuple[int, _Block | None]], after: dict[int, list[int]], missing: dict[int, int]
) -> list[tuple[int, _Block | None]]:
    """Order the children of a block, the earliest position first among those that are ready."""
    by_name = dict(entries)
    ready = [name for name in by_name if not missing.get(name)]
    heapq.heapify(ready)
    ordered: list[tuple[int, _Block | None]] = []
    while ready:
        name = heapq.heappop(ready)
        ordered.append((name, by_name[name]))
        for follower in after.get(name, ()):
            missing[follower] -= 1
            if not missing[follower]:
                heapq.heappush(ready, follower)
    if len(ordered) != len(entries):
        raise CompileError("linearize: the order of effects has a cycle")
    return ordered


def linearize(sink: UOp) -> UOp:
    """Return the LINEAR of a kernel.

    Raises:
        CompileError: a range is closed twice or never, or the order of effects has a cycle.
    """
    flat = _flatten(sink)
    root, block_of = _blocks(flat)
    order = _order(flat, root, block_of)
    program: list[UOp] = []
    work: list[_Block | tuple[int, _Block | None]] = [root]
    while work:
        item = work.pop()
        if isinstance(item, _Block):
            if item.rng is not None:
                program.append(item.rng)
                work.append((-1, item))
            work.extend(
                reversed([loop if loop is not None else (i, None) for i, loop in order[id(item)]])
            )
            continue
        position, closing = item
        if closing is None:
            program.append(flat.nodes[position])
        else:
            assert closing.rng is not None
            program.append(UOp(Ops.END, (_last_effect(program), closing.rng)))
    return UOp(Ops.LINEAR, tuple(program))


def _last_effect(program: list[UOp]) -> UOp:
    """Return the last statement of the body that ends here."""
    for node in reversed(program):
        if node.op in (Ops.STORE, Ops.END, Ops.BARRIER, Ops.CALL, Ops.ENDIF):
            if node.dtype is dtypes.void:
                return node
        if node.op is Ops.RANGE:
            break
    return UOp(Ops.NOOP)
