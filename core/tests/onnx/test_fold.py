"""Arithmetic on shapes runs while the graph is built, and gives what the operators on tensors give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_models import INT64, array, model_of, value

from tg_core.onnx import load
from tg_core.onnx.execute import Program, Scope
from tg_core.onnx.fold import FOLDED_OPERATORS
from tg_core.onnx.load import _read
from tg_core.onnx.registry import versions
from tg_core.onnx.values import Value

I, F, B = np.int64, np.float32, np.bool_
CASES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "Abs": ([np.array([-3, 4], I)], {}),
    "Add": ([np.array([1, 2], I), np.array([3], I)], {}),
    "And": ([np.array([True, False]), np.array([True, True])], {}),
    "Cast": ([np.array([1.7, -2.7], F)], {"to": INT64}),
    "CastLike": ([np.array([1, 0], I), np.array([1.0], F)], {}),
    "Ceil": ([np.array([1.2, -1.2], F)], {}),
    "Concat": ([np.array([1], I), np.array([2, 3], I)], {"axis": 0}),
    "ConstantOfShape": ([np.array([2, 3], I)], {}),
    "Div": ([np.array([7, -7, 7, -7], I), np.array([2, 2, -2, -2], I)], {}),
    "Equal": ([np.array([1, 2], I), np.array([1, 3], I)], {}),
    "Expand": ([np.array([[1], [2]], I), np.array([1, 3], I)], {}),
    "Flatten": ([np.arange(6, dtype=I).reshape(1, 2, 3)], {"axis": 2}),
    "Floor": ([np.array([1.2, -1.2], F)], {}),
    "Gather": ([np.arange(6, dtype=I).reshape(2, 3), np.array([-1, 0], I)], {"axis": 1}),
    "Greater": ([np.array([1, 2], I), np.array([1, 1], I)], {}),
    "GreaterOrEqual": ([np.array([1, 0], I), np.array([1, 1], I)], {}),
    "Identity": ([np.array([1, 2], I)], {}),
    "Less": ([np.array([1, 0], I), np.array([1, 1], I)], {}),
    "LessOrEqual": ([np.array([1, 2], I), np.array([1, 1], I)], {}),
    "Max": ([np.array([1, 5], I), np.array([3], I), np.array([2], I)], {}),
    "Min": ([np.array([1, 5], I), np.array([3], I), np.array([2], I)], {}),
    "Mod": ([np.array([7, -7, 7, -7], I), np.array([3, 3, -3, -3], I)], {}),
    "Mul": ([np.array([2, 3], I), np.array([4], I)], {}),
    "Neg": ([np.array([2, -3], I)], {}),
    "Not": ([np.array([True, False])], {}),
    "Or": ([np.array([True, False]), np.array([False, False])], {}),
    "Range": ([np.array(1, I), np.array(10, I), np.array(3, I)], {}),
    "Reciprocal": ([np.array([2.0, 4.0], F)], {}),
    "ReduceMax": ([np.arange(6, dtype=I).reshape(2, 3), np.array([1], I)], {}),
    "ReduceMin": ([np.arange(6, dtype=I).reshape(2, 3), np.array([0], I)], {"keepdims": 0}),
    "ReduceProd": ([np.array([2, 3, 4], I)], {"keepdims": 0}),
    "ReduceSum": ([np.array([2, 3, 4], I)], {}),
    "Reshape": ([np.arange(6, dtype=I), np.array([2, -1], I)], {}),
    "Round": ([np.array([0.5, 1.5, -2.5], F)], {}),
    "Slice": (
        [np.arange(9, dtype=I), *(np.array([n], I) for n in (-2, -100, 0, -3))],
        {},
    ),
    "Split": ([np.arange(5, dtype=I), np.array([2, 3], I)], {}),
    "Sqrt": ([np.array([4.0, 9.0], F)], {}),
    "Squeeze": ([np.array([[1, 2]], I), np.array([0], I)], {}),
    "Sub": ([np.array([1, 2], I), np.array([3], I)], {}),
    "Sum": ([np.array([1, 2], I), np.array([3, 4], I)], {}),
    "Tile": ([np.array([1, 2], I), np.array([3], I)], {}),
    "Transpose": ([np.arange(6, dtype=I).reshape(2, 3)], {}),
    "Unsqueeze": ([np.array([1, 2], I), np.array([0, -1], I)], {}),
    "Where": ([np.array([True, False]), np.array([1, 2], I), np.array([3, 4], I)], {}),
}
FLOAT_ONLY = ("Sum", "Abs")
OUTPUTS = {"Split": 2}


def model(op: str, as_constants: bool) -> tuple[Any, dict[str, np.ndarray]]:
    arrays, attributes = CASES[op]
    names = [f"x{number}" for number in range(len(arrays))]
    results = [f"y{number}" for number in range(OUTPUTS.get(op, 1))]
    node = helper.make_node(op, names, results, **attributes)
    outputs = [helper.make_empty_tensor_value_info(name) for name in results]
    given = dict(zip(names, arrays, strict=True))
    if not as_constants:
        kinds = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in given.items()}
        inputs = [value(name, a.shape, kinds[name]) for name, a in given.items()]
        return model_of([node], inputs, outputs), given
    constants = [
        helper.make_node("Constant", [], [name], value=array(name, a, a.dtype))
        for name, a in given.items()
    ]
    return model_of([*constants, node], [], outputs), {}


def test_every_folded_operator_has_a_case() -> None:
    assert sorted(CASES) == sorted(FOLDED_OPERATORS)
    assert all(versions("", name) for name in FOLDED_OPERATORS)


@pytest.mark.parametrize("op", sorted(CASES))
def test_folding_equals_the_operator_and_the_reference(op: str) -> None:
    proto, _ = model(op, True)
    results = Program(*_parts(proto)).run({})
    lazy, given = model(op, False)
    computed = load(lazy)(given).values()
    expected = ReferenceEvaluator(lazy).run(None, given)
    for folded, tensor, wanted in zip(results, computed, expected, strict=True):
        assert isinstance(folded, Value)
        assert folded.known is not None, "the operator was not folded"
        assert folded.known.dtype == wanted.dtype
        np.testing.assert_array_equal(folded.known, wanted)
        np.testing.assert_array_equal(tensor.numpy(), wanted)


def _parts(proto: Any) -> tuple[Any, Any]:
    program, problems = _read(proto)
    assert problems == []
    return program.graph, program.functions


def shapes_of(nodes: list[Any], output: str) -> Any:
    proto = model_of(nodes, [value("x", [2, 3])], [value(output, None)], [array("w", [[2.0]])])
    program, _ = _read(proto)
    from tg_core import Tensor

    values = dict(program.graph.constants)
    values["x"] = Value(Tensor.ones(2, 3))
    return program.outputs(program.graph, Scope(values))[0]


def test_shapes_fold_through_chains() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("ReduceProd", ["s"], ["n"], keepdims=0),
        helper.make_node("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Sqrt", ["f"], ["y"]),
    ]
    assert shapes_of(nodes, "y").known == np.sqrt(np.float32(6))


def test_inputs_and_weights_do_not_fold() -> None:
    assert shapes_of([helper.make_node("Neg", ["x"], ["y"])], "y").known is None
    doubled = [helper.make_node("Add", ["w", "w"], ["y"])]
    proto = model_of(doubled, [], [value("y", None)], [array("w", [2.0])])
    gradient = (loaded := load(proto))()["y"].sum().gradient(loaded.initializers["w"])[0]
    assert gradient.tolist() == [2.0]


def test_large_results_do_not_fold() -> None:
    nodes = [
        helper.make_node("Constant", [], ["s"], value_ints=[1 << 30]),
        helper.make_node("Constant", [], ["one"], value=array("one", [1], np.int64)),
        helper.make_node("Expand", ["one", "s"], ["y"]),
    ]
    found = shapes_of(nodes, "y")
    assert found.known is None
    assert found.shape == (1 << 30,)
