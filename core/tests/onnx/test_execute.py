"""Functions, branches, loops, sequences, and what the standard defines by other operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_models import FLOAT, INT64, array, model_of, one_node, value

from tg_core import Tensor
from tg_core.errors import FileFormatError, TGError
from tg_core.onnx import load

BOOL = TensorProto.BOOL
X = np.array([1.0, -2.0, 3.0], np.float32)


def opsets(*domains: str) -> list[Any]:
    return [helper.make_opsetid("", 20), *(helper.make_opsetid(domain, 1) for domain in domains)]


def test_functions_take_attributes_defaults_and_optional_inputs() -> None:
    scaled = helper.make_node("LeakyRelu", ["a"], ["b"])
    reference = helper.make_attribute("alpha", 0.0)
    reference.ref_attr_name = "slope"
    reference.ClearField("f")
    scaled.attribute.append(reference)
    body = [scaled, helper.make_node("Clip", ["b", "low"], ["c"])]
    function = helper.make_function(
        "own", "Bent", ["a", "low"], ["c"], body, opsets(),
        attribute_protos=[helper.make_attribute("slope", 0.5)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Bent", ["x"], ["y0"], domain="own"),
        helper.make_node("Bent", ["x"], ["y1"], domain="own", slope=0.25),
        helper.make_node("Bent", ["x", "zero"], ["y2"], domain="own"),
    ]
    outputs = [value(f"y{n}", [3]) for n in range(3)]
    proto = model_of(
        nodes, [value("x", [3])], outputs, [array("zero", 0.0)], 20, [function], ["own"]
    )
    results = load(proto)(X)
    assert results["y0"].tolist() == [1, -1, 3]
    assert results["y1"].tolist() == [1, -0.5, 3]
    assert results["y2"].tolist() == [1, 0, 3]


def test_a_function_of_the_model_wins_over_the_operator() -> None:
    twice = helper.make_function(
        "own", "Relu", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], opsets()
    )
    node = helper.make_node("Relu", ["x"], ["y"], domain="own")
    proto = model_of([node], [value("x", [3])], [value("y", [3])], (), 20, [twice], ["own"])
    assert load(proto)(X)["y"].tolist() == [2, -4, 6]


def branch(name: str, op: str) -> Any:
    """Return a graph that uses x of the graph around it."""
    return helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [value(name, [3])])


@pytest.mark.parametrize("condition", [True, False])
def test_branches_see_what_is_around_them(condition: bool) -> None:
    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", "Neg"), else_branch=branch("e", "Abs")
    )
    model = load(model_of([node], [value("c", [], BOOL), value("x", [3])], [value("y", [3])]))
    expected = -X if condition else np.abs(X)
    assert model(np.array(condition), X)["y"].tolist() == expected.tolist()


def counting_loop(limit: float) -> Any:
    """Return a loop that doubles until the sum reaches a limit, and stacks what it saw."""
    nodes = [
        helper.make_node("Add", ["v", "v"], ["v2"]),
        helper.make_node("ReduceSum", ["v2"], ["total"], keepdims=0),
        helper.make_node("Less", ["total", "limit"], ["c2"]),
        helper.make_node("Identity", ["v2"], ["seen"]),
    ]
    inputs = [value("i", [], INT64), value("c", [], BOOL), value("v", [2])]
    outputs = [value("c2", [], BOOL), value("v2", [2]), value("seen", [2])]
    body = helper.make_graph(nodes, "body", inputs, outputs, [array("limit", limit)])
    loop = helper.make_node("Loop", ["n", "go", "x"], ["last", "all"], body=body)
    return model_of(
        [loop],
        [value("n", [], INT64), value("go", [], BOOL), value("x", [2])],
        [value("last", [2]), value("all", None)],
    )


@pytest.mark.parametrize(("steps", "limit"), [(3, 1e9), (10, 20.0), (1, 0.0)])
def test_loops_end_by_number_or_condition(steps: int, limit: float) -> None:
    proto = counting_loop(limit)
    x = np.array([1, 2], np.float32)
    given = {"n": np.array(steps), "go": np.array(True), "x": x}
    expected = ReferenceEvaluator(proto).run(None, given)
    found = load(proto)(given)
    np.testing.assert_array_equal(found["last"].numpy(), expected[0])
    np.testing.assert_array_equal(found["all"].numpy(), expected[1])


def test_gradients_pass_through_loops() -> None:
    x = Tensor([1.0, 2.0])
    last = load(counting_loop(1e9))(n=np.array(3), go=np.array(True), x=x)["last"]
    assert last.sum().gradient(x)[0].tolist() == [8, 8]


def test_a_loop_without_steps_gives_the_state_and_no_rows() -> None:
    found = load(counting_loop(1.0))(n=np.array(0), go=np.array(True), x=np.ones(2, np.float32))
    assert found["last"].tolist() == [1.0, 1.0]
    assert found["all"].shape == (0, 2)


def test_scans_run_along_axes_in_both_directions() -> None:
    nodes = [
        helper.make_node("Add", ["s", "v"], ["s2"]),
        helper.make_node("Identity", ["s2"], ["o"]),
    ]
    body = helper.make_graph(
        nodes, "body", [value("s", [2]), value("v", [2])], [value("s2", [2]), value("o", [2])]
    )
    attributes = {
        "body": body,
        "num_scan_inputs": 1,
        "scan_input_axes": [1],
        "scan_input_directions": [1],
        "scan_output_axes": [1],
        "scan_output_directions": [1],
    }
    node = helper.make_node("Scan", ["x", "m"], ["last", "all"], **attributes)
    proto = model_of(
        [node], [value("x", [2]), value("m", [2, 3])], [value("last", [2]), value("all", None)]
    )
    m = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = load(proto)(np.zeros(2, np.float32), m)
    np.testing.assert_array_equal(found["last"].numpy(), m.sum(1))
    np.testing.assert_array_equal(found["all"].numpy(), m[:, ::-1].cumsum(1)[:, ::-1])


def test_sequences() -> None:
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "y"], ["s0"]),
        helper.make_node("SequenceInsert", ["s0", "x", "one"], ["s1"]),
        helper.make_node("SequenceErase", ["s1", "minus"], ["s2"]),
        helper.make_node("SequenceLength", ["s2"], ["n"]),
        helper.make_node("SequenceAt", ["s2", "one"], ["at"]),
        helper.make_node("ConcatFromSequence", ["s2"], ["joined"], axis=0),
        helper.make_node("ConcatFromSequence", ["s2"], ["stacked"], axis=1, new_axis=1),
    ]
    numbers = [array("one", 1, np.int64), array("minus", -1, np.int64)]
    outputs = [value(name, None) for name in ("n", "at", "joined", "stacked")]
    proto = model_of(nodes, [value("x", [3]), value("y", [3])], outputs, numbers)
    found = load(proto)(X, X + 1)
    assert found["n"].item() == 2
    assert found["at"].tolist() == X.tolist()
    assert found["joined"].tolist() == [*X, *X]
    assert found["stacked"].shape == (3, 2)
    wrong = [nodes[0], helper.make_node("SequenceAt", ["s0", "five"], ["at"])]
    inputs = [value("x", [3]), value("y", [3])]
    model = load(model_of(wrong, inputs, outputs[1:2], [array("five", 5, np.int64)]))
    with pytest.raises(TGError, match="position 5 in a sequence of 2"):
        model(X, X)


def test_a_tensor_is_no_sequence() -> None:
    node = helper.make_node("SequenceLength", ["x"], ["n"])
    with pytest.raises(FileFormatError, match="input items is a tensor"):
        load(model_of([node], [value("x", [3])], [value("n", None)]))(X)


def test_what_the_standard_defines_by_others_is_used() -> None:
    scores = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    labels = np.array([1, 0, 4])
    proto = one_node("SoftmaxCrossEntropyLoss", [((3, 5), FLOAT), ((3,), INT64)], reduction="sum")
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    found = load(proto)(scores, labels)["y0"].item()
    assert found == pytest.approx(-logs[[0, 1, 2], labels].sum(), rel=1e-5)


def test_attention_is_the_same_as_with_plain_operators() -> None:
    draw = np.random.default_rng(0)
    q, k, v = (draw.standard_normal((2, 3, 4, 8)).astype(np.float32) for _ in range(3))
    proto = one_node("Attention", [(q.shape, FLOAT)] * 3, opset=23, is_causal=1)
    scores = np.where(np.tri(4) > 0, q @ k.swapaxes(2, 3) / np.sqrt(8), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(load(proto)(q, k, v)["y0"].numpy(), expected, rtol=1e-4, atol=1e-5)


def test_max_roi_pool() -> None:
    x = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    rois = np.array([[0, 0, 0, 3, 3], [0, 1, 1, 2, 3]], np.float32)
    proto = one_node("MaxRoiPool", [(x.shape, FLOAT), (rois.shape, FLOAT)], pooled_shape=[2, 2])
    found = load(proto)(x, rois)["y0"].numpy()
    assert found[0, 0].tolist() == [[5, 7], [13, 15]]
    assert found[1, 0].tolist() == [[9, 10], [13, 14]]


def test_multinomial_draws_likely_classes() -> None:
    logits = np.log(np.array([[0.7, 0.2, 0.1]], np.float32)).repeat(2000, 0)
    proto = one_node("Multinomial", [(logits.shape, FLOAT)], sample_size=1)
    drawn = load(proto)(logits)["y0"].numpy()
    assert drawn.shape == (2000, 1)
    assert drawn.dtype == np.int32
    assert (drawn == 0).mean() == pytest.approx(0.7, abs=0.05)
