"""Printing nodes: as source that evaluates back to the same node, and as short infix formulas."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from tg_core.dtype import DType, Invalid, dtypes
from tg_core.uop.opcodes import AxisType, Ops

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp

_MAX_NESTING = 6
"""Deeper expressions are bound to names: easier to read, and Python's parser nests only so far."""


def _nodes_in(value: Any) -> list[UOp]:
    """Find nodes inside an argument, in order."""
    from tg_core.uop.uop import UOp

    if isinstance(value, UOp):
        return [value]
    if isinstance(value, tuple):
        return [node for entry in value for node in _nodes_in(entry)]
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, DType)):
        return [n for f in dataclasses.fields(value) for n in _nodes_in(getattr(value, f.name))]
    return []


def _with_argument_nodes(root: UOp) -> list[UOp]:
    """Order the graph sources first, nodes that appear only in arguments included."""
    order: dict[UOp, None] = {}
    stack: list[tuple[UOp, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        if node in order:
            continue
        if done:
            order[node] = None
            continue
        stack.append((node, True))
        stack.extend((s, False) for s in reversed((*node.src, *_nodes_in(node.arg))))
    return list(order)


def literal(value: Any, names: dict[UOp, str] | None = None) -> str:
    """Write an argument as Python source.

    Args:
        value: anything a node carries: numbers, strings, tuples, dtypes, enums, records, nodes.
        names: source text of the nodes inside it.

    Returns:
        An expression over the names of `tg_core.uop.ops`.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, tuple):
        inner = ", ".join(literal(entry, names) for entry in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, DType)):
        fields = [f for f in dataclasses.fields(value) if f.init]
        shown = ", ".join(
            f"{f.name}={literal(getattr(value, f.name), names)}"
            for f in fields
            if f.default is dataclasses.MISSING or getattr(value, f.name) != f.default
        )
        return f"{type(value).__name__}({shown})"
    if names:
        for node in _nodes_in(value):
            return names[node]
    return repr(value)


def _constant(u: UOp) -> str | None:
    """Write a constant or a loop over one by its constructor, if that gives this very node."""
    from tg_core.uop.uop import UOp

    if u.tag is not None:
        return None
    if u.op is Ops.CONST:
        return f"UOp.const({literal(u.arg)})"
    if u.op is Ops.CAST and u.src[0].op is Ops.CONST:
        value = u.src[0].arg
        if value is not Invalid and UOp.const(value, u.arg) is u:
            return f"UOp.const({literal(value)}, {u.arg!r})"
    if u.op is Ops.RANGE and u.src[0].op is Ops.CONST:
        ids = u.arg[:-1]
        if isinstance(u.arg[-1], AxisType) and UOp.range(u.src[0].arg, ids, u.arg[-1]) is u:
            shown = literal(ids[0] if len(ids) == 1 else ids)
            return f"UOp.range({u.src[0].arg}, {shown}, {u.arg[-1]!r})"
    return None


def to_source(root: UOp) -> str:
    """Write a graph as Python source.

    Args:
        root: the graph, of any depth.

    Returns:
        An expression that evaluates to `root` in the namespace of `tg_core.uop.ops`. Shared and
        deeply nested nodes are bound to names first, one a line.
    """
    order = _with_argument_nodes(root)
    uses: dict[UOp, int] = dict.fromkeys(order, 0)
    for node in order:
        for source in (*node.src, *_nodes_in(node.arg)):
            uses[source] += 1
    text: dict[UOp, str] = {}
    depth: dict[UOp, int] = {}
    lines: list[str] = []
    for node in order:
        simple = _constant(node)
        if simple is not None:
            text[node] = simple
            depth[node] = 0
            continue
        written = _call(node, text)
        level = 1 + max((depth[s] for s in (*node.src, *_nodes_in(node.arg))), default=0)
        if node is not root and (uses[node] > 1 or level > _MAX_NESTING):
            name = f"n{len(lines)}"
            lines.append(f"{name} := {written}")
            written, level = name, 0
        text[node] = written
        depth[node] = level
    if not lines:
        return text[root]
    lines.append(text[root])
    body = ",\n".join(f"  {line}" for line in lines)
    return f"(\n{body},\n)[-1]"


def _call(node: UOp, text: dict[UOp, str]) -> str:
    parts = [repr(node.op)]
    if node.src or node.arg is not None or node.tag is not None:
        sources = ", ".join(text[s] for s in node.src)
        parts.append(f"({sources},)" if len(node.src) == 1 else f"({sources})")
    if node.arg is not None or node.tag is not None:
        parts.append(literal(node.arg, text))
    if node.tag is not None:
        parts.append(literal(node.tag, text))
    return f"UOp({', '.join(parts)})"


# ---- infix

_INFIX: dict[Ops, tuple[str, int]] = {
    Ops.OR: ("|", 2),
    Ops.XOR: ("^", 3),
    Ops.AND: ("&", 4),
    Ops.CMPLT: ("<", 1),
    Ops.CMPNE: ("!=", 1),
    Ops.CMPEQ: ("==", 1),
    Ops.SHL: ("<<", 5),
    Ops.SHR: (">>", 5),
    Ops.ADD: ("+", 6),
    Ops.SUB: ("-", 6),
    Ops.MUL: ("*", 7),
    Ops.FDIV: ("/", 7),
    Ops.FLOORDIV: ("//", 7),
    Ops.FLOORMOD: ("%", 7),
}
"""Symbol and precedence, Python's; truncating division prints as a function to tell it apart."""
_ATOM = 9
_LONG = 80
"""A shared subexpression longer than this is named once instead of written again."""


def render(root: UOp) -> str:
    """Write an index expression the way a person would.

    Args:
        root: any node; what is no expression prints as a function call.

    Returns:
        For example `(r0*4 + r1)//8`, followed by ` where t0 = ...` for long shared parts.
    """
    order = root.toposort()
    uses: dict[UOp, int] = dict.fromkeys(order, 0)
    for node in order:
        for source in node.src:
            uses[source] += 1
    shown: dict[UOp, tuple[str, int]] = {}
    named: list[str] = []
    for node in order:
        text, level = infix(node, shown)
        if node is not root and len(text) > _LONG and (uses[node] > 1 or len(text) > 8 * _LONG):
            named.append(f"t{len(named)} = {text}")
            text, level = f"t{len(named) - 1}", _ATOM
        shown[node] = text, level
    text = shown[root][0]
    return f"{text} where {', '.join(named)}" if named else text


def infix(u: UOp, shown: dict[UOp, tuple[str, int]]) -> tuple[str, int]:
    """Write one node over its sources.

    Args:
        u: any node.
        shown: text and precedence of its sources.

    Returns:
        Its text, and the precedence of its outermost operator: 9 needs no parentheses anywhere.
    """
    if u.op is Ops.CONST:
        return str(u.arg), _ATOM if not isinstance(u.arg, (int, float)) or u.arg >= 0 else 8
    if u.op is Ops.RANGE:
        return "r" + "_".join(str(i) for i in u.arg[:-1]), _ATOM
    if u.op is Ops.SPECIAL:
        return str(u.arg), _ATOM
    if u.op is Ops.PARAM:
        return u.arg.name or f"p{u.arg.slot}", _ATOM
    if u.op is Ops.BUFFER:
        return f"b{u.arg.slot}".replace("-", "_"), _ATOM
    if u.op is Ops.CAST:
        inner = shown[u.src[0]][0]
        if u.src[0].op is Ops.CONST and u.arg is not dtypes.bool:
            return inner, shown[u.src[0]][1]
        return f"{u.arg.name}({inner})", _ATOM
    if u.op is Ops.INDEX:
        base, index = (shown[s] for s in u.src)
        return f"{_wrapped(base, _ATOM)}[{index[0]}]", _ATOM
    if u.op is Ops.CMPNE and u.src[1].op is Ops.CONST and u.src[1].arg is True:
        return f"!{_wrapped(shown[u.src[0]], 8)}", 8
    found = _INFIX.get(u.op)
    if found is not None and len(u.src) == 2:
        symbol, level = found
        # a product divided reads as a product of a quotient without parentheses
        divided = u.op in (Ops.FLOORDIV, Ops.FLOORMOD) and u.src[0].op is Ops.MUL
        left = _wrapped(shown[u.src[0]], 8 if divided else max(level, 2))
        right = _wrapped(shown[u.src[1]], level + 1)
        space = "" if level >= 7 else " "
        return f"{left}{space}{symbol}{space}{right}", level
    inside = ", ".join(shown[s][0] for s in u.src)
    if u.op is Ops.BITCAST:
        return f"bitcast_{u.arg.name}({inside})", _ATOM
    return f"{u.op.name.lower()}({inside})", _ATOM


def _wrapped(part: tuple[str, int], level: int) -> str:
    text, own = part
    return text if own >= level else f"({text})"
