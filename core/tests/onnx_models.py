"""Small models for the tests of the importer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["FLOAT", "INT64", "array", "convnet", "model_of", "one_node", "value"]

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def value(name: str, shape: Sequence[Any] | None, kind: int = FLOAT) -> Any:
    """Return the description of an input or output."""
    return helper.make_tensor_value_info(name, kind, shape)


def array(name: str, values: Any, dtype: Any = np.float32) -> Any:
    """Return an initializer."""
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def model_of(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    initializers: Sequence[Any] = (),
    opset: int = 20,
    functions: Sequence[Any] = (),
    domains: Sequence[str] = (),
) -> Any:
    """Return a model."""
    graph = helper.make_graph(nodes, "test", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(name, 1) for name in domains)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10)


def one_node(
    op: str,
    inputs: Sequence[tuple[Sequence[int], int] | None],
    outputs: int = 1,
    opset: int = 20,
    domain: str = "",
    **attributes: Any,
) -> Any:
    """Return a model of one node whose inputs `x0`, `x1`, ... have given shapes and types."""
    names = [f"x{number}" if entry else "" for number, entry in enumerate(inputs)]
    results = [f"y{number}" for number in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    described = [
        value(name, entry[0], entry[1]) for name, entry in zip(names, inputs, strict=True) if entry
    ]
    found = [helper.make_empty_tensor_value_info(name) for name in results]
    return model_of([node], described, found, opset=opset, domains=(domain,) if domain else ())


def convnet() -> Any:
    """Return a small network: convolution, pooling, a reshape by the batch size, a product."""
    draw = np.random.default_rng(0)
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Shape", ["p"], ["s"]),
        helper.make_node("Gather", ["s", "first"], ["n"], axis=0),
        helper.make_node("Concat", ["n", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["p", "shape"], ["f"]),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["y"], transB=1),
    ]
    weights = [
        array("w1", draw.standard_normal((4, 1, 3, 3)) * 0.3),
        array("b1", draw.standard_normal(4)),
        array("w2", draw.standard_normal((10, 64)) * 0.1),
        array("b2", draw.standard_normal(10)),
        array("first", [0], np.int64),
        array("rest", [-1], np.int64),
    ]
    built = model_of(nodes, [value("x", ["N", 1, 8, 8])], [value("y", ["N", 10])], weights, 17)
    onnx.checker.check_model(built)
    return built
