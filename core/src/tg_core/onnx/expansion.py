"""How much a model executes when its functions are put in place, bounded before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tg_core.errors import FileFormatError
from tg_core.onnx.graph import Body, FunctionKey, Graph, Node

__all__ = ["check_expansion"]

MAX_NODES = 2_000_000
"""How many nodes a model may execute, loops aside: functions that call each other twice at every
level would make a small file run forever."""


def check_expansion(graph: Graph, functions: Mapping[FunctionKey, Body]) -> None:
    """Check that functions do not call themselves, and how much they expand to.

    Raises:
        FileFormatError: a function calls itself, directly or through others, or the model is too
            large.
    """
    calls = {key: list(_calls(body.graph, functions)) for key, body in functions.items()}
    sizes: dict[FunctionKey, int] = {}
    for start in functions:
        path = [(start, iter(calls[start]))]
        active = {start}
        while path:
            key, rest = path[-1]
            pending = next((callee for callee in rest if callee and callee not in sizes), None)
            if pending is None:
                sizes[key] = sum(sizes[callee] if callee else 1 for callee in calls[key])
                active.discard(path.pop()[0])
            elif pending in active:
                raise FileFormatError(f"onnx: function {pending[1]!r} calls itself")
            else:
                active.add(pending)
                path.append((pending, iter(calls[pending])))
    total = sum(sizes[callee] if callee else 1 for callee in _calls(graph, functions))
    if total > MAX_NODES:
        raise FileFormatError(
            f"onnx: the functions of the model expand to {total} nodes, at most {MAX_NODES} are "
            f"executed"
        )


def _calls(graph: Graph, functions: Mapping[FunctionKey, Body]) -> Iterator[FunctionKey | None]:
    """Return the function that each node calls, nested graphs included; None for others."""
    for node in _all_nodes(graph):
        key = (node.domain, node.op, node.overload)
        yield key if node.operator is None and key in functions else None


def _all_nodes(graph: Graph) -> Iterator[Node]:
    graphs = [graph]
    while graphs:
        for node in graphs.pop().nodes:
            yield node
            graphs += [value for value in node.attributes.values() if isinstance(value, Graph)]
