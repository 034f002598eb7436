from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_models import FLOAT, INT64, array, convnet, model_of, one_node, value

from tg_core import Tensor, TinyJit, Variable
from tg_core.errors import DTypeError, JitError, ShapeError
from tg_core.nn.state import get_state_dict, load_state_dict
from tg_core.onnx import load


def image(seed: int, batch: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((batch, 1, 8, 8)).astype(np.float32)


def test_convnet_equals_the_reference() -> None:
    proto = convnet()
    model, x = load(proto), image(1)
    expected = ReferenceEvaluator(proto).run(None, {"x": x})[0]
    for found in (model(x), model({"x": x}), model(x=x), model(x=Tensor(x))):
        np.testing.assert_allclose(found["y"].numpy(), expected, rtol=1e-4, atol=1e-5)


def test_batch_size_may_change_from_call_to_call() -> None:
    model = load(convnet())
    assert [model(image(0, batch))["y"].shape for batch in (1, 3)] == [(1, 10), (3, 10)]


def test_convnet_replays_under_the_jit() -> None:
    proto = convnet()
    model = load(proto)
    step = TinyJit(model)
    for seed in range(4):
        x = image(seed)
        expected = ReferenceEvaluator(proto).run(None, {"x": x})[0]
        found = step(Tensor(x).realize())["y"].numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_gradients_lead_to_inputs_and_weights() -> None:
    model, x = load(convnet()), Tensor(image(2))

    def loss() -> Tensor:
        return model(x)["y"].square().sum()

    weight = model.initializers["w1"]
    for_x, for_weight = loss().gradient(x, weight)
    assert for_x.shape == x.shape
    # against a difference along the gradient itself
    size = float(for_weight.square().sum().item()) ** 0.5
    step = 1e-2
    before = weight.numpy()
    moved = for_weight.numpy() / size * step
    model.initializers["w1"] = Tensor(before + moved)
    above = loss().item()
    model.initializers["w1"] = Tensor(before - moved)
    below = loss().item()
    assert (float(above) - float(below)) / (2 * step) == pytest.approx(size, rel=1e-2)


def test_weights_are_a_state_dict() -> None:
    model = load(convnet())
    state = get_state_dict(model)
    assert list(state) == [f"initializers.{name}" for name in ("w1", "b1", "w2", "b2")]
    load_state_dict(model, {**state, "initializers.b2": Tensor.zeros(10)})
    other = load(convnet())
    shift = other(image(0))["y"] - model(image(0))["y"]
    np.testing.assert_allclose(
        shift.numpy()[0], other.initializers["b2"].numpy(), rtol=1e-4, atol=1e-5
    )


def test_assigned_weights_are_used() -> None:
    proto = model_of(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        [value("x", [2])],
        [value("y", [2])],
        [array("w", [2.0])],
    )
    model = load(proto)
    model.initializers["w"].assign(Tensor([5.0])).realize()
    assert model([1.0, 2.0])["y"].tolist() == [5.0, 10.0]


def transformer() -> object:
    draw = np.random.default_rng(3)
    shapes = {"wq": (16, 16), "wk": (16, 16), "wv": (16, 16), "wo": (16, 16)}
    shapes |= {"up": (16, 32), "down": (32, 16)}
    weights = [array(name, draw.standard_normal(shape) * 0.2) for name, shape in shapes.items()]
    weights += [array("scale", draw.standard_normal(16)), array("bias", draw.standard_normal(16))]
    weights += [
        array("split", [0, 0, 4, 4], np.int64),
        array("merge", [0, 0, 16], np.int64),
        array("root", 0.5),
    ]
    nodes = [helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["h"])]
    for name in ("q", "k", "v"):
        nodes += [
            helper.make_node("MatMul", ["h", f"w{name}"], [f"{name}0"]),
            helper.make_node("Reshape", [f"{name}0", "split"], [f"{name}1"]),
            helper.make_node("Transpose", [f"{name}1"], [name], perm=[0, 2, 1, 3]),
        ]
    nodes += [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "kt"], ["s0"]),
        helper.make_node("Mul", ["s0", "root"], ["s1"]),
        helper.make_node("Softmax", ["s1"], ["s"]),
        helper.make_node("MatMul", ["s", "v"], ["a0"]),
        helper.make_node("Transpose", ["a0"], ["a1"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["a1", "merge"], ["a2"]),
        helper.make_node("MatMul", ["a2", "wo"], ["a"]),
        helper.make_node("Add", ["x", "a"], ["r"]),
        helper.make_node("MatMul", ["r", "up"], ["u"]),
        helper.make_node("Gelu", ["u"], ["g"]),
        helper.make_node("MatMul", ["g", "down"], ["d"]),
        helper.make_node("Add", ["r", "d"], ["y"]),
    ]
    return model_of(nodes, [value("x", [2, 5, 16])], [value("y", [2, 5, 16])], weights)


