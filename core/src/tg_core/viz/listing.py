"""A graph as lines that a person reads, with names that stay from stage to stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.codegen.describe_program import name_kernel
from tg_core.codegen.normalize_kernel import normalize_kernel
from tg_core.codegen.simplify_kernel import simplify_kernel
from tg_core.dtype import dtypes
from tg_core.uop.graph import toposort
from tg_core.uop.ops import GroupOp, KernelInfo, Ops
from tg_core.uop.printer import infix, literal, render
from tg_core.viz.compare import nodes_of, shown_sources

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tg_core.uop.ops import UOp

_ATOM = 9
_INLINE = 72
"""An operand that is read once is written inside its reader up to this length."""
_INLINE_SHARED = 10
"""An operand that is read more often is written inside its readers up to this length."""
_ARGUMENT = 100
_BRIEF_DEPTH = 8
_BRIEF_NODES = 50
_BRIEF_LENGTH = 200

_LEAVES = frozenset({Ops.CONST, Ops.RANGE, Ops.SPECIAL, Ops.PARAM, Ops.BUFFER})
_FORMULA = _LEAVES | {Ops.CAST, Ops.BITCAST}
_DECLARED = _LEAVES - {Ops.CONST}
_OPENING = frozenset({Ops.RANGE, Ops.IF})
_CLOSING = frozenset({Ops.END, Ops.ENDIF})

Text = tuple[str, int]
"""What stands for a node in its readers, and its precedence."""


class Names:
    """Names of nodes in the texts of one schedule or kernel."""

    def __init__(self) -> None:
        self._of: dict[UOp, str] = {}
        self._count = 0

    def choose(self, node: UOp, used: set[str], became: Mapping[UOp, UOp]) -> str:
        """Return a name that no other node of a text has.

        Args:
            node: what to name.
            used: names in the text so far; the chosen one is added.
            became: which node had the place of a new one; its name stays with the place.
        """
        name = self._of.get(node) or self._of.get(became.get(node, node))
        if name is None or name in used:
            name = f"v{self._count}"
            self._count += 1
        self._of[node] = name
        used.add(name)
        return name


def list_graph(root: UOp, names: Names, became: Mapping[UOp, UOp] | None = None) -> list[str]:
    """Write a graph as lines, sources before their readers.

    Args:
        root: the graph. A LINEAR is written in its order, one line for each instruction.
        names: names so far; those of new nodes are added.
        became: from nodes to the nodes whose names they take over.

    Returns:
        The lines, those inside of loops of a LINEAR indented.
    """
    steps = root.op is Ops.LINEAR
    order = nodes_of(root)
    if steps:
        listed = set(root.src)
        order = [*(n for n in order if n.op in _LEAVES and n not in listed), *root.src]
    else:
        order = _declarations_first(order)
    uses: dict[UOp, int] = {}
    for node in order:
        for source in shown_sources(node):
            uses[source] = uses.get(source, 0) + 1
    shown: dict[UOp, Text] = {}
    used: set[str] = set()
    lines: list[str] = []
    depth = 0
    for node in order:
        text, level = _write(node, shown)
        if node.op in _CLOSING and steps:
            depth = max(depth - max(len(node.src) - 1, 1), 0)
        if node.op in _DECLARED:
            shown[node] = text, level
            kind = f": {type_of(node)}" if node.op in (Ops.RANGE, Ops.SPECIAL) else ""
            line = f"{text}{kind} = {_declaration(node, shown)}"
        elif node is not root and _is_inside(node, text, uses.get(node, 0), steps):
            shown[node] = text, level
            continue
        else:
            name = names.choose(node, used, became or {})
            shown[node] = name, _ATOM
            kind = "" if node.dtype is dtypes.void else f": {type_of(node)}"
            line = f"{name}{kind} = {text}"
        lines.append("  " * depth + line)
        if node.op in _OPENING and steps:
            depth += 1
    return lines


def _declarations_first(order: list[UOp]) -> list[UOp]:
    """Move storage and loops to the front, in an order that does not depend on who reads them."""
    first = [n for n in order if n.op in _DECLARED and all(s.op is Ops.CONST for s in n.src)]
    first.sort(key=_declared_order)
    constants = [n for n in order if n.op is Ops.CONST]
    moved = {*first, *constants}
    return [*constants, *first, *(n for n in order if n not in moved)]


def _declared_order(node: UOp) -> tuple[int, tuple[int, ...], str]:
    if node.op in (Ops.PARAM, Ops.BUFFER):
        return 0 if node.op is Ops.PARAM else 1, (abs(node.arg.slot),), node.arg.device or ""
    if node.op is Ops.RANGE:
        return 3, tuple(i for i in node.arg if type(i) is int), ""
    return 2, (), str(node.arg)


def _is_inside(node: UOp, text: str, uses: int, steps: bool) -> bool:
    if node.const_value is not None or node.op is Ops.CONST:
        return True
    if steps or node.dtype is dtypes.void or uses == 0:
        return False
    return len(text) <= (_INLINE if uses == 1 else _INLINE_SHARED)


def brief(node: UOp) -> str:
    """Write the top of an expression in one short line."""
    depth = {node: 0}
    queue = [node]
    for current in queue:
        if depth[current] == _BRIEF_DEPTH or len(depth) > _BRIEF_NODES:
            continue
        for source in shown_sources(current):
            if source not in depth:
                depth[source] = depth[current] + 1
                queue.append(source)

    def is_whole(current: UOp) -> bool:
        return all(source in depth for source in shown_sources(current)) and current in depth

    shown: dict[UOp, Text] = {}
    for current in toposort((node,), is_whole, enter_calls=False):
        if is_whole(current) or current.op in _LEAVES:
            text = _write(current, shown)
        else:
            text = f"{current.op.name.lower()}(...)", _ATOM
        if current is not node and len(text[0]) > _INLINE:
            text = f"{current.op.name.lower()}(...)", _ATOM
        shown[current] = text
    return _cut(shown[node][0], _BRIEF_LENGTH)


def type_of(node: UOp) -> str:
    """Write dtype and shape of a node; only the dtype for a single value."""
    if node.dtype is dtypes.void:
        return "void"
    sizes = ", ".join(str(s) if isinstance(s, int) else render(s) for s in node.shape)
    return f"{node.dtype.name}[{sizes}]" if sizes else node.dtype.name


def argument_of(node: UOp) -> str:
    """Write what a node carries besides its sources and its type."""
    if node.op is Ops.CALL:
        return _called(node)
    if node.op in (Ops.CAST, Ops.BITCAST):
        return ""
    if node.op in (Ops.PARAM, Ops.BUFFER):
        return f"{infix(node, {})[0]} {_place(node)}"
    if node.op is Ops.RANGE:
        return f"{infix(node, {})[0]} {_kind(node)}"
    if node.arg is None or node.arg == KernelInfo():
        return ""
    return _cut(_plain(node.arg), _ARGUMENT)


def _plain(value: Any) -> str:
    if isinstance(value, Ops):
        return value.name
    if isinstance(value, tuple):
        inner = ", ".join(_plain(entry) for entry in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return str(value) if isinstance(value, (int, float, str)) else _literal(value)


def _literal(value: Any) -> str:
    text = literal(value)
    for prefix in ("dtypes.", "AxisType.", "AddrSpace."):
        text = text.replace(prefix, "")
    return text


def _called(call: UOp) -> str:
    body = call.src[0]
    if isinstance(body.arg, KernelInfo):
        normal = normalize_kernel(body)
        return name_kernel(normal, simplify_kernel(normal))
    name = getattr(call.arg, "name", "") or getattr(body.arg, "name", "")
    return str(name) or body.op.name.lower()


def _declaration(node: UOp, shown: dict[UOp, Text]) -> str:
    if node.op is Ops.RANGE:
        return f"range({shown[node.src[0]][0]}) {_kind(node)}"
    if node.op is Ops.SPECIAL:
        return f"special({shown[node.src[0]][0]})"
    return f"{node.op.name.lower()} {type_of(node)} {_place(node)}"


def _kind(loop: UOp) -> str:
    return str(getattr(loop.arg[-1], "name", "")).lower()


def _place(storage: UOp) -> str:
    """Write where storage is; a scalar parameter has a range of values instead."""
    if storage.op is Ops.PARAM and storage.arg.bounds is not None:
        low, high = storage.arg.bounds
        return f"from {low} to {high}"
    space = storage.arg.addrspace.name.lower()
    return f"{space} {storage.arg.device}" if storage.arg.device else str(space)


def _write(node: UOp, shown: dict[UOp, Text]) -> Text:
    if node.op is Ops.INDEX and node.arg is not None:
        base, index = (shown[s][0] for s in node.src)
        return f"{base}[{index}; {node.arg} lanes]", _ATOM
    formula = node.op in _FORMULA or node.op in GroupOp.ALU or node.op is Ops.INDEX
    if node.op in _LEAVES or (formula and all(s in shown for s in node.src)):
        return infix(node, shown)
    parts = [shown[s][0] if s in shown else s.op.name.lower() for s in shown_sources(node)]
    argument = argument_of(node)
    if node.op is Ops.CALL:
        return f"call {argument}({', '.join(parts)})", _ATOM
    if node.op in (Ops.LINEAR, Ops.SINK) and len(parts) > 8:
        parts = [*parts[:3], "...", *parts[-2:]]
    inside = ", ".join([*parts, argument] if argument else parts)
    return f"{node.op.name.lower()}({inside})", _ATOM


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."
