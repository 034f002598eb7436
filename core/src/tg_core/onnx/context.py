"""What an operator may ask for beside its inputs and attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tg_core.onnx.graph import Graph, Node
from tg_core.onnx.values import Anything

__all__ = ["Context"]


@dataclass(frozen=True)
class Context:
    """One execution of a node."""

    node: Node
    run: Callable[[Graph, Sequence[Anything]], list[Anything]]
    """Executes a graph that is an attribute of the node, and returns its outputs."""

    @property
    def version(self) -> int:
        """The version of the domain that the model uses."""
        return self.node.version

    def wants(self, output: int) -> bool:
        """Tell whether the model uses an output."""
        return output < len(self.node.outputs) and bool(self.node.outputs[output])