def test_transformer_block_equals_the_reference() -> None:
    proto = transformer()
    model = load(proto)
    step = TinyJit(model)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((2, 5, 16)).astype(np.float32)
        expected = ReferenceEvaluator(proto).run(None, {"x": x})[0]
        found = step(Tensor(x).realize())["y"].numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    gradient = model(x)["y"].sum().gradient(model.initializers["wq"])[0]
    assert np.isfinite(gradient.numpy()).all()


def test_a_shape_that_a_capture_would_freeze_is_refused() -> None:
    model = load(one_node("Reshape", [([6], FLOAT), ([2], INT64)]))
    x, shape = np.arange(6, dtype=np.float32), np.array([2, 3])
    assert model(x, shape)["y0"].shape == (2, 3)
    step = TinyJit(model)
    step(Tensor(x).realize(), Tensor(shape).realize())
    with pytest.raises(JitError, match=r"node 'y0' \(Reshape\)"):
        step(Tensor(x).realize(), Tensor(shape).realize())


def test_inputs_are_checked_by_name_type_and_shape() -> None:
    model = load(convnet())
    with pytest.raises(ShapeError, match=r"inputs missing: \['x'\]"):
        model()
    with pytest.raises(ShapeError, match=r"unknown: \['z'\]"):
        model(image(0), z=1)
    with pytest.raises(ShapeError, match="given twice"):
        model(image(0), x=image(0))
    with pytest.raises(ShapeError, match="2 inputs, the model has 1"):
        model(image(0), image(0))
    with pytest.raises(ShapeError, match=r"'x' has shape \(2, 8, 8\), expected"):
        model(image(0)[:, 0])
    with pytest.raises(DTypeError, match="'x' is float64, expected float32"):
        model(image(0).astype(np.float64))


def test_named_sizes_must_agree() -> None:
    node = helper.make_node("Add", ["a", "b"], ["y"])
    model = load(model_of([node], [value("a", ["n"]), value("b", ["n"])], [value("y", ["n"])]))
    assert model([1.0, 2.0], [3.0, 4.0])["y"].tolist() == [4.0, 6.0]
    with pytest.raises(ShapeError, match="'b' has shape"):
        model([1.0, 2.0], [3.0])


def test_an_initializer_may_be_given_as_an_input() -> None:
    node = helper.make_node("Add", ["a", "w"], ["y"])
    proto = model_of(
        [node], [value("a", [2]), value("w", [2])], [value("y", [2])], [array("w", [1.0, 1.0])]
    )
    model = load(proto)
    assert list(model.inputs) == ["a"]
    assert model([1.0, 2.0])["y"].tolist() == [2.0, 3.0]
    assert model([1.0, 2.0], w=[5.0, 5.0])["y"].tolist() == [6.0, 7.0]


def test_errors_name_the_node() -> None:
    model = load(one_node("MatMul", [([2, 3], FLOAT), ([4, 5], FLOAT)]))
    with pytest.raises(ShapeError, match=r"onnx: node 'y0' \(MatMul\): "):
        model(np.zeros((2, 3), np.float32), np.zeros((4, 5), np.float32))


