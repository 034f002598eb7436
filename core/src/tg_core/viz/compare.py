"""What a stage changed: which nodes are new, which only follow their sources, which are gone."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tg_core.uop.graph import has_own_body, toposort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.uop.ops import UOp

_ALIGNED = 4000
"""Longer texts are compared as sets of lines: aligning takes the product of the lengths."""


@dataclass(frozen=True)
class Change:
    """The difference between two graphs. Nodes are immutable: what reads a new node is new, too."""

    before: list[UOp]
    """Nodes of the graph before, sources first."""
    after: list[UOp]
    """Nodes of the graph after, sources first."""
    became: dict[UOp, UOp]
    """From nodes after to the nodes before whose place they took, where that is clear."""
    new: list[UOp]
    """Nodes after that do something that was not done before."""
    rebuilt: list[UOp]
    """Nodes after that do the same as before on sources that changed."""
    gone: list[UOp]
    """Nodes before that nothing after does any more."""


def nodes_of(root: UOp) -> list[UOp]:
    """Return the nodes that are shown of a graph; a CALL's body is a graph of its own."""
    return toposort((root,), enter_calls=False)


def shown_sources(node: UOp) -> tuple[UOp, ...]:
    """Return the sources of a node that are shown with it."""
    return node.src[1:] if has_own_body(node) else node.src


def compare_graphs(before: UOp, after: UOp) -> Change:
    """Compare two graphs from their roots down."""
    old, new = nodes_of(before), nodes_of(after)
    was = dict.fromkeys(old)
    became: dict[UOp, UOp] = {}
    stack = [(before, after)]
    while stack:
        b, a = stack.pop()
        if a in was or a in became:
            continue
        partner = _partner(b, a)
        if partner is None:
            continue
        became[a] = partner
        stack.extend(zip(shown_sources(partner), shown_sources(a)))
    stays = dict.fromkeys(new)
    rebuilt = [n for n in new if n in became and _does_the_same(became[n], n)]
    followed = {became[n] for n in rebuilt}
    marked = set(rebuilt)
    return Change(
        before=old,
        after=new,
        became=became,
        new=[n for n in new if n not in was and n not in marked],
        rebuilt=rebuilt,
        gone=[n for n in old if n not in stays and n not in followed],
    )


def _partner(b: UOp, a: UOp) -> UOp | None:
    if b.op is a.op:
        return b
    similar = [s for s in shown_sources(b) if s.op is a.op and s.arg == a.arg]
    return similar[0] if len(similar) == 1 else None


def _does_the_same(b: UOp, a: UOp) -> bool:
    return b.op is a.op and b.arg == a.arg and b.tag == a.tag and len(b.src) == len(a.src)


def compare_lines(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Compare two texts.

    Returns:
        Every line of both, in order, each with ` ` for kept, `-` for gone or `+` for new.
    """
    if len(before) > _ALIGNED or len(after) > _ALIGNED:
        kept = set(before) & set(after)
        gone = [("-", line) for line in before if line not in kept]
        return gone + [(" " if line in kept else "+", line) for line in after]
    rows: list[tuple[str, str]] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, i0, i1, j0, j1 in matcher.get_opcodes():
        if tag == "equal":
            rows.extend((" ", line) for line in before[i0:i1])
            continue
        rows.extend(("-", line) for line in before[i0:i1])
        rows.extend(("+", line) for line in after[j0:j1])
    return rows
