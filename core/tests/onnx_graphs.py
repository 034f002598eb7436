"""Small versions of graphs that exporters write, for the tests of the importer."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

__all__ = ["GraphBuilder", "floats", "ints"]

FLOAT = TensorProto.FLOAT


def ints(*values: int) -> np.ndarray:
    """Return a vector of integers, as shapes and axes are."""
    return np.array(values, np.int64)


def floats(draw: np.random.Generator, *shape: int, fan: int | None = None) -> np.ndarray:
    """Return weights that keep the scale of what they multiply."""
    found: np.ndarray = draw.normal(size=shape) / np.sqrt(fan or shape[-1])
    return found.astype(np.float32)


class GraphBuilder:
    """Collects nodes; arrays among their inputs become initializers."""

    def __init__(self, seed: int = 0) -> None:
        self.draw = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, *shape: int, fan: int | None = None) -> np.ndarray:
        """Return new weights."""
        return floats(self.draw, *shape, fan=fan)

    def __call__(self, op: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node with one output, and return its name."""
        return self.several(op, 1, *inputs, **attributes)[0]

    def several(self, op: str, count: int, *inputs: Any, **attributes: Any) -> list[str]:
        """Add a node, and return the names of its outputs."""
        names = [self._name(entry) for entry in inputs]
        results = [f"{op.lower()}_{len(self.nodes)}_{number}" for number in range(count)]
        self.nodes.append(helper.make_node(op, names, results, **attributes))
        return results

    def _name(self, entry: Any) -> str:
        if isinstance(entry, str):
            return entry
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(entry), name))
        return name

    def model(
        self,
        inputs: dict[str, np.ndarray],
        outputs: list[str],
        opset: int = 17,
        open_sizes: dict[str, list[Any]] | None = None,
    ) -> Any:
        """Return the model, for inputs like the given ones but for what `open_sizes` says."""
        described = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(array.dtype),
                (open_sizes or {}).get(name, list(array.shape)),
            )
            for name, array in inputs.items()
        ]
        results = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, "net", described, results, self.weights)
        opsets = [helper.make_opsetid("", opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)
