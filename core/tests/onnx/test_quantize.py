"""Quantized operators against their formulas in numpy, for shapes beyond the node tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

from onnx import TensorProto, helper, numpy_helper
from onnx_models import FLOAT, model_of, one_node, value

from tg_core.errors import ShapeError
from tg_core.onnx import load

UINT8, INT8 = TensorProto.UINT8, TensorProto.INT8
DRAW = np.random.default_rng(0)


def described(arrays: list[np.ndarray]) -> list[Any]:
    return [(a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for a in arrays]


def run(op: str, arrays: list[np.ndarray], opset: int = 21, **attributes: Any) -> np.ndarray:
    model = load(one_node(op, described(arrays), 1, opset, **attributes))
    found: np.ndarray = model(*arrays)["y0"].numpy()
    return found


def rounded(x: np.ndarray, low: int, high: int, kind: Any) -> np.ndarray:
    return np.clip(np.rint(x), low, high).astype(kind)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_quantize_and_dequantize_along_an_axis(axis: int) -> None:
    x = DRAW.standard_normal((3, 4, 5)).astype(np.float32) * 40
    size = x.shape[axis]
    scale = DRAW.uniform(0.1, 1, size).astype(np.float32)
    zero = DRAW.integers(-20, 20, size).astype(np.int8)
    shape = [1, 1, 1]
    shape[axis] = size
    wide_scale, wide_zero = scale.reshape(shape), zero.reshape(shape).astype(np.float32)
    q = run("QuantizeLinear", [x, scale, zero], axis=axis)
    np.testing.assert_array_equal(
        q, rounded(x / wide_scale + 0, -1e9, 1e9, float).__add__(wide_zero).clip(-128, 127)
    )
    back = run("DequantizeLinear", [q, scale, zero], axis=axis)
    np.testing.assert_allclose(back, (q - wide_zero) * wide_scale, rtol=1e-6)


def test_blocks_may_be_cut_off_at_the_end() -> None:
    q = DRAW.integers(-128, 127, (2, 7)).astype(np.int8)
    scale = DRAW.uniform(0.1, 1, (2, 3)).astype(np.float32)
    wide = scale.repeat(3, 1)[:, :7]
    found = run("DequantizeLinear", [q, scale], axis=1, block_size=3)
    np.testing.assert_allclose(found, q * wide, rtol=1e-6)
    with pytest.raises(ShapeError, match="blocks of 3"):
        run("DequantizeLinear", [q, scale[:, :2]], axis=1, block_size=3)


def test_int4_weights_keep_their_range() -> None:
    numbers = np.array([[-8, 7, 3], [0, -1, 5]])
    weights = numpy_helper.from_array(numbers.astype(helper.tensor_dtype_to_np_dtype(22)), "w")
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["f"]),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
        helper.make_node("QuantizeLinear", ["y", "s"], ["q"], output_dtype=TensorProto.INT4),
    ]
    scale = numpy_helper.from_array(np.float32(0.5), "s")
    outputs = [value("y", [1, 3]), value("q", [1, 3], TensorProto.INT4)]
    proto = model_of(nodes, [value("x", [1, 2])], outputs, [weights, scale], 21)
    found = load(proto)(np.array([[1, 2]], np.float32))
    expected = numbers[0] * 0.5 + numbers[1]
    assert found["y"].tolist() == [expected.tolist()]
    assert found["q"].tolist() == [np.clip(expected / 0.5, -8, 7).tolist()]


def test_integer_products() -> None:
    a = DRAW.integers(0, 255, (2, 5, 6)).astype(np.uint8)
    b = DRAW.integers(-128, 127, (6, 4)).astype(np.int8)
    zero_a, zero_b = np.array(7, np.uint8), np.array([1, 2, -3, 4], np.int8)
    wide = (a.astype(np.int32) - 7) @ (b.astype(np.int32) - zero_b.astype(np.int32))
    found = run("MatMulInteger", [a, b, zero_a, zero_b])
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, wide)


def test_quantized_convolution_pads_with_the_zero_point() -> None:
    x = DRAW.integers(0, 255, (1, 2, 5, 5)).astype(np.uint8)
    w = DRAW.integers(-128, 127, (3, 2, 3, 3)).astype(np.int8)
    scales = np.float32(0.02), DRAW.uniform(0.01, 0.1, 3).astype(np.float32), np.float32(0.5)
    bias = DRAW.integers(-1000, 1000, 3).astype(np.int32)
    arrays = [
        x, np.array(scales[0]), np.array(100, np.uint8), w, scales[1], np.zeros(3, np.int8),
        np.array(scales[2]), np.array(128, np.uint8), bias,
    ]  # fmt: skip
    centred = np.pad(x.astype(np.int32) - 100, [(0, 0), (0, 0), (1, 1), (1, 1)])
    total = np.zeros((1, 3, 5, 5))
    for i in range(3):
        for j in range(3):
            part = centred[:, :, i : i + 5, j : j + 5]
            total += np.einsum("ncyx,oc->noyx", part, w[:, :, i, j].astype(np.int32))
    total += bias.reshape(1, 3, 1, 1)
    factor = (scales[0] * scales[1] / scales[2]).reshape(1, 3, 1, 1)
    found = run("QLinearConv", arrays, pads=[1, 1, 1, 1])
    expected = np.clip(np.rint(total * factor) + 128, 0, 255)
    assert found.dtype == np.uint8
    assert np.abs(found.astype(int) - expected).max() <= 1
    assert (found == expected).mean() > 0.98


def test_a_constant_is_quantized_to_itself() -> None:
    proto = one_node("DynamicQuantizeLinear", [((4,), FLOAT)], 3)
    y, scale, zero = (each.numpy() for each in load(proto)(np.zeros(4, np.float32)).values())
    assert y.tolist() == [0, 0, 0, 0]
    assert (scale, zero) == (0, 0)