def test_symbolic_sizes_pass_through_what_does_not_ask_for_them() -> None:
    node = helper.make_node("Gemm", ["x", "w"], ["y"])
    weight = array("w", np.arange(6).reshape(3, 2))
    model = load(model_of([node], [value("x", ["n", 3])], [value("y", ["n", 2])], [weight]))
    rows = np.arange(15, dtype=np.float32).reshape(5, 3)
    part = Tensor(rows)[: Variable("n", 1, 5).bind(2)]
    found = model(part)["y"].numpy()
    np.testing.assert_allclose(found, rows[:2] @ np.arange(6).reshape(3, 2))
    with pytest.raises(ShapeError, match=r"\(Shape\): .*symbolic"):
        load(one_node("Shape", [([5, 3], FLOAT)]))(part)


def test_constants_stay_known_after_they_were_used() -> None:
    """A capture after a run must not see constants as computed values."""
    nodes = [
        helper.make_node("Constant", [], ["s"], value_ints=[3, 2]),
        helper.make_node("Cast", ["s"], ["f"], to=FLOAT),
        helper.make_node("ReduceSum", ["f"], ["t"]),
        helper.make_node("Reshape", ["x", "s"], ["r"]),
        helper.make_node("Mul", ["r", "f"], ["m"]),
        helper.make_node("Add", ["m", "t"], ["y"]),
    ]
    model = load(model_of(nodes, [value("x", [6])], [value("y", None)]))
    step = TinyJit(model)
    x = np.arange(6, dtype=np.float32)
    for _ in range(4):
        found = step(Tensor(x).realize())["y"].numpy()
        np.testing.assert_allclose(found, x.reshape(3, 2) * [3, 2] + 5)


def test_integers_given_as_arrays_decide_shapes_in_a_capture() -> None:
    model = load(one_node("Reshape", [([6], FLOAT), ([2], INT64)]))
    shape = np.array([2, 3])

    def call(x: Tensor) -> Tensor:
        return model(x, shape)["y0"] + 1

    step = TinyJit(call)
    x = np.arange(6, dtype=np.float32)
    assert [step(Tensor(x).realize()).shape for _ in range(3)] == [(2, 3)] * 3


def adder(kind: int, dtype: Any) -> Any:
    """Return a model that adds a weight of ones."""
    node = helper.make_node("Add", ["x", "w"], ["y"])
    weights = [array("w", np.ones(3), dtype)]
    return load(model_of([node], [value("x", [3], kind)], [value("y", [3], kind)], weights))


def test_what_is_no_tensor_is_refused_by_name() -> None:
    model = adder(FLOAT, np.float32)
    with pytest.raises(ShapeError, match="input 'x' is None, expected a tensor"):
        model(x=None)
    with pytest.raises(ShapeError, match="input 'x' is a sequence, expected a tensor"):
        model(x=[np.ones(3, np.float32)])
    with pytest.raises(ShapeError, match=r"input 'x': .*inhomogeneous"):
        model(x=[[1.0], [2.0, 3.0]])
    with pytest.raises(DTypeError, match="input 'x': arrays of <U1"):
        model(x="a")


def test_what_replaces_a_weight_must_be_like_it() -> None:
    model, x = adder(FLOAT, np.float32), np.zeros(3, np.float32)
    np.testing.assert_array_equal(model(x=x, w=x + 4)["y"].numpy(), x + 4)
    with pytest.raises(DTypeError, match="input 'w' is float64, expected float32"):
        model(x=x, w=np.zeros(3))
    with pytest.raises(ShapeError, match=r"input 'w' has shape \(7,\), expected \(3,\)"):
        model(x=x, w=np.zeros(7, np.float32))


def test_numbers_take_the_type_of_the_input_that_holds_them() -> None:
    small = adder(TensorProto.INT8, np.int8)
    assert small(x=[1, 2, 3])["y"].tolist() == [2, 3, 4]
    with pytest.raises(DTypeError, match="input 'x' is int64, expected int8"):
        small(x=[1, 2, 300])
    with pytest.raises(DTypeError, match="input 'x' is float32, expected int8"):
        small(x=[1.5, 2.0, 3.0])
    assert adder(FLOAT, np.float32)(x=[1, 2, 3])["y"].tolist() == [2.0, 3.0, 4.0]
