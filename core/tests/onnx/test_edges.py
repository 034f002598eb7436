"""Operators at the edges of what the standard says: axes, empty tensors, scalars, large inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

from onnx import TensorProto, helper
from onnx_models import FLOAT, INT64, array, model_of, one_node, value

from tg_core.errors import ShapeError
from tg_core.onnx import load

DRAW = np.random.default_rng(0)
LONG = np.int64


def run(op: str, arrays: list[Any], opset: int = 21, outputs: int = 1, **attributes: Any) -> Any:
    described = [
        None if a is None else (a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for a in arrays
    ]
    model = load(one_node(op, described, outputs, opset, **attributes))
    given = {f"x{number}": a for number, a in enumerate(arrays) if a is not None}
    found = [result.numpy() for result in model(given).values()]
    return found[0] if outputs == 1 else found


def floats(*shape: int) -> np.ndarray:
    return DRAW.standard_normal(shape).astype(np.float32)


WRONG_AXES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("Gather", [floats(2, 3), np.array([0])], {"axis": -5}),
    ("CumSum", [floats(2, 3), np.array(5)], {}),
    ("Squeeze", [floats(1, 1), np.array([5])], {}),
    ("Flatten", [floats(2, 3)], {"axis": 5}),
    ("Pad", [floats(2, 3), np.array([1, 1]), np.float32(0), np.array([7])], {}),
    ("OneHot", [np.array([1, 2]), np.array(3), floats(2)], {"axis": 9}),
    ("Hardmax", [floats(2, 3)], {"axis": 4}),
    ("LayerNormalization", [floats(2, 3), floats(3)], {"axis": 3}),
]


@pytest.mark.parametrize(
    ("op", "arrays", "attributes"), WRONG_AXES, ids=lambda e: e if isinstance(e, str) else ""
)
def test_an_axis_that_does_not_exist_is_an_error(
    op: str, arrays: list[Any], attributes: dict[str, Any]
) -> None:
    with pytest.raises(ShapeError, match=rf"{op}\): axis -?\d+ of \d"):
        run(op, arrays, **attributes)


def test_a_condition_may_be_long() -> None:
    x, keep = floats(5000), DRAW.random(5000) > 0.5
    np.testing.assert_array_equal(run("Compress", [x, keep], axis=0), x[keep])


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (3,)])
def test_rows_of_a_legacy_softmax_may_be_empty(shape: tuple[int, ...]) -> None:
    found = run("Softmax", [floats(*shape)], opset=10)
    assert found.shape == shape
    np.testing.assert_array_equal(found, np.ones(shape))


def test_a_running_sum_of_nothing_is_nothing() -> None:
    assert run("CumSum", [floats(0, 3), np.array(0)], exclusive=1).shape == (0, 3)


def test_integers_to_the_power_of_floats_are_exact() -> None:
    base = np.array([4097, -5001], LONG)
    np.testing.assert_array_equal(run("Pow", [base, np.array([2.0], np.float32)]), base**2)
    narrow = base.astype(np.int32)
    np.testing.assert_array_equal(run("Pow", [narrow, np.array([2.0], np.float16)]), base**2)


@pytest.mark.parametrize("scalar", [0.0, 5.0])
def test_the_positions_of_a_scalar_have_no_rows(scalar: float) -> None:
    assert run("NonZero", [np.array(scalar, np.float32)]).shape == (0, int(scalar != 0))


@pytest.mark.parametrize("length", [None, 1, 2, 5, 8])
@pytest.mark.parametrize("bins", [2, 3, 6])
def test_the_inverse_of_half_a_transform_has_the_length_of_the_signal(
    length: int | None, bins: int
) -> None:
    half = floats(2, bins, 2)
    given = None if length is None else np.array(length, LONG)
    found = run("DFT", [half, given, np.array(1)], opset=20, inverse=1, onesided=1)
    expected = np.fft.irfft(half[..., 0] + 1j * half[..., 1], length, 1)
    np.testing.assert_allclose(found[..., 0], expected, atol=1e-5)


def test_a_region_without_extent_has_no_samples() -> None:
    regions = np.array([[3, 3, 3, 3], [0, 0, 4, 4]], np.float32)
    image = np.ones((1, 2, 8, 8), np.float32)
    for mode in ("avg", "max"):
        found = run("RoiAlign", [image, regions, np.array([0, 0])], opset=16, mode=mode)
        np.testing.assert_array_equal(found[0], np.zeros((2, 1, 1)))
        assert (found[1] > 0).all()


def test_doubles_are_resized_in_double_precision() -> None:
    x = DRAW.standard_normal((1, 1, 1, 5))
    found = run("Resize", [x, None, None, np.array([1, 1, 1, 8])], opset=19, mode="linear")
    at = (np.arange(8) + 0.5) * 5 / 8 - 0.5
    np.testing.assert_allclose(found[0, 0, 0], np.interp(at, np.arange(5), x[0, 0, 0]), rtol=1e-12)


def loop_of(row: list[Any] | None, kind: int = FLOAT) -> Any:
    """Return a model whose loop stacks rows that are described so."""
    nodes = [
        helper.make_node("Add", ["state", "x"], ["sum"]),
        helper.make_node("Identity", ["going"], ["goes"]),
        helper.make_node("Mul", ["sum", "sum"], ["row"]),
    ]
    described = helper.make_empty_tensor_value_info("row") if kind == 0 else value("row", row, kind)
    body = helper.make_graph(
        nodes,
        "body",
        [value("step", [], INT64), value("going", [], TensorProto.BOOL), value("state", [2])],
        [value("goes", [], TensorProto.BOOL), value("sum", [2]), described],
    )
    node = helper.make_node("Loop", ["count", "", "x"], ["y", "rows"], body=body)
    results = [helper.make_empty_tensor_value_info(name) for name in ("y", "rows")]
    return model_of([node], [value("count", [], INT64), value("x", [2])], results)


def test_a_loop_without_steps_stacks_what_its_graph_says() -> None:
    x = floats(2)
    for row, shape in (([2], (0, 2)), (["n"], (0, 0)), (None, (0,))):
        found = load(loop_of(row))(count=0, x=x)
        np.testing.assert_array_equal(found["y"].numpy(), x)
        assert found["rows"].shape == shape
    assert load(loop_of([2]))(count=3, x=x)["rows"].shape == (3, 2)
    with pytest.raises(ShapeError, match="nothing to stack"):
        load(loop_of(None, 0))(count=0, x=x)


def test_a_scan_of_nothing_stacks_nothing() -> None:
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Neg", ["t"], ["row"])],
        "body",
        [value("s", [2]), value("e", [2])],
        [value("t", [2]), value("row", [2])],
    )
    node = helper.make_node("Scan", ["s0", "x"], ["y", "rows"], body=body, num_scan_inputs=1)
    results = [helper.make_empty_tensor_value_info(name) for name in ("y", "rows")]
    model = load(model_of([node], [value("s0", [2]), value("x", ["n", 2])], results))
    assert model(s0=floats(2), x=floats(0, 2))["rows"].shape == (0, 2)


def test_an_empty_initializer_is_read() -> None:
    node = helper.make_node("Concat", ["x", "nothing"], ["y"], axis=0)
    model = model_of(
        [node], [value("x", [2, 3])], [value("y", [2, 3])], [array("nothing", np.zeros((0, 3)))]
    )
    x = floats(2, 3)
    np.testing.assert_array_equal(load(model)(x=x)["y"].numpy(), x)
